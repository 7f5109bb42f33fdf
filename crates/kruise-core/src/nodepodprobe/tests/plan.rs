use serde_json::{Value, json};

use crate::chain::Act;
use crate::cluster::node::Node;
use crate::nodepodprobe::{NodePodProbe, is_woken_by_node, matters};
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::pod::PodView;
use crate::podprobemarker::PodProbeMarker;
use crate::podprobemarker::tests::*;

/// The list that a plan writes; `None` if it writes none.
fn told(plan: &Plan) -> Option<Value> {
    let write = plan.writes().find(|write| write.object.resource.plural() == "nodepodprobes")?;
    let ops = body(write);
    let op = ops.as_array().unwrap().last().unwrap().clone();
    Some(if op["op"] == "remove" { json!([]) } else { op["value"].clone() })
}

fn read(pod: &crate::fixtures::Pod) -> PodView {
    serde_json::from_value(pod.0.clone()).unwrap()
}

/// PM-1, NC-1, 3, 9: what becomes of a pod wakes its node, if a marker is about it.
#[test]
fn nc_1_pods_that_come_go_or_move_wake_their_node() {
    let markers = [std::sync::Arc::new(PodProbeMarker::read(&marker("m", &[probe("idle")])))];
    let woken = |old: Option<crate::fixtures::Pod>, new: Option<crate::fixtures::Pod>| {
        let (old, new) = (old.as_ref().map(read), new.as_ref().map(read));
        matters(old.as_ref(), new.as_ref(), &markers)
    };
    let plain = || Some(pod("a"));
    assert!(woken(None, plain()) && woken(plain(), None));
    assert!(woken(plain(), Some(pod("a").deleted("2026-06-01T12:00:00Z"))), "it turns inactive");
    assert!(woken(Some(pod("a").condition("Initialized", "False", "2026-06-01T12:00:00Z")), plain()));
    assert!(woken(plain(), Some(pod("a").set("/status/podIP", json!("10.0.0.2")))), "9");
    assert!(woken(plain(), Some(pod("a").label("app", "db"))), "3");
    assert!(woken(plain(), Some(pod("a").set("/metadata/uid", json!("another")))));
    assert!(!woken(plain(), Some(pod("a").label("idle", "yes").annotation("b", "c"))), "marks are its own");
    assert!(!woken(plain(), Some(pod("a").condition("Ready", "True", "2026-06-01T12:00:00Z"))));
    assert!(!woken(None, Some(pod("a").label("app", "db"))));
}

#[test]
fn nc_1_heartbeats_of_nodes_wake_nothing() {
    let read = |value: &Value| serde_json::from_value::<Node>(value.clone()).unwrap();
    let woken = |old: Option<&Value>, new: Option<&Value>| {
        is_woken_by_node(old.map(read).as_ref(), new.map(read).as_ref())
    };
    let plain = node("n1");
    let mut tired = plain.clone();
    tired["status"]["conditions"][0]["status"] = json!("Unknown");
    let mut heartbeat = plain.clone();
    heartbeat["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2026-06-01T12:00:00Z");
    assert!(woken(None, Some(&plain)) && woken(Some(&plain), None));
    assert!(woken(Some(&tired), Some(&plain)));
    assert!(woken(Some(&plain), Some(&deleted(plain.clone()))));
    assert!(woken(Some(&plain), Some(&virtual_node("n1"))));
    assert!(!woken(Some(&plain), Some(&heartbeat)));
}

/// Scenarios 8 and 20: only a node that is Ready and real gets one.
#[test]
fn nc_2_missing_list_of_a_ready_node_is_created_empty() {
    let here = world().without_list().marker(marker("m", &[probe("idle")])).pods([pod("a")]);
    let plan = here.plan_node();
    let empty = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "NodePodProbe", "metadata": {"name": "n1"}, "spec": {}});
    assert_eq!(bodies(&plan), [empty]);
    assert_eq!(reason(&plan, "a"), "NoNodePodProbe");

    let mut tired = node("n1");
    tired["status"]["conditions"][0]["status"] = json!("False");
    let waits = here.clone().nodes([tired]).plan_node();
    assert_eq!((waits.writes().count(), reason(&waits, "n1")), (0, "NodeNotReady"));
    for nodes in [vec![], vec![deleted(node("n1"))], vec![virtual_node("n1")]] {
        assert_eq!(here.clone().nodes(nodes).plan_node().writes().count(), 0);
    }
}

#[test]
fn nc_2_list_of_a_node_that_is_gone_is_deleted_unless_a_live_read_finds_the_node() {
    let gone = world().nodes([]).plan_node();
    let write = gone.writes().next().unwrap().clone();
    assert!(matches!(&write.act, Act::Delete { uid, .. } if uid.as_str() == "list-n1"), "{write:?}");
    assert_eq!(write.unless, Some(ObjectRef::new(kruise_api::resource::NODES, "", "n1")));

    let leaving = world().nodes([deleted(node("n1"))]).plan_node();
    let at_once = leaving.writes().next().unwrap();
    assert!(matches!(at_once.act, Act::Delete { .. }) && at_once.unless.is_none());
}

#[test]
fn nc_1_node_that_turned_virtual_loses_its_probes() {
    let stored = json!([entry("a", &[("m#idle", check())])]);
    let here = world().nodes([virtual_node("n1")]).marker(marker("m", &[probe("idle")])).pods([pod("a")]);
    assert_eq!(told(&here.list(stored, json!([])).plan_node()), Some(json!([])));
}

/// NC-3: gone, over, leaving, or another pod of the same name.
#[test]
fn nc_3_entries_of_pods_that_are_not_there_any_more_are_removed() {
    let names = ["gone", "over", "leaving", "moved", "again", "stays"];
    let stored: Vec<Value> = names.iter().map(|name| entry(name, &[("m#idle", check())])).collect();
    let plan = world()
        .nodes([node("n1"), node("n2")])
        .marker(marker("m", &[probe("idle")]))
        .list(json!(stored), json!([]))
        .pods([
            pod("over").phase("Failed"),
            pod("leaving").deleted("2026-06-01T12:00:00Z"),
            pod("moved").node("n2"),
            pod("again").set("/metadata/uid", json!("another")),
            pod("stays"),
        ])
        .plan_node();
    let left = told(&plan).unwrap();
    let uids: Vec<&str> = left.as_array().unwrap().iter().map(|one| one["uid"].as_str().unwrap()).collect();
    assert_eq!(uids, ["uid-stays", "another"]);
}

/// One write for all pods and markers, on the spec that was seen (6).
#[test]
fn pm_6_podprobemarker_6_whole_node_is_told_in_one_write() {
    let here = world()
        .marker(marker("b", &[probe("idle"), probe("role")]))
        .marker(marker("a", &[probe("x")]))
        .pods([pod("two"), pod("one")]);
    let plan = here.plan_node();
    assert_eq!(plan.writes().count(), 1);
    let ops = bodies(&plan).remove(0);
    assert_eq!(ops[0], json!({"op": "test", "path": "/metadata/uid", "value": "list-n1"}));
    assert_eq!(ops[1], json!({"op": "test", "path": "/metadata/generation", "value": 3}));
    let all = [("a#x", check()), ("b#idle", check()), ("b#role", check())];
    assert_eq!(
        ops[2],
        json!({"op": "add", "path": "/spec/podProbes", "value": [entry("one", &all), entry("two", &all)]})
    );
    assert_eq!(reason(&plan, "one"), "NoResult");

    let mut bare = here;
    bare.lists[0].as_object_mut().unwrap().remove("spec");
    let whole = bodies(&bare.plan_node()).remove(0);
    assert_eq!(whole[2]["path"], "/spec", "an object of somebody who left the spec out");
}

/// 9 and 11: places are kept, addresses renewed, and what is right is not written.
#[test]
fn pm_6_podprobemarker_9_11_entries_are_renewed_in_their_places() {
    let edited = json!({"exec": {"command": ["false"]}, "periodSeconds": 3});
    let mut new = probe("idle");
    new["probe"] = edited.clone();
    let stored = json!([entry("b", &[("m#idle", check())]), entry("a", &[("m#idle", check())])]);
    let here = world().list(stored, json!([])).pods([pod("a"), pod("b")]);
    assert_eq!(told(&here.clone().marker(marker("m", &[probe("idle")])).plan_node()), None, "11");

    let renewed = told(&here.clone().marker(marker("m", &[new])).plan_node()).unwrap();
    assert_eq!(
        renewed,
        json!([entry("b", &[("m#idle", edited.clone())]), entry("a", &[("m#idle", edited)])])
    );

    let mut moved = here.marker(marker("m", &[probe("idle")]));
    moved.pods[0]["status"]["podIP"] = json!("fd00::7");
    let addresses = told(&moved.plan_node()).unwrap();
    assert_eq!(
        (addresses[0]["IP"].clone(), addresses[1]["IP"].clone()),
        (json!("10.0.0.1"), json!("fd00::7"))
    );
    moved.pods[0]["status"].as_object_mut().unwrap().remove("podIP");
    assert_eq!(told(&moved.plan_node()), None, "an address that is not told stays");
}

/// The original drops zeros: a list that it has written is equal.
#[test]
fn podprobemarker_11_zeros_make_no_difference() {
    let mut zeros = probe("idle");
    zeros["probe"]["failureThreshold"] = json!(0);
    zeros["probe"]["initialDelaySeconds"] = json!(0);
    let stored = json!([entry("a", &[("m#idle", check())])]);
    let here = world().list(stored, json!([])).marker(marker("m", &[zeros])).pods([pod("a")]);
    assert_eq!(told(&here.plan_node()), None);
}

/// 3: the full set: removed probes, pods that left the selector, markers that are gone or going.
#[test]
fn pm_8_podprobemarker_3_what_is_not_wanted_any_more_leaves() {
    let stored = json!([
        entry(
            "a",
            &[("m#idle", check()), ("m#old", check()), ("gone#idle", check()), ("going#idle", check())]
        ),
        entry("left", &[("m#idle", check())]),
    ]);
    let here = world()
        .list(stored, json!([]))
        .marker(marker("m", &[probe("idle")]))
        .marker(deleted(marker("going", &[probe("idle")])))
        .pods([pod("a"), pod("left").label("app", "db")]);
    assert_eq!(told(&here.plan_node()), Some(json!([entry("a", &[("m#idle", check())])])));
    let mut empty = here;
    empty.markers.clear();
    assert_eq!(told(&empty.plan_node()), Some(json!([])));
}

/// Scenario 6, issue 2508: names that contain each other.
#[test]
fn podprobemarker_2_scenario_6_deleting_one_marker_leaves_its_namesakes() {
    let all = [("a#p", check()), ("aa#p", check()), ("a-a#p", check())];
    let here = world().list(json!([entry("x", &all)]), json!([])).pods([pod("x")]);
    let here = here
        .marker(deleted(marker("a", &[probe("p")])))
        .marker(marker("aa", &[probe("p")]))
        .marker(marker("a-a", &[probe("p")]));
    assert_eq!(told(&here.plan_node()), Some(json!([entry("x", &all[1..])])));
}

/// Scenario 12: the probe is left out, its older form stays, and the pod says why.
#[test]
fn pm_7_probe_of_an_unknown_port_is_skipped() {
    let mut named = probe("port");
    named["probe"] = json!({"tcpSocket": {"port": "web"}});
    let older = json!({"tcpSocket": {"port": 80}});
    let here = |stored: Value| {
        let all = marker("m", &[probe("idle"), named.clone()]);
        world().list(stored, json!([])).marker(all).pods([pod("a")]).plan_node()
    };
    let fresh = here(json!([]));
    assert_eq!(told(&fresh), Some(json!([entry("a", &[("m#idle", check())])])));
    assert_eq!(reason(&fresh, "a"), "UnknownPort");
    let known = json!([entry("a", &[("m#port", older.clone()), ("m#idle", check())])]);
    assert_eq!(told(&here(known)), None, "the older entry stays");
}

#[test]
fn probes_of_a_marker_that_cannot_be_read_stay_as_they_are() {
    let mut bad = marker("m", &[probe("idle")]);
    bad["spec"]["probes"][0]["probe"] = json!({"exec": {"command": "true"}});
    let stored = json!([entry("a", &[("m#idle", check()), ("gone#idle", check())])]);
    let here = world().list(stored, json!([])).marker(bad).pods([pod("a"), pod("b")]);
    assert_eq!(told(&here.plan_node()), Some(json!([entry("a", &[("m#idle", check())])])));
}

/// 18: what does not fit is left out with a reason, and what is there stays.
#[test]
fn podprobemarker_18_size_of_a_list_is_bounded() {
    let mut large = probe("idle");
    large["probe"]["exec"]["command"] = json!(["x".repeat(200 << 10)]);
    let names = ["a", "b", "c", "d", "e"];
    let plan = world().marker(marker("m", &[large])).pods(names.map(pod)).plan_node();
    let list = told(&plan).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert!(list.to_string().len() < 700 << 10);
    assert_eq!((reason(&plan, "a"), reason(&plan, "d")), ("NoResult", "ProbesFull"));
}

#[test]
fn equal_texts_of_lists_are_kept_once() {
    use crate::lookup::Slim;
    let stored = json!([entry("a", &[("m#idle", check())]), entry("b", &[("m#idle", check())])]);
    let mut one = NodePodProbe::read(&list("n1", stored, json!([])));
    let before = one.pods.clone();
    one.share(&mut crate::nodepodprobe::object::Pool::default());
    assert!(std::sync::Arc::ptr_eq(&one.pods[0].probes[0].check, &one.pods[1].probes[0].check));
    assert_eq!(one.pods, before);
}
