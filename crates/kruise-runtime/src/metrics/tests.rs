use std::collections::BTreeSet;

use http::{Request, Response};
use tower::{Layer, ServiceExt};

use super::*;
use crate::Key;
use crate::queue::{BackOff, Done};

fn queue() -> Arc<Queue> {
    Arc::new(Queue::new(BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1) }))
}

fn assert_has(page: &str, line: &str) {
    assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
}

/// Platform section 6, install/F29, install/T31, PL-B1.
#[tokio::test(start_paused = true)]
async fn pl_b1_page_has_the_names_and_labels_that_dashboards_read() {
    let metrics = Metrics::default();
    let queue = queue();
    let controller = metrics.controller("cloneset-controller", &queue);
    controller.workers(3);
    controller.busy();
    controller.idle(Duration::from_millis(20), ResultLabel::Success);
    assert_has(&metrics.render(), "kruise_manager_is_leader 0");
    metrics.leads(Leading::Yes);
    queue.add(Key::new("n", "waits"));
    metrics.certificate_read(CertificateRead::Usable);
    metrics.certificate_read(CertificateRead::Unusable);

    let page = metrics.render();

    for line in [
        "controller_runtime_reconcile_total{controller=\"cloneset-controller\",result=\"success\"} 1",
        "controller_runtime_max_concurrent_reconciles{controller=\"cloneset-controller\"} 3",
        "workqueue_depth{name=\"cloneset-controller\",controller=\"cloneset-controller\"} 1",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"cloneset-controller\",le=\"0.01\"} 0",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"cloneset-controller\",le=\"0.025\"} 1",
        "kruise_manager_is_leader 1",
        "leader_election_master_status{name=\"kruise-manager\"} 1",
        "certwatcher_read_certificate_total 2",
        "certwatcher_read_certificate_errors_total 1",
    ] {
        assert_has(&page, line);
    }
}

/// install/F13: how long objects wait, how long they take, and what is stuck.
#[tokio::test(start_paused = true)]
async fn install_f13_queue_tells_how_long_objects_wait_and_take() {
    let metrics = Metrics::default();
    let queue = queue();
    metrics.controller("c", &queue);
    queue.add(Key::new("n", "a"));
    queue.add(Key::new("n", "a"));
    tokio::time::advance(Duration::from_secs(2)).await;
    let key = queue.next().await.unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    for family in ["workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds"] {
        assert_has(&metrics.render(), &format!("{family}{{name=\"c\",controller=\"c\"}} 5"));
    }

    queue.done(key, Done::Failed);

    let page = metrics.render();
    for line in [
        "workqueue_adds_total{name=\"c\",controller=\"c\"} 1",
        "workqueue_retries_total{name=\"c\",controller=\"c\"} 1",
        "workqueue_unfinished_work_seconds{name=\"c\",controller=\"c\"} 0",
        "workqueue_queue_duration_seconds_sum{name=\"c\",controller=\"c\"} 2",
        "workqueue_queue_duration_seconds_bucket{name=\"c\",controller=\"c\",le=\"1\"} 0",
        "workqueue_queue_duration_seconds_bucket{name=\"c\",controller=\"c\",le=\"10\"} 1",
        "workqueue_work_duration_seconds_sum{name=\"c\",controller=\"c\"} 5",
    ] {
        assert_has(&page, line);
    }
}

#[tokio::test]
async fn requests_are_counted_by_code_and_method() {
    let metrics = Metrics::default();
    let answer = tower::service_fn(async |request: Request<()>| match request.uri().path() {
        "/gone" => Err("broken off"),
        _ => Ok(Response::builder().status(409).body(()).unwrap()),
    });
    let client = metrics.count_requests("api:6443").layer(answer);

    for path in ["/a", "/gone"] {
        drop(client.clone().oneshot(Request::post(path).body(()).unwrap()).await);
    }

    let page = metrics.render();
    assert_has(&page, "rest_client_requests_total{code=\"409\",method=\"POST\",host=\"api:6443\"} 1");
    assert_has(&page, "rest_client_requests_total{code=\"<error>\",method=\"POST\",host=\"api:6443\"} 1");
}

/// install/T3: the documents are written from the catalogue, so the page must have all of it and nothing else.
#[tokio::test]
async fn install_t3_page_has_exactly_the_families_of_the_catalogue() {
    let metrics = Metrics::default();
    metrics.controller("c", &queue());

    let page = metrics.render();

    let told: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let known: Vec<String> =
        FAMILIES.iter().map(|family| format!("{} {}", family.name, family.kind)).collect();
    assert_eq!(told, known.iter().map(String::as_str).collect());
    for family in FAMILIES {
        let plain = !family.labels.is_empty()
            || page.lines().any(|line| line.starts_with(&format!("{} ", family.name)));
        assert!(plain, "{} has no value", family.name);
    }
}
