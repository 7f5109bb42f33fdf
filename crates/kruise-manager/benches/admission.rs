//! Own time per admission review at 1,000 reviews a second: `make bench-admission`. The API server that judges templates by
//! dry run is played by a service that answers at once, so that only our own time is counted.

use std::time::{Duration, Instant};

use http::{Request, Response, header};
use kube::Client;
use kube::client::Body;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tower::Service;

const PER_SECOND: usize = 1_000;
/// Between two reviews.
const INTERVAL: Duration = Duration::from_millis(1);
const SECONDS: usize = 10;
const PATHS: [&str; 3] =
    ["/mutate-apps-kruise-io-cloneset", "/validate-apps-kruise-io-cloneset", "/mutate-pod"];

/// One path, its request and how long each answer took.
struct Course {
    path: &'static str,
    body: String,
    times: Vec<Duration>,
    /// The same without what other processes took of our core.
    work: Vec<Duration>,
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let api_server = tower::service_fn(|_: Request<Body>| async {
        Response::builder().status(201).body(Body::from(b"{}".to_vec()))
    });
    let mut router = kruise_manager::webhooks_alone(Client::new(api_server, "default")).into_router();
    let mut courses = PATHS.map(|path| Course {
        path,
        body: review(path).to_string(),
        times: Vec::new(),
        work: Vec::new(),
    });
    let start = Instant::now();
    let mut due = start;
    for _ in 0..PER_SECOND * SECONDS / PATHS.len() {
        for course in &mut courses {
            // The thread itself: a timer of the runtime would be up to a millisecond late, which is a whole review.
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let request = Request::post(course.path)
                .header(header::CONTENT_TYPE, "application/json")
                .body(course.body.clone())?;
            let (asked, begin) = (Instant::now(), worked());
            let response = router.call(request).await?;
            course.times.push(asked.elapsed());
            course.work.push(worked().saturating_sub(begin));
            anyhow::ensure!(response.status() == 200, "{} answered {}", course.path, response.status());
            due += INTERVAL;
        }
    }
    let elapsed = start.elapsed();
    println!(
        "| path | bytes | p50 µs | p99 µs | longest µs | CPU p50 µs | CPU p99 µs |\n|---|---|---|---|---|---|---|"
    );
    for Course { path, body, times, work } in &mut courses {
        times.sort_unstable();
        work.sort_unstable();
        let at = |all: &[Duration], percent: usize| {
            all.get(all.len().saturating_sub(1) * percent / 100).map_or(0, Duration::as_micros)
        };
        let [half, most, longest] = [50, 99, 100].map(|percent| at(times, percent));
        let [cpu_half, cpu_most] = [50, 99].map(|percent| at(work, percent));
        println!("| `{path}` | {} | {half} | {most} | {longest} | {cpu_half} | {cpu_most} |", body.len());
    }
    let reviews: usize = courses.iter().map(|course| course.times.len()).sum();
    println!("{reviews} reviews in {elapsed:.2?}");
    Ok(())
}

/// CPU time of this thread, which does all the work.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
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
        let set = json!({"replicas": 10, "selector": {"matchLabels": {"app": "web"}}, "template": template});
        let object = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "web"}, "spec": set});
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
