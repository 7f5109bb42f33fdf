use serde_json::{Value, json};

use super::*;
use crate::fixtures::cpu;
use crate::persistentpodstate::{Record, near_limit};

fn names(status: &Value) -> Vec<&str> {
    status["podStates"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// PP-7: without workload, or while it is being deleted, everything is forgotten and the object stays.
#[test]
fn pp_7_records_go_with_the_workload() {
    let stored = remembering(&[("web-0", "a")]);
    let mut gone = view(&stored, vec![ready("web-0", "a")]);
    gone.workload = Workload::of_statefulset(&with(
        statefulset(3),
        "/metadata/deletionTimestamp",
        json!("2026-01-01T00:00:00Z"),
    ));
    assert!(gone.workload.is_none());

    let plan = planned(&gone);

    assert_eq!(status_after(&stored, &plan), json!({"observedGeneration": 1}));
    assert!(plan.chains.is_empty());
}

/// PP-8: finished and terminating pods say nothing; without replicas no pod does.
#[test]
fn pp_8_only_active_pods_are_recorded() {
    let pods = || {
        vec![
            ready("web-0", "a"),
            ready("web-1", "b").phase("Failed"),
            ready("web-2", "c").deleted("2026-01-01T00:00:00Z"),
        ]
    };
    let mut world = view(&object(), pods());
    assert_eq!(names(&status_after(&object(), &planned(&world))), ["web-0"]);

    world.workload = Workload::of_statefulset(&statefulset(0));
    assert!(planned(&world).status.is_none());
}

/// PP-9: node, wanted labels that the node has, wanted annotations that the pod has.
#[test]
fn pp_9_record_holds_what_is_there() {
    let wanted = with(object(), "/spec/persistentPodAnnotations", json!([{"key": "ip"}, {"key": "none"}]));
    let wanted = with(wanted, "/spec/requiredPersistentTopology", json!({"keys": ["zone", "rack"]}));
    let pods = vec![
        ready("web-0", "a").annotation("ip", "10.0.0.1"),
        pod("web-1").running().ready_since("2026-01-01T00:00:00Z"),
    ];

    let status = status_after(&wanted, &planned(&view(&wanted, pods)));

    let expected = json!({"nodeName": "a", "nodeTopologyLabels": {"zone": "zone-a", "host": "a"}, "annotations": {"ip": "10.0.0.1"}});
    assert_eq!(status["podStates"], json!({"web-0": expected}), "a pod without node has no record");
}

/// PP-10, PP-16, PP-24: a pod that is not ready keeps its record or has none; a ready one elsewhere replaces it as a whole.
#[test]
fn pp_10_pp_16_record_is_kept_or_replaced_never_merged() {
    let old = with(
        remembering(&[("web-0", "a"), ("web-1", "b")]),
        "/status/podStates/web-0/annotations",
        json!({"ip": "1"}),
    );
    let pods = vec![ready("web-0", "c"), pod("web-1").node("c").running(), pod("web-2").node("c").running()];

    let status = status_after(&old, &planned(&view(&old, pods)));

    assert_eq!(status["podStates"], json!({"web-0": record("c"), "web-1": record("b")}));
}

/// PP-11, persistentpodstate/D10: a node that is not known yet keeps the old record, and the pod is looked at again.
#[test]
fn pp_11_unknown_node_is_asked_for_again() {
    let old = remembering(&[("web-0", "a")]);
    let plan = planned(&view(&old, vec![ready("web-0", "z")]));

    assert_eq!(status_after(&old, &plan), old["status"]);
    assert_eq!(plan.revisit_at, Some(crate::time::after(t0(), 5)));
}

/// PP-12, PP-14: a scaled-down ordinal is forgotten as soon as its pod terminates, a name without ordinal never; WhenDeleted
/// keeps all. persistentpodstate/D4: an unknown policy behaves as the default.
#[test]
fn pp_12_pp_14_retention() {
    let stored = remembering(&[("web-0", "a"), ("web-3", "b"), ("web-4", "c"), ("odd", "a")]);
    let pods = || vec![ready("web-3", "b"), ready("web-4", "c").deleted("2026-01-01T00:00:00Z")];
    for (policy, expected) in [
        (Value::Null, vec!["web-0", "web-3", "odd"]),
        (json!("WhenScaled"), vec!["web-0", "web-3", "odd"]),
        (json!("Sometimes"), vec!["web-0", "web-3", "odd"]),
        (json!("WhenDeleted"), vec!["web-0", "web-3", "web-4", "odd"]),
    ] {
        let stored = with(stored.clone(), "/spec/persistentPodStateRetentionPolicy", policy.clone());
        let status = status_after(&stored, &planned(&view(&stored, pods())));
        assert_eq!(names(&status), expected, "{policy}");
    }
}

/// persistentpodstate/D4: values that the schema refuses by now keep no record from being written, and the write says nothing
/// about them.
#[test]
fn persistentpodstate_d4_odd_spec_keeps_its_records() {
    let terms = json!([
        {"weight": -1, "preference": {"keys": ["host"]}},
        {"weight": "heavy", "preference": {"keys": ["other", 5]}},
        "nonsense",
    ]);
    let odd = with(remembering(&[("web-0", "a")]), "/spec/preferredPersistentTopology", terms);
    let odd = with(odd, "/spec/persistentPodStateRetentionPolicy", json!("Sometimes"));

    let plan = planned(&view(&odd, vec![ready("web-0", "b")]));

    let labels = json!({"zone": "zone-b", "host": "b", "other": "x"});
    let written = json!({"nodeName": "b", "nodeTopologyLabels": labels});
    assert_eq!(status_after(&odd, &plan)["podStates"]["web-0"], written);
    let write = plan.status.unwrap();
    let Act::Patch(Patch::Merge(body)) = &write.act else { panic!() };
    assert_eq!((write.part, body.get("spec")), (crate::chain::Part::Status, None));
}

/// PP-13, persistentpodstate/D1: ordinals are counted as the workload counts them, from its start and around what it reserves.
#[test]
fn pp_13_persistentpodstate_d1_wanted_ordinals() {
    let stored =
        remembering(&[("web-0", "a"), ("web-5", "a"), ("web-6", "b"), ("web-8", "c"), ("web-9", "c")]);
    let set = with(statefulset(3), "/spec/ordinals", json!({"start": 5}));
    let set = with(set, "/spec/reserveOrdinals", json!([6, "7-8"]));
    let set = with(set, "/spec/selector", json!({}));
    let set = with(set, "/spec/template", json!({"spec": {"containers": []}}));
    let mut world = view(&stored, vec![]);
    world.workload = Workload::of(&crate::statefulset::StatefulSet::read(&set));

    // 5, 9 and 10 are wanted.
    assert_eq!(names(&status_after(&stored, &planned(&world))), ["web-5", "web-9"]);
}

/// PP-15, persistentpodstate/D12: no write when nothing changed, and then only the entries that did.
#[test]
fn pp_15_persistentpodstate_d12_only_changes_are_written() {
    let settled = remembering(&[("web-0", "a"), ("web-1", "b")]);
    let pods = |node| vec![ready("web-0", "a"), ready("web-1", node)];
    assert!(planned(&view(&settled, pods("b"))).status.is_none());
    let empty = with(object(), "/status/podStates", json!({}));
    assert!(planned(&view(&empty, vec![])).status.is_none(), "an empty map is no map");

    let plan = planned(&view(&settled, pods("c")));

    let Some(Act::Patch(Patch::Merge(body))) = plan.status.as_ref().map(|write| write.act.clone()) else {
        panic!()
    };
    assert_eq!(body["status"]["podStates"].as_object().unwrap().len(), 1);
    let newer = with(settled.clone(), "/metadata/generation", json!(2));
    assert_eq!(status_after(&newer, &planned(&view(&newer, pods("b"))))["observedGeneration"], 2);
}

/// persistentpodstate/D2: a record of a node that is gone is told, and dropped where the object says so; not while its pod runs.
#[test]
fn persistentpodstate_d2_lost_nodes() {
    let stored = remembering(&[("web-0", "lost"), ("web-1", "b")]);
    let pods = || vec![pod("web-0")];
    let plan = planned(&view(&stored, pods()));
    assert_eq!(plan.events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["RecordedNodeLost"]);
    assert_eq!(names(&status_after(&stored, &plan)), ["web-0", "web-1"]);

    let dropping = with(
        stored.clone(),
        "/metadata/annotations",
        json!({"kruise.io/drop-records-of-lost-nodes": "true"}),
    );
    assert_eq!(names(&status_after(&dropping, &planned(&view(&dropping, pods())))), ["web-1"]);
}

/// persistentpodstate/D11: a label that changed on the same node is followed.
#[test]
fn persistentpodstate_d11_labels_follow_the_node() {
    let stored = remembering(&[("web-0", "a")]);
    let mut world = view(&stored, vec![ready("web-0", "a")]);
    world.nodes.get_mut("a").unwrap().insert("zone".to_owned(), "moved".to_owned());

    let status = status_after(&stored, &planned(&world));

    assert_eq!(status["podStates"]["web-0"]["nodeTopologyLabels"], json!({"zone": "moved", "host": "a"}));
}

/// persistentpodstate/D12: thousands of pods are announced before they do not fit any more.
#[test]
fn persistentpodstate_d12_size_is_watched() {
    let record = Record::read(&super::record("node-with-a-long-name"));
    let many = |count: usize| -> std::collections::BTreeMap<String, Record> {
        (0..count).map(|i| (format!("web-{i}"), record.clone())).collect()
    };
    assert!(!near_limit(&many(3000)));
    assert!(near_limit(&many(10_000)));
}

/// persistentpodstate/D13: the later object of a target records nothing and says so.
#[test]
fn persistentpodstate_d13_second_object_stands_back() {
    let mut world = view(&object(), vec![ready("web-0", "a")]);
    world.superseded_by = Some("first".to_owned());

    let plan = planned(&world);

    assert!(plan.status.is_none());
    assert_eq!(plan.events[0].reason, "Superseded");
}

/// persistentpodstate/D16: a pod that is deleted before anybody looked leaves no record, or its old one; the next look at its
/// ready successor brings the right one.
#[test]
fn persistentpodstate_d16_quick_deletion_costs_one_look() {
    let mut stored = remembering(&[("web-1", "b")]);
    let gone = |name: &str| ready(name, "c").deleted("2026-01-01T00:00:00Z");
    let first = planned(&view(&stored, vec![gone("web-0"), gone("web-1")]));
    stored = with(stored.clone(), "/status", status_after(&stored, &first));
    assert_eq!(stored["status"]["podStates"], json!({"web-1": record("b")}));

    let next = planned(&view(&stored, vec![ready("web-0", "a"), ready("web-1", "a")]));

    assert_eq!(
        status_after(&stored, &next)["podStates"],
        json!({"web-1": record("a"), "web-0": record("a")})
    );
}

/// PP-30: of a listed kind only `spec.replicas` is known; without it nothing is recorded.
#[test]
fn pp_30_custom_workloads() {
    let mut world = view(&object(), vec![ready("web-0", "a"), ready("web-1", "b")]);
    for (spec, expected) in [(json!({"replicas": 1}), vec!["web-0", "web-1"]), (json!({}), vec![])] {
        world.workload = Workload::of_custom(&json!({"metadata": {}, "spec": spec}));
        assert_eq!(names(&status_after(&object(), &planned(&world))), expected);
    }
}

/// Makes another case of a view.
type Edit = fn(&mut View);

/// Section 8.2, persistentpodstate/D12: what one look costs per pod does not grow with the workload, whatever becomes of the records.
#[test]
fn persistentpodstate_d12_looks_at_large_workloads_cost_no_more_per_pod() {
    let named = |count: u32| (0..count).map(|ordinal| format!("web-{ordinal}"));
    let of = |count: u32, node: &str| {
        let states = named(count).map(|name| (name, record("a"))).collect();
        let stored = with(object(), "/status/podStates", Value::Object(states));
        let mut world = view(&stored, named(count).map(|name| ready(&name, node)).collect());
        world.workload = Workload::of_statefulset(&statefulset(count));
        world
    };
    let cases: [(&str, Edit); 3] = [
        ("moved", |_| {}),
        ("scaled in", |world| {
            world.workload = Workload::of_statefulset(&statefulset(1));
            world.pods.truncate(1);
        }),
        ("nodes lost", |world| {
            world.pods.clear();
            world.nodes.clear();
            world.drops_lost = true;
        }),
    ];
    for (name, change) in cases {
        cpu::grows_linearly(name, |count| {
            let mut world = of(count, "b");
            change(&mut world);
            move || drop(planned(&world))
        });
    }
}
