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
        "workqueue_depth{controller=\"cloneset-controller\",name=\"cloneset-controller\"} 1",
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
        assert_has(&metrics.render(), &format!("{family}{{controller=\"c\",name=\"c\"}} 5"));
    }

    queue.done(key, Done::Failed);

    let page = metrics.render();
    for line in [
        "workqueue_adds_total{controller=\"c\",name=\"c\"} 1",
        "workqueue_retries_total{controller=\"c\",name=\"c\"} 1",
        "workqueue_unfinished_work_seconds{controller=\"c\",name=\"c\"} 0",
        "workqueue_queue_duration_seconds_sum{controller=\"c\",name=\"c\"} 2",
        "workqueue_queue_duration_seconds_bucket{controller=\"c\",name=\"c\",le=\"1\"} 0",
        "workqueue_queue_duration_seconds_bucket{controller=\"c\",name=\"c\",le=\"10\"} 1",
        "workqueue_work_duration_seconds_sum{controller=\"c\",name=\"c\"} 5",
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
    assert_has(&page, "rest_client_requests_total{code=\"409\",host=\"api:6443\",method=\"POST\"} 1");
    assert_has(&page, "rest_client_requests_total{code=\"<error>\",host=\"api:6443\",method=\"POST\"} 1");
}

/// Bounds of the original, as numbers.
#[tokio::test]
async fn histograms_have_the_bounds_of_the_original() {
    let metrics = Metrics::default();
    metrics.controller("c", &queue());
    let page = metrics.render();
    let bounds = |family: &str| -> Vec<f64> {
        let start = format!("{family}_bucket{{");
        let lines = page.lines().filter(|line| line.starts_with(&start));
        let bound = |line: &str| line.split_once("le=\"")?.1.split_once('"')?.0.parse().ok();
        lines.filter_map(bound).collect()
    };

    let turns = bounds("controller_runtime_reconcile_time_seconds");
    assert_eq!((turns.len(), turns[0], turns[39], turns[40]), (41, 0.005, 60.0, f64::INFINITY));
    let mut powers = vec![10e-9_f64];
    powers.extend((1..12).scan(10e-9, |last, _| {
        *last *= 10.0;
        Some(*last)
    }));
    powers.push(f64::INFINITY);
    assert_eq!(bounds("workqueue_queue_duration_seconds"), powers);
    assert_eq!(bounds("workqueue_work_duration_seconds"), powers);
}

/// Whatever a label is made of, the page has one line for it that can be read again.
#[test]
fn label_values_are_escaped() {
    let metrics = Metrics::default();
    metrics.admitted(Admission {
        webhook: "/validate".to_owned(),
        operation: "CREATE",
        resource: "pods\"} 1\nforged{a=\"\\".to_owned(),
        allowed: Allowed::No,
    });

    let page = metrics.render();

    assert_has(
        &page,
        r#"kruise_webhook_admission_requests_total{allowed="false",operation="CREATE",resource="pods\"} 1\nforged{a=\"\\",webhook="/validate"} 1"#,
    );
    assert!(!page.lines().any(|line| line.starts_with("forged")), "{page}");
}

/// install/T3: the documents are written from the catalogue, so the page must have all of it and nothing else.
#[tokio::test]
async fn install_t3_page_has_exactly_the_families_of_the_catalogue() {
    let metrics = Metrics::default();
    metrics.controller("c", &queue());
    metrics.webhook("/validate");
    assert!(!metrics.render().contains("_bucket{webhook="), "no histogram of a path that nobody has asked");
    metrics.webhook_asked("/validate");
    metrics.webhook_answered("/validate", 200, Duration::from_millis(1));
    metrics.admitted(Admission {
        webhook: "/validate".to_owned(),
        operation: "CREATE",
        resource: "pods".to_owned(),
        allowed: Allowed::Yes,
    });
    let answer = tower::service_fn(async |_: Request<()>| Ok::<_, ()>(Response::new(())));
    let asked = metrics.count_requests("h").layer(answer).oneshot(Request::new(()));
    asked.await.unwrap();
    assert!(
        metrics.pod_webhook_width("mpod.kb.io", "exact")
            && metrics.pod_webhook_width("mpod.kb.io", "namespaces")
    );
    assert!(!metrics.pod_webhook_width("mpod.kb.io", "namespaces"), "that is not new");

    let page = metrics.render();

    let lines: BTreeSet<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    let known: Vec<[String; 2]> = FAMILIES
        .iter()
        .map(|one| [format!("# HELP {} {}", one.name, one.help), format!("# TYPE {} {}", one.name, one.kind)])
        .collect();
    assert_eq!(lines, known.iter().flatten().map(String::as_str).collect());
    for Family { name, labels, .. } in FAMILIES {
        let of_it = |line: &&str| {
            line.starts_with(&format!("{name} "))
                || line.starts_with(&format!("{name}{{"))
                || line.starts_with(&format!("{name}_bucket{{"))
        };
        let line = page.lines().find(of_it).unwrap_or_else(|| panic!("{name} has no value"));
        let told: BTreeSet<&str> = line
            .split(&['{', ','][..])
            .filter_map(|part| Some(part.split_once("=\"")?.0))
            .filter(|label| *label != "le")
            .collect();
        assert_eq!(told, labels.iter().copied().collect(), "{line}");
    }
}
