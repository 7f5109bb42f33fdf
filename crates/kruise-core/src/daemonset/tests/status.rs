//! DS-37 … DS-40.

use super::*;
use crate::time;

#[test]
fn ds_38_nodes_are_counted_by_their_first_pod() {
    let set = set(5).taint("n5", "x", "NoSchedule").rolling("paused", json!(true)).pods([
        new("n1"),
        new("n2").not_ready(),
        old("n3"),
        old("n4").going(),
        new("n5"),
    ]);

    let status = written(&set.plan());

    for (field, count) in [
        ("desiredNumberScheduled", json!(4)),
        ("currentNumberScheduled", json!(4)),
        ("numberReady", json!(3)),
        ("numberAvailable", json!(3)),
        ("numberUnavailable", json!(1)),
        ("updatedNumberScheduled", json!(2)),
        ("numberMisscheduled", json!(1)),
        ("observedGeneration", json!(1)),
        ("updateRevision", json!(hash(&template("nginx:2")))),
    ] {
        assert_eq!(status[field], count, "{field}");
    }
}

/// B22: a pod that is going still counts.
#[test]
fn daemonset_b22_ds_38_a_pod_that_is_going_counts_as_before() {
    let status = written(&set(1).pods([new("n1").going()]).plan());
    assert_eq!((&status["currentNumberScheduled"], &status["numberReady"]), (&json!(1), &json!(1)));
}

#[test]
fn ds_37_ds_40_a_pod_is_available_after_min_ready_seconds() {
    let set = set(1).spec("minReadySeconds", json!(10)).pods([new("n1").ready_since("2026-06-01T11:59:55Z")]);

    let plan = set.plan();
    assert_eq!(
        (&written(&plan)["numberReady"], &written(&plan)["numberAvailable"]),
        (&json!(1), &Value::Null)
    );
    let later = plan.revisit_at.unwrap();
    assert_eq!(written(&set.plan_at(later))["numberAvailable"], 1);
    let updating = new("n1").condition("InPlaceUpdateReady", "False", LONG_AGO);
    assert_eq!(written(&super::set(1).pods([updating]).plan())["numberReady"], 0);
}

#[test]
fn ds_39_an_unchanged_status_is_not_written() {
    let stored = json!({
        "currentNumberScheduled": 1, "desiredNumberScheduled": 1, "numberAvailable": 1, "numberMisscheduled": 0,
        "numberReady": 1, "observedGeneration": 1, "updateRevision": hash(&template("nginx:2")), "updatedNumberScheduled": 1,
    });
    let settled = set(1).pods([new("n1")]);
    assert_eq!(settled.clone().status(stored.clone()).plan().writes().count(), 0);
    let mut older = stored.clone();
    older["numberUnavailable"] = json!(1);
    let plan = settled.clone().status(older).plan();
    assert_eq!(written(&plan)["numberUnavailable"], Value::Null, "a zero is left out");
    let mut older_again = stored;
    older_again["observedGeneration"] = json!(0);
    assert_eq!(settled.status(older_again).plan_at(time::after(t0(), 1)).writes().count(), 1);
}

#[test]
fn an_unreadable_spec_touches_nothing_and_says_what_to_correct() {
    let plan = set(2).rolling("partition", json!("abc")).pods([old("n1")]).plan();
    assert!(plan.chains.is_empty());
    assert_eq!(name_of(&plan, "old-n1"), "UnreadableSpec");
    assert!(written(&plan)["conditions"][0]["message"].as_str().unwrap().contains("rollingUpdate.partition"));
}
