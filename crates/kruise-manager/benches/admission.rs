//! Own time per admission review at 1,000 reviews a second: `make bench-admission`. The API server that judges templates by
//! dry run is played by a service that answers at once, so that only our own time is counted.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use http::{Request, Response, header};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::Service;

const PER_SECOND: u32 = 1_000;
const SECONDS: u32 = 10;
const PATHS: [&str; 3] =
    ["/mutate-apps-kruise-io-cloneset", "/validate-apps-kruise-io-cloneset", "/mutate-pod"];

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let api_server = tower::service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::builder().status(201).body(Body::from(b"{}".to_vec())).unwrap())
    });
    let mut router = kruise_manager::webhooks_alone(Client::new(api_server, "default")).into_router();
    let bodies = PATHS.map(|path| review(path).to_string());
    let mut times: [Vec<Duration>; PATHS.len()] = std::array::from_fn(|_| Vec::new());
    let start = Instant::now();
    for (turn, number) in (0..PER_SECOND * SECONDS).zip((0..PATHS.len()).cycle()) {
        let due = start + Duration::from_secs(1) / PER_SECOND * turn;
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        let request = Request::post(PATHS[number])
            .header(header::CONTENT_TYPE, "application/json")
            .body(bodies[number].clone())
            .unwrap();
        let asked = Instant::now();
        let response = router.call(request).await.unwrap();
        times[number].push(asked.elapsed());
        assert_eq!(response.status(), 200);
    }
    println!("| path | reviews | bytes | p50 µs | p99 µs | longest µs |\n|---|---|---|---|---|---|");
    for ((path, body), mut all) in PATHS.iter().zip(&bodies).zip(times) {
        all.sort_unstable();
        let at = |part: f64| all[((all.len() - 1) as f64 * part) as usize].as_micros();
        println!("| `{path}` | {} | {} | {} | {} | {} |", all.len(), body.len(), at(0.5), at(0.99), at(1.0));
    }
    println!("{:.0} reviews a second", f64::from(PER_SECOND * SECONDS) / start.elapsed().as_secs_f64());
}

/// A CloneSet or pod of a usual size: three containers with probes, resources and environment.
fn review(path: &str) -> Value {
    let container = |i: usize| {
        let env: Vec<Value> = (0..10)
            .map(|n| json!({"name": format!("SETTING_{n}"), "value": "something of usual length"}))
            .collect();
        json!({
            "name": format!("c{i}"), "image": "registry.example/team/service:1.2.3", "env": env,
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
            "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}},
        })
    };
    let spec = json!({"containers": (0..3).map(container).collect::<Vec<_>>()});
    let (group, version, kind, object) = if path.contains("pod") {
        let owner = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "web", "uid": "u", "controller": true});
        ("", "v1", "Pod", json!({"metadata": {"name": "web-a", "ownerReferences": [owner]}, "spec": spec}))
    } else {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": spec});
        let spec = json!({"replicas": 10, "selector": {"matchLabels": {"app": "web"}}, "template": template});
        let object = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "web"}, "spec": spec});
        ("apps.kruise.io", "v1alpha1", "CloneSet", object)
    };
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "name": "web", "namespace": "default",
            "kind": {"group": group, "version": version, "kind": kind}, "object": object,
        },
    })
}
