//! The simulated API server is as good as the real one: both get the same requests and give the same answers.
//!
//! Fields that may differ are listed in `normal`; what else differs is a fault of the simulator.

mod normal;
mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, header};
use http_body_util::BodyExt;
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_sim::server::{Call, Link, Server, Verb, resources};
use kruise_testbed::scratch_without_manager;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

use requests::Step;

/// A busy server may take as long for an event that is due.
const SLOW: Duration = Duration::from_secs(20);

/// What comes within this time although nothing is due is one event too many.
const SURPLUS: Duration = Duration::from_millis(300);

/// One server under test, and what its answers said so far.
struct Side {
    client: Client,
    namespace: String,
    /// uid and version of what each step answered.
    known: BTreeMap<String, String>,
}

/// What a server said: the code and all bodies (several for a watch).
#[derive(Debug, PartialEq)]
struct Said {
    code: u16,
    bodies: Vec<Value>,
}

#[tokio::test]
async fn simulated_server_answers_like_the_real_one() {
    let scratch = scratch_without_manager("simulated").await.unwrap();
    // Pods that are bound stay as they are: no kubelet of the testbed answers here.
    let here = Which { namespace: Some(scratch.namespace.clone()), ..Which::default() };
    scratch.shared.nodes.rule(here, Behaviour::Hangs);
    let mut real = Side::new(scratch.client.clone(), &scratch.namespace);
    let server = Server::new(1, Arc::new(jiff::Timestamp::now));
    let namespaces = resources::find("", "v1", "namespaces").unwrap();
    let namespace = json!({"metadata": {"name": scratch.namespace}});
    server.ask("test", &Call::object(Verb::Create, namespaces, ("", ""), namespace)).unwrap();
    let mut simulated = Side::new(server.door(&Link::calm("test")).client(), &scratch.namespace);

    let mut differences = Vec::new();
    let steps = requests::all();
    for step in &steps {
        let given = simulated.ask(step, 0).await;
        let expected = real.ask(step, given.bodies.len()).await;
        if expected != given {
            let show = |said: &Said| serde_json::to_string_pretty(&json!([said.code, said.bodies])).unwrap();
            differences.push(format!(
                "── {}\nreal: {}\nsimulated: {}",
                step.name,
                show(&expected),
                show(&given)
            ));
        }
    }

    let count = differences.len();
    assert!(differences.is_empty(), "{count} of {} answers differ:\n{}", steps.len(), differences.join("\n"));
}

impl Side {
    fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), known: BTreeMap::new() }
    }

    /// A watch is read until it has brought that many events, and on until nothing more comes.
    async fn ask(&mut self, step: &Step, events: usize) -> Said {
        let path = self.fill(&step.path);
        let body = step.body.as_ref().map(|body| self.fill(&body.to_string())).unwrap_or_default();
        let request = Request::builder()
            .method(step.verb.method())
            .uri(path)
            .header(header::CONTENT_TYPE, step.verb.content())
            .header(header::ACCEPT, step.accept)
            .body(Body::from(body.into_bytes()))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bodies: Vec<Value> = if step.verb == Verb::Watch {
            watched(response.into_body(), events).await
        } else {
            let bytes = response.into_body().collect_bytes().await.unwrap();
            serde_json::from_slice(&bytes).into_iter().collect()
        };
        if let Some(object) = bodies.first() {
            for (field, pointer) in [("uid", "/metadata/uid"), ("version", "/metadata/resourceVersion")] {
                if let Some(text) = object.pointer(pointer).and_then(Value::as_str) {
                    self.known.insert(format!("<{field} of {}>", step.name), text.to_owned());
                }
            }
        }
        Said { code, bodies: bodies.into_iter().map(|one| self.normal(one)).collect() }
    }

    /// Puts in what earlier answers of this server said.
    fn fill(&self, text: &str) -> String {
        let mut text = text.replace("<namespace>", &self.namespace);
        for (place, value) in &self.known {
            text = text.replace(place.as_str(), value);
        }
        assert!(!text.contains("<uid of") && !text.contains("<version of"), "nobody said this: {text}");
        text
    }

    /// Which versions and uids are equal is compared, not what they are.
    fn normal(&self, body: Value) -> Value {
        let mut body = normal::normal(body);
        normal::name(&mut body, &self.known);
        body
    }
}

async fn watched(mut body: Body, events: usize) -> Vec<Value> {
    let (mut bytes, mut seen) = (Vec::new(), Vec::new());
    loop {
        let patience = if seen.len() < events { SLOW } else { SURPLUS };
        // The end of the stream and the end of patience are the same here.
        let Ok(Some(Ok(frame))) = timeout(patience, body.frame()).await else { return seen };
        bytes.extend(frame.into_data().unwrap_or_default());
        let lines = bytes.split(|byte| *byte == b'\n');
        let all = lines.filter_map(|line| serde_json::from_slice(line).ok());
        seen = all.filter(|event| !is_now_and_then(event)).collect();
    }
}

/// A bookmark that ends no list is sent when a server likes to.
fn is_now_and_then(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event.pointer("/object/metadata/annotations").is_none()
}
