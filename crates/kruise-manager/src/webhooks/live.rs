//! What only the API server can say, asked while a review waits.

use std::collections::BTreeMap;

use kruise_api::names::CONFIGURATION;
use kruise_core::admission::versions::template_to_try;
use kruise_core::admission::{Live, Operation, Question, Request};
use kruise_core::gates::Gate;
use kruise_core::{resourcedistribution, sidecarset};
use kube::Client;
use serde_json::Value;

use super::{Context, dry_run};

/// Nothing is asked about an object that goes.
pub async fn ask(cx: &Context, questions: &[Question], request: &Request) -> Live {
    let mut live = Live::default();
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return live,
    }
    for question in questions {
        match question {
            Question::Template => {
                if let Some(template) = template_to_try(request) {
                    live.template = dry_run::faults(&cx.client, &request.namespace, &template).await;
                }
            }
            Question::Sidecars => {
                let old = request.old.get("spec").filter(|_| request.operation == Operation::Update);
                let spec = request.object.get("spec").unwrap_or(&Value::Null);
                if let Some(template) = sidecarset::admission::to_try(spec, old) {
                    live.template = dry_run::faults(&cx.client, &cx.namespace, &template).await;
                }
            }
            // Without the gate there is no permission to ask, and the object is refused anyway.
            Question::Resource => {
                let is_on = cx.gates.on(Gate::ResourceDistribution);
                let trial = resourcedistribution::admission::to_try(request, &cx.namespace);
                if let Some((sort, trial)) = trial.filter(|_| is_on) {
                    live.template =
                        dry_run::of_object(&cx.client, sort.resource(), &cx.namespace, &trial).await;
                }
            }
            Question::SidecarSets => live.sidecarsets = cx.fresh.ensure(cx, &request.namespace).await,
            Question::Configuration => live.configuration = configuration(&cx.client, &cx.namespace).await,
            Question::Pod => live.pod = pod(&cx.client, request).await,
        }
    }
    live
}

async fn configuration(client: &Client, namespace: &str) -> Result<BTreeMap<String, String>, String> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{CONFIGURATION}");
    let data = get(client, path).await?.and_then(|mut found| found.get_mut("data").map(Value::take));
    Ok(serde_json::from_value(data.unwrap_or_default()).unwrap_or_default())
}

/// The name comes from a user and becomes part of a path: what cannot be the name of a pod is no pod.
async fn pod(client: &Client, request: &Request) -> Result<Option<Value>, String> {
    let name = request.object.pointer("/spec/podName").and_then(Value::as_str).unwrap_or_default();
    if !can_be_a_name(name) {
        return Ok(None);
    }
    get(client, format!("/api/v1/namespaces/{}/pods/{name}", request.namespace)).await
}

fn can_be_a_name(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    name.bytes().all(is_plain) && name.bytes().any(|byte| byte != b'.')
}

/// `None` if there is no such object.
async fn get(client: &Client, path: String) -> Result<Option<Value>, String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError);
    let asked = async { client.request::<Value>(request?).await };
    match asked.await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::can_be_a_name;

    #[test]
    fn name_of_a_pod_leads_to_no_other_object() {
        assert!(can_be_a_name("web-0.a"));
        for name in ["", ".", "..", "secrets/x", "a/log", "a?x=y", "a%2f", "A"] {
            assert!(!can_be_a_name(name), "{name}");
        }
    }
}
