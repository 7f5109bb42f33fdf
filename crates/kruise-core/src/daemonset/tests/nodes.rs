//! DS-1 … DS-5.

use super::*;
use crate::eligibility::{Needs, Verdict, with_daemon_tolerations};

/// `true, true`, `false, true` and `false, false` of DS-1.
fn verdict(set: &Set, name: &str) -> (bool, bool) {
    let view = set.view();
    let node = view.nodes.iter().find(|node| &**node.name() == name).unwrap();
    let verdict = view.spec.as_ref().unwrap().needs.verdict(node);
    (verdict.should_run(), verdict.should_continue())
}

#[test]
fn ds_1_ds_2_a_node_is_chosen_by_name_selector_and_required_affinity() {
    let affinity = |terms: Value| json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    let broken = json!({"matchExpressions": [{"key": "host", "operator": "Near", "values": ["n1"]}]});
    let by_field = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]});
    for (field, value, is_chosen) in [
        ("nodeName", json!("n1"), true),
        ("nodeName", json!("n2"), false),
        ("nodeSelector", json!({"host": "n1"}), true),
        ("nodeSelector", json!({"host": "n2"}), false),
        ("affinity", affinity(json!([by_field])), true),
        ("affinity", affinity(json!([broken])), false),
        ("affinity", affinity(json!([broken, by_field])), true),
    ] {
        let set = set(2).spec(&format!("template/spec/{field}"), value.clone());
        assert_eq!(verdict(&set, "n1"), (is_chosen, is_chosen), "{field} {value}");
    }
}

#[test]
fn ds_3_pods_tolerate_what_kubernetes_taints_nodes_with() {
    let keys = |spec: &Value| -> Vec<String> {
        let all = with_daemon_tolerations(spec);
        all.iter()
            .map(|one| format!("{}:{}", one["key"].as_str().unwrap(), one["effect"].as_str().unwrap()))
            .collect()
    };
    let added = [
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/unreachable:NoExecute",
        "node.kubernetes.io/disk-pressure:NoSchedule",
        "node.kubernetes.io/memory-pressure:NoSchedule",
        "node.kubernetes.io/pid-pressure:NoSchedule",
        "node.kubernetes.io/unschedulable:NoSchedule",
    ];
    assert_eq!(keys(&json!({})), added);
    assert_eq!(
        keys(&json!({"hostNetwork": true})).last().unwrap(),
        "node.kubernetes.io/network-unavailable:NoSchedule"
    );

    let own = json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
    let other = json!({"key": "node.kubernetes.io/not-ready", "operator": "Equal", "effect": "NoExecute", "tolerationSeconds": 5});
    let all = with_daemon_tolerations(&json!({"tolerations": [own, other]}));
    assert_eq!(all[0].get("tolerationSeconds"), None, "the same but for its seconds is replaced");
    assert_eq!(all[1]["tolerationSeconds"], 5);
    assert_eq!(all.len(), 7);
}

#[test]
fn ds_4_taints_keep_new_pods_away_or_drive_old_ones_off() {
    for (taint, effect, expected) in [
        ("dedicated", "NoSchedule", (false, true)),
        ("dedicated", "NoExecute", (false, false)),
        ("dedicated", "PreferNoSchedule", (true, true)),
        ("node.kubernetes.io/unreachable", "NoExecute", (true, true)),
        ("node.kubernetes.io/disk-pressure", "NoSchedule", (true, true)),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", (false, true)),
    ] {
        assert_eq!(verdict(&set(1).taint("n1", taint, effect), "n1"), expected, "{taint}:{effect}");
    }
    let both = json!([{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]);
    assert_eq!(verdict(&set(1).node("n1", "/spec/taints", both), "n1"), (false, false));
    let cordoned = set(1).node("n1", "/spec/unschedulable", json!(true)).taint(
        "n1",
        "node.kubernetes.io/unschedulable",
        "NoSchedule",
    );
    assert_eq!(verdict(&cordoned, "n1"), (true, true), "a cordoned node still runs daemon pods");
    let full = set(1).node("n1", "/status/allocatable", json!({"pods": "0", "cpu": "0"}));
    assert_eq!(verdict(&full, "n1"), (true, true), "room is the scheduler's business");
    assert_eq!(Needs::of(&json!({})).verdict(&serde_json::from_value(node("n1")).unwrap()), Verdict::Runs);
}

/// Acceptance 15.
#[test]
fn ds_5_pod_on_a_node_that_is_not_ready_stays_and_is_counted_as_misscheduled() {
    let set = set(2)
        .node(
            "n1",
            "/spec/taints",
            json!([
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
            ]),
        )
        .pods([new("n1").not_ready(), new("n2")]);

    let plan = set.plan();

    assert!(deleted(&plan).is_empty() && served(&plan).is_empty(), "{:?}", plan.chains);
    assert_eq!(written(&plan)["desiredNumberScheduled"], 1);
    assert_eq!(written(&plan)["numberMisscheduled"], 1);
}
