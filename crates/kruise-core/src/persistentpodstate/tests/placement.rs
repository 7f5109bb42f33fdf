use serde_json::{Value, json};

use super::*;
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::admission::pod::{Order, PodStep, PodSteps, Run, readiness_gate};
use crate::launch;
use crate::persistentpodstate::Supported;
use crate::persistentpodstate::admission::pod_step;
use crate::persistentpodstate::placement::{chosen, place, target_of};

const LIST: &str = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";

fn new_pod() -> Value {
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "w", "controller": true});
    json!({"metadata": {"name": "web-0", "ownerReferences": [owner]}, "spec": {"containers": []}})
}

fn placed(object: &Value) -> Value {
    let mut pod = new_pod();
    place(&mut pod, object);
    pod
}

/// PP-17: only pods of a supported controller are looked at.
#[test]
fn pp_17_pods_of_supported_owners() {
    let target = |pod: &Value| target_of(pod, &Supported::default()).map(|target| target.name);
    assert_eq!(target(&new_pod()).as_deref(), Some("web"));
    for (path, value) in
        [("kind", json!("ReplicaSet")), ("controller", json!(false)), ("apiVersion", json!("foreign.io/v1"))]
    {
        assert_eq!(
            target(&with(new_pod(), &format!("/metadata/ownerReferences/0/{path}"), value)),
            None,
            "{path}"
        );
    }
    assert_eq!(target(&json!({"metadata": {"name": "bare"}})), None);
}

/// PP-17, PP-20, PP-24: without a record with node labels the pod stays as it is.
#[test]
fn pp_20_pp_24_pod_without_record_is_untouched() {
    let unlabelled = with(object(), "/status/podStates", json!({"web-0": {"nodeName": "a"}}));
    for object in [object(), remembering(&[("web-1", "a")]), unlabelled] {
        assert_eq!(placed(&object), new_pod());
    }
}

/// PP-18, PP-19, PP-20, PP-21: required keys become node selectors, preferred ones weighted terms, the annotation names the
/// object, and recorded annotations stay in the status.
#[test]
fn pp_18_pp_19_pp_20_pp_21_pod_is_steered() {
    let object =
        with(remembering(&[("web-0", "a")]), "/status/podStates/web-0/annotations", json!({"ip": "1"}));
    let pod = placed(&object);

    assert_eq!(pod["spec"]["nodeSelector"], json!({"zone": "zone-a"}));
    let term = json!({"weight": 100, "preference": {"matchExpressions": [{"key": "host", "operator": "In", "values": ["a"]}]}});
    assert_eq!(pod.pointer(LIST), Some(&json!([term])));
    assert_eq!(pod["metadata"]["annotations"], json!({"kruise.io/injected-persistent-pod-state": "web"}));
}

/// PP-19: terms are appended in order behind those of the template, also one without expressions.
#[test]
fn pp_19_terms_are_appended() {
    let terms = json!([{"weight": 7, "preference": {"keys": ["none"]}}, {"weight": 8, "preference": {"keys": ["host", "zone"]}}]);
    let object = with(remembering(&[("web-0", "a")]), "/spec/preferredPersistentTopology", terms);
    let own = json!({"weight": 1, "preference": {"matchFields": []}});
    let mut pod = with(
        new_pod(),
        "/spec/affinity",
        json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [own]}}),
    );

    place(&mut pod, &object);

    let list = pod.pointer(LIST).unwrap().as_array().unwrap();
    assert_eq!(list[0], own);
    assert_eq!(list[1], json!({"weight": 7, "preference": {}}));
    assert_eq!(list[2]["preference"]["matchExpressions"].as_array().unwrap().len(), 2);
}

/// persistentpodstate/D3: a weight that the API server would refuse never keeps a pod from being created.
#[test]
fn persistentpodstate_d3_weights_are_clamped() {
    for (given, expected) in [(0, 1), (-5, 1), (101, 100), (50, 50)] {
        let terms = json!([{"weight": given, "preference": {"keys": ["host"]}}]);
        let pod = placed(&with(remembering(&[("web-0", "a")]), "/spec/preferredPersistentTopology", terms));
        assert_eq!(pod.pointer(LIST).unwrap()[0]["weight"], expected, "{given}");
    }
}

/// PP-18, persistentpodstate/D5: the record wins over the template, unless the object says otherwise.
#[test]
fn pp_18_persistentpodstate_d5_who_wins() {
    let object = remembering(&[("web-0", "a")]);
    let own = || with(new_pod(), "/spec/nodeSelector", json!({"zone": "new", "disk": "ssd"}));
    let mut pod = own();
    place(&mut pod, &object);
    assert_eq!(pod["spec"]["nodeSelector"], json!({"zone": "zone-a", "disk": "ssd"}));

    let mut kept = own();
    place(
        &mut kept,
        &with(object, "/metadata/annotations", json!({"kruise.io/template-node-selector-wins": "true"})),
    );
    assert_eq!(kept["spec"]["nodeSelector"], json!({"zone": "new", "disk": "ssd"}));
}

/// PP-3, persistentpodstate/D13: of several objects the oldest counts, then the name; one that is being deleted never does.
#[test]
fn pp_3_persistentpodstate_d13_oldest_object_counts() {
    let one = |name: &str, created: &str| json!({"metadata": {"name": name, "creationTimestamp": created}});
    let dying =
        with(one("z", "2025-01-01T00:00:00Z"), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    let all = [
        one("c", "2026-01-02T00:00:00Z"),
        one("b", "2026-01-01T00:00:00Z"),
        one("a", "2026-01-02T00:00:00Z"),
        dying,
    ];
    assert_eq!(chosen(&all).unwrap()["metadata"]["name"], "b");
    assert_eq!(chosen(&all[2..]).unwrap()["metadata"]["name"], "a");
    assert!(chosen(&all[3..]).is_none());
}

/// PP-22: a pod is placed after the readiness gate was added; what places it sees the gate.
#[test]
fn pp_22_placing_comes_after_the_readiness_gate() {
    let owner = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "name": "web", "controller": true});
    let pod = json!({"metadata": {"name": "web-0", "ownerReferences": [owner]}, "spec": {}});
    let looking = Run::Mutate(|seen, _, _| {
        seen["spec"]["sawGates"] = seen["spec"]["readinessGates"].clone();
        Ok(())
    });
    let steps = PodSteps::new([PodStep { run: looking, ..pod_step() }, launch::pod_step(), readiness_gate()]);

    let answer = steps.mutate(&Request::create(pod), &Surroundings::default().known());

    let saw = answer.patch.iter().map(|one| json!(one)).find(|one| one["path"] == "/spec/sawGates");
    assert_eq!(saw.unwrap()["value"], json!([{"conditionType": "KruisePodReady"}]));
    assert!(readiness_gate().order < Order::PersistentPodState);
}
