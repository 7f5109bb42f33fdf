use super::*;
use crate::golden;
use crate::lookup::Slim;
use crate::podprobemarker::{Check, UnknownPort};

fn read(pod: &fixtures::Pod) -> PodView {
    serde_json::from_value(pod.0.clone()).unwrap()
}

/// PM-1, 3, 20: pods that come, go, move, or begin or cease to match; nothing else, and not what the marker writes itself.
#[test]
fn pm_1_changes_of_pods_that_count_wake_it() {
    let marker = PodProbeMarker::read(&marker("m", &[probe("idle")]));
    let woken = |old: Option<fixtures::Pod>, new: Option<fixtures::Pod>| {
        let (old, new) = (old.as_ref().map(read), new.as_ref().map(read));
        marker.is_woken_by(old.as_ref(), new.as_ref())
    };
    let plain = || Some(pod("a"));
    let early = || Some(pod("a").condition("Initialized", "False", "2026-06-01T12:00:00Z"));
    assert!(woken(early(), plain()), "it is initialized now");
    assert!(woken(None, plain()) && woken(plain(), None));
    assert!(woken(plain(), Some(pod("a").label("app", "db"))), "3: it leaves the selector");
    assert!(woken(plain(), Some(pod("a").deleted("2026-06-01T12:00:00Z"))), "20: it leaves");
    assert!(woken(plain(), Some(pod("a").condition("example.com/idle", "True", "2026-06-01T12:00:00Z"))));
    assert!(!woken(plain(), Some(pod("a").condition("Ready", "True", "2026-06-01T12:00:00Z"))));
    assert!(!woken(plain(), Some(pod("a").label("idle", "yes").annotation("b", "c"))), "its own marks");
    assert!(!woken(None, early()) && !woken(None, Some(pod("a").label("app", "db"))));
}

/// An empty selector matches nothing, and the list on a pod names its markers.
#[test]
fn pm_2_markers_of_a_pod() {
    let mut everything = marker("m", &[probe("idle")]);
    everything["spec"]["selector"] = json!({});
    assert!(!PodProbeMarker::read(&everything).selects(&read(&pod("a"))));
    let listed = |text: &str| -> Vec<String> {
        let pod = read(&pod("a").annotation("kruise.io/podprobemarker-list", text));
        crate::podprobemarker::listed(&pod.annotations).map(str::to_owned).collect()
    };
    assert_eq!((listed("a,b"), listed("")), (vec!["a".to_owned(), "b".to_owned()], Vec::new()));
    let mut memory = Vec::new();
    PodProbeMarker::read(&everything).index(&mut |index, value| memory.push((index, value.to_owned())));
    assert!(memory.contains(&(crate::pod::NAMESPACE, "n".to_owned())), "{memory:?}");
}

#[test]
fn pm_3_pm_9_pods_that_count_and_why_others_do_not() {
    let here = world()
        .nodes([node("n1"), virtual_node("v1"), node("n2")])
        .marker(marker("m", &[probe("idle")]))
        .list(json!([entry("probed", &[("m#idle", check())])]), json!([]))
        .pods([
            pod("probed"),
            pod("pending"),
            pod("unlisted").node("n2"),
            pod("virtual").node("v1"),
            pod("early").condition("Initialized", "False", "2026-06-01T12:00:00Z"),
            pod("unbound").set("/spec/nodeName", Value::Null),
            pod("lost").node("gone"),
            pod("over").phase("Succeeded"),
            pod("leaving").deleted("2026-06-01T12:00:00Z"),
            pod("other").label("app", "db"),
            pod("elsewhere").set("/metadata/namespace", json!("m")),
        ]);
    let plan = here.plan_marker();
    let status = body(plan.status.as_ref().unwrap());
    assert_eq!(status["status"], json!({"observedGeneration": 1, "matchedPods": 4}));
    assert_eq!(status["metadata"]["uid"], "uid-m");
    for (name, why) in [
        ("probed", "Probed"),
        ("pending", "ProbesPending"),
        ("unlisted", "NoNodePodProbe"),
        ("virtual", "Serverless"),
        ("early", "NotInitialized"),
        ("unbound", "WaitingForNode"),
        ("lost", "NodeGone"),
        ("over", ""),
        ("other", ""),
        ("elsewhere", ""),
    ] {
        assert_eq!(reason(&plan, name), why, "{name}");
    }
}

#[test]
fn pm_9_status_is_written_only_when_it_changed() {
    let mut settled = marker("m", &[probe("idle")]);
    assert_eq!(world().marker(settled.clone()).plan_marker().writes().count(), 0, "no pods are no number");
    settled["status"] = json!({"observedGeneration": 1, "matchedPods": 1});
    assert_eq!(world().marker(settled.clone()).pods([pod("a")]).plan_marker().writes().count(), 0);
    let none = world().marker(settled.clone()).plan_marker();
    assert_eq!(body(none.status.as_ref().unwrap())["status"]["matchedPods"], Value::Null);
    settled["metadata"]["generation"] = json!(2);
    let edited = world().marker(settled).pods([pod("a")]).plan_marker();
    assert_eq!(body(edited.status.as_ref().unwrap())["status"]["observedGeneration"], 2);
}

/// Also where its pods do not match any more (3), and never for a namesake (2).
#[test]
fn pm_4_podprobemarker_2_3_deleted_marker_waits_until_no_node_has_its_probes() {
    let going = deleted(marker("way", &[probe("idle")]));
    let mine = json!([entry("gone", &[("way#idle", check())])]);
    let waits = world().marker(going.clone()).list(mine, json!([])).plan_marker();
    assert_eq!((waits.writes().count(), reason(&waits, "way")), (0, "ProbesLeft"));

    let others = json!([entry("a", &[("gateway#idle", check()), ("way-2#idle", check())])]);
    let goes = world().marker(going.clone()).list(others, json!([])).pods([pod("a")]).plan_marker();
    let ops = json!([
        {"op": "test", "path": "/metadata/uid", "value": "uid-way"},
        {"op": "test", "path": "/metadata/finalizers/0", "value": "kruise.io/node-pod-probe-cleanup"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]);
    assert_eq!(bodies(&goes), [ops]);
    assert_eq!(reason(&goes, "a"), "OwnerDeleted");

    let mut elsewhere = entry("a", &[("way#idle", check())]);
    elsewhere["namespace"] = json!("other");
    assert_eq!(world().marker(going).list(json!([elsewhere]), json!([])).plan_marker().writes().count(), 1);
}

#[test]
fn pm_5_finalizer_is_added_to_the_version_that_was_seen() {
    let mut new = marker("m", &[probe("idle")]);
    new["metadata"]["finalizers"] = json!(["other"]);
    let written = bodies(&world().marker(new).plan_marker());
    assert_eq!(written[0][1], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
    assert_eq!(written[0][2]["value"], json!(["other", "kruise.io/node-pod-probe-cleanup"]));
    assert_eq!(world().marker(marker("m", &[probe("idle")])).plan_marker().writes().count(), 0);
}

#[test]
fn pm_7_ports_are_resolved_in_the_container() {
    let ports = json!([{"name": "http", "containerPort": 8080}, {"containerPort": 9}]);
    let pod = read(&pod("a").containers(json!([{"name": "main", "ports": ports}, {"name": "other"}])));
    let of = |handler: &str, port: Value, container: &str| {
        let mut probe = json!({});
        probe[handler] = json!({"port": port});
        let text = Check::read(&probe).unwrap().of_pod(&pod, container)?;
        let form: Value = serde_json::from_str(&text).unwrap();
        Ok::<Value, UnknownPort>(form[handler]["port"].clone())
    };
    for handler in ["tcpSocket", "httpGet"] {
        assert_eq!(of(handler, json!(80), "main"), Ok(json!(80)));
        assert_eq!(of(handler, json!("http"), "main"), Ok(json!(8080)));
        assert_eq!(of(handler, json!("443"), "main"), Ok(json!(443)));
        for (port, container) in
            [("http", "other"), ("http", "gone"), ("x", "main"), ("0", "main"), ("70000", "main")]
        {
            assert_eq!(of(handler, json!(port), container), Err(UnknownPort(port.to_owned())));
        }
    }
}

#[test]
fn marker_that_cannot_be_read_touches_nothing() {
    let mut bad = marker("m", &[probe("idle")]);
    bad["spec"]["probes"][0]["probe"] = json!({"exec": {"command": "true"}});
    let plan = world().marker(bad).pods([pod("a")]).plan_marker();
    assert_eq!((plan.writes().count(), reason(&plan, "m")), (0, "UnreadableSpec"));
    assert_eq!(plan.events.len(), 1);
}

/// Scenario 19: what the original left behind is taken over without a write.
#[test]
fn podprobemarker_scenario_19_recorded_state_sees_no_write() {
    let all = golden::folder("takeover");
    let (_, state) = all.into_iter().find(|(file, _)| file == "pp-marker.json").unwrap();
    let mut here = World::default();
    for object in state["objects"].as_array().unwrap() {
        let place = match object["kind"].as_str().unwrap() {
            "NodePodProbe" => &mut here.lists,
            "PodProbeMarker" => &mut here.markers,
            "Pod" => &mut here.pods,
            _ => continue,
        };
        place.push(object.clone());
    }
    // The recording has no nodes.
    here.nodes = here.lists.iter().map(|list| node(list["metadata"]["name"].as_str().unwrap())).collect();
    assert_eq!((here.pods.len(), here.markers.len(), here.lists.len()), (4, 1, 6));
    assert_eq!(here.plan_marker().writes().count(), 0);
    let mut told = 0;
    for list in &here.lists {
        let plan = here.plan_node_named(list["metadata"]["name"].as_str().unwrap());
        assert_eq!(plan.writes().count(), 0, "{:?}", bodies(&plan));
        told += plan.reasons.values().filter(|why| why.name() == "NoResult").count();
    }
    assert_eq!(told, 4, "no agent has said anything in the recording");
}
