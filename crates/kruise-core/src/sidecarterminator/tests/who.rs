//! Which pods are touched at all (ST-1 … ST-4).

use serde_json::json;

use super::*;

fn usual(restart_policy: &str, main: &Value) -> Job {
    job(restart_policy).main(main).sidecar("side", &[BY_AGENT], &runs())
}

/// Scenarios 10, 11 and 18.
#[test]
fn st_3_pod_is_due_when_its_main_containers_are_done_and_a_sidecar_goes_on() {
    for (restart_policy, main, is_due) in [
        ("Never", done(0), true),
        ("Never", done(3), true),
        ("Never", runs(), false),
        ("OnFailure", done(0), true),
        ("OnFailure", done(3), false),
        ("Always", done(0), false),
    ] {
        assert_eq!(usual(restart_policy, &main).is_due(), is_due, "{restart_policy} {main}");
    }
    let two = usual("Never", &done(0)).with(json!({"name": "second", "image": "job:1"}), &runs());
    assert!(!two.is_due(), "one main container of two");
    assert!(
        !job("Never").main(&done(0)).sidecar("side", &[BY_AGENT], &done(1)).is_due(),
        "it ended by itself"
    );
    assert!(
        !job("Never").main(&done(0)).with(json!({"name": "side", "image": "a"}), &runs()).is_due(),
        "not marked"
    );
}

#[test]
fn st_3_pods_that_are_deleted_pending_or_over_are_left_alone() {
    let due = usual("Never", &done(0));
    let with = |path: &str, value: Value| {
        let mut one = due.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        one.pod.pointer_mut(parent).unwrap()[key] = value;
        one.is_due()
    };
    assert!(with("/status/phase", json!("Running")));
    assert!(!with("/status/phase", json!("Pending")));
    assert!(!with("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")));
    assert!(!with("/status/phase", json!("Failed")), "evicted: the kubelet cleans up");
}

/// Scenario 18.
#[test]
fn st_1_only_ordinary_containers_are_looked_at() {
    let mut native = job("Never").main(&done(0));
    let env = json!([{"name": BY_AGENT.0, "value": "true"}]);
    native.pod["spec"]["initContainers"] =
        json!([{"name": "side", "image": "a", "restartPolicy": "Always", "env": env}]);
    assert!(!native.is_due());
}

#[test]
fn st_2_missing_status_says_nothing() {
    let mut one = usual("Never", &done(0));
    one.pod["status"]["containerStatuses"].as_array_mut().unwrap().pop();
    assert!(!one.is_due());
}

/// Scenario 19.
#[test]
fn st_1_marks_are_literal_values_in_any_case_of_letters() {
    for (value, is_due) in
        [("true", true), ("TRUE", true), ("True", true), ("1", false), ("yes", false), ("", false)]
    {
        let one = job("Never").main(&done(0)).sidecar("side", &[(BY_AGENT.0, value)], &runs());
        assert_eq!(one.is_due(), is_due, "{value}");
    }
    let from =
        json!([{"name": BY_AGENT.0, "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]);
    assert!(
        !job("Never")
            .main(&done(0))
            .with(json!({"name": "side", "image": "a", "env": from}), &runs())
            .is_due()
    );
    assert!(job("Never").main(&done(0)).sidecar("side", &[BY_IMAGE], &runs()).is_due());
    assert!(
        !job("Never").main(&done(0)).sidecar("side", &[IGNORED], &runs()).is_due(),
        "alone it marks nothing"
    );
}

/// Scenario 13.
#[test]
fn sidecarterminator_t2_pod_of_sidecars_only_is_left_alone() {
    assert!(!job("Never").sidecar("a", &[BY_AGENT], &runs()).sidecar("b", &[BY_AGENT], &runs()).is_due());
}
