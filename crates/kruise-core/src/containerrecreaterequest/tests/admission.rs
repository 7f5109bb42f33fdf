use serde_json::{Value, json};

use crate::admission::fixtures::Surroundings;
use crate::admission::{Answer, Live, Request};
use crate::chain::Op;
use crate::cluster::node::Node;
use crate::containerrecreaterequest::admission::admit;
use crate::gates::{Gate, Gates};

fn pod() -> Value {
    let hook = json!({"preStop": {"httpGet": {"path": "/bye", "port": "web"}}});
    json!({
        "metadata": {"name": "web", "uid": "web-uid"},
        "spec": {
            "nodeName": "node-1", "terminationGracePeriodSeconds": 33,
            "containers": [
                {"name": "main", "lifecycle": hook, "ports": [{"name": "web", "containerPort": 80}]},
                {"name": "naps", "lifecycle": {"preStop": {"sleep": {"seconds": 3}}}, "ports": [{"containerPort": 81}]},
                {"name": "new"},
            ],
            "initContainers": [{"name": "native", "restartPolicy": "Always"}, {"name": "init"}],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": "main", "containerID": "c://1", "restartCount": 2}, {"name": "naps", "containerID": "c://2", "restartCount": 0},
                {"name": "new"},
            ],
            "initContainerStatuses": [{"name": "native", "containerID": "c://3", "restartCount": 0}, {"name": "init", "containerID": "c://4"}],
        },
    })
}

fn object(spec: Value) -> Value {
    let mut object = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "ContainerRecreateRequest", "metadata": {"name": "r", "namespace": "n"}});
    object["spec"] = spec;
    object
}

fn names(names: &[&str]) -> Value {
    let containers: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"podName": "web", "containers": containers})
}

fn ask_about(spec: Value, pod: Option<Value>) -> Answer {
    let node = json!({"metadata": {"name": "node-1", "uid": "1", "resourceVersion": "1", "labels": {"type": "virtual-kubelet"}}});
    let known = Surroundings { live: Live { pod: Ok(pod), ..Live::default() }, ..Surroundings::default() };
    admit(Request::create(object(spec)), &known.with::<Node>(&node).known())
}

fn refusal(spec: Value) -> String {
    ask_about(spec, Some(pod()))
        .denial
        .map(|denial| format!("{} {}", denial.code, denial.message))
        .unwrap_or_default()
}

/// The object as it is stored.
fn admitted(spec: Value) -> Value {
    let answer = ask_about(spec.clone(), Some(pod()));
    assert_eq!(answer.denial, None);
    let mut stored = object(spec);
    for op in answer.patch {
        let (Op::Add { path, value } | Op::Replace { path, value }) = op else { panic!("{op:?}") };
        let (parent, field) = path.rsplit_once('/').unwrap();
        stored.pointer_mut(parent).unwrap()[field] = value;
    }
    stored
}

#[test]
fn scenario_1_labels_policy_grace_and_identity_are_frozen() {
    let stored = admitted(names(&["main", "naps", "native"]));

    let labels = &stored["metadata"]["labels"];
    assert_eq!(labels["crr.apps.kruise.io/pod-uid"], "web-uid");
    assert_eq!(labels["crr.apps.kruise.io/node-name"], "node-1");
    assert_eq!(labels["crr.apps.kruise.io/active"], "true");
    assert_eq!(labels["type"], "virtual-kubelet");
    assert_eq!(
        stored["spec"]["strategy"],
        json!({"failurePolicy": "Fail", "terminationGracePeriodSeconds": 33})
    );
    assert_eq!(
        stored["spec"]["containers"],
        json!([
            {"name": "main", "ports": [{"name": "web", "containerPort": 80}], "preStop": {"httpGet": {"path": "/bye", "port": "web"}},
                "statusContext": {"containerID": "c://1", "restartCount": 2}},
            // containerrecreaterequest/4: a hook that the agent cannot run is none.
            {"name": "naps", "statusContext": {"containerID": "c://2", "restartCount": 0}},
            // containerrecreaterequest/5
            {"name": "native", "statusContext": {"containerID": "c://3", "restartCount": 0}},
        ])
    );
    let mut own = names(&["main"]);
    own["strategy"] = json!({"terminationGracePeriodSeconds": 0, "failurePolicy": "Ignore"});
    assert_eq!(admitted(own.clone())["spec"]["strategy"], own["strategy"], "what the user says stays");
}

#[test]
fn scenario_28_bad_requests_say_what_is_wrong() {
    let with = |field: &str, value: Value| {
        let mut spec = names(&["main"]);
        spec[field] = value;
        spec
    };
    for (spec, message) in [
        (json!({}), "400 podName can not be empty"),
        (json!("x"), "400 podName can not be empty"),
        (json!({"podName": "web"}), "400 containers list can not be null"),
        (with("activeDeadlineSeconds", json!(2)), "400 activeDeadlineSeconds can not be less than 3s"),
        (
            with("strategy", json!({"unreadyGracePeriodSeconds": -1})),
            "400 strategy.unreadyGracePeriodSeconds can not be less than 0",
        ),
        (
            with("strategy", json!({"failurePolicy": "Later"})),
            "400 unknown failurePolicy Later: use Fail or Ignore",
        ),
        (with("strategy", json!("x")), "400 strategy must be an object"),
        (names(&["main", "main"]), "400 can not recreate main multi times"),
        (names(&["other"]), "400 container other not found in Pod"),
        (names(&["init"]), "400 not found init containerStatus in Pod Status"),
        (
            names(&["new"]),
            "400 no containerID in new containerStatus, maybe the container has not been initialized",
        ),
        (
            with("containers", json!([{"name": "main", "preStop": {}}])),
            "400 preStop, ports, statusContext in container are ready-only fields",
        ),
    ] {
        assert_eq!(refusal(spec.clone()), message, "{spec}");
    }
}

#[test]
fn pods_that_cannot_be_restarted_are_refused() {
    let refused = |pod: Option<Value>| {
        ask_about(names(&["main"]), pod).denial.map(|denial| denial.message).unwrap_or_default()
    };
    let with = |at: &str, field: &str, value: Value| {
        let mut pod = pod();
        pod.pointer_mut(at).unwrap()[field] = value;
        Some(pod)
    };
    assert_eq!(refused(None), "no found Pod named web");
    let inactive = "not allowed to recreate containers in an inactive Pod";
    assert_eq!(refused(with("/status", "phase", json!("Failed"))), inactive);
    assert_eq!(refused(with("/metadata", "deletionTimestamp", json!("2026-01-01T00:00:00Z"))), inactive);
    assert_eq!(
        refused(with("/spec", "nodeName", json!(null))),
        "not allowed to recreate containers in a pending Pod"
    );
    assert!(refused(with("/spec", "nodeName", json!("other"))).contains("Node other"));
    let mut terminated = with("/status", "phase", json!("Failed")).unwrap();
    terminated["status"]["conditions"] = json!([{"type": "SidecarTerminated", "status": "True"}]);
    assert_eq!(refused(Some(terminated)), "", "SidecarTerminator ends sidecars of such pods");
}

#[test]
fn gate_off_is_forbidden() {
    let known =
        Surroundings { gates: Gates::default().without(Gate::KruiseDaemon), ..Surroundings::default() };
    let answer = admit(Request::create(object(names(&["main"]))), &known.known());
    assert_eq!(answer.code(), 403);
}

#[test]
fn scenario_24_spec_and_labels_cannot_be_changed() {
    let mut old = object(names(&["main"]));
    old["metadata"]["labels"] = json!({"crr.apps.kruise.io/pod-uid": "a", "crr.apps.kruise.io/node-name": "b", "crr.apps.kruise.io/active": "true"});
    old["metadata"]["annotations"] = json!({"crr.apps.kruise.io/unready-acquired": "2026-01-01T00:00:00Z"});
    let code = |path: &str, value: Value, version: &str| {
        let mut new = old.clone();
        *new.pointer_mut(path).unwrap() = value;
        let mut request = Request::update(old.clone(), new);
        version.clone_into(&mut request.resource.version);
        admit(request, &Surroundings::default().known()).code()
    };
    assert_eq!(code("/spec/podName", json!("other"), "v1beta1"), 403);
    assert_eq!(code("/metadata/labels/crr.apps.kruise.io~1pod-uid", json!("x"), "v1beta1"), 403);
    assert_eq!(code("/metadata/labels/crr.apps.kruise.io~1node-name", json!("x"), "v1beta1"), 403);
    assert_eq!(code("/metadata/labels/crr.apps.kruise.io~1active", json!("x"), "v1beta1"), 200);
    let acquired = "/metadata/annotations/crr.apps.kruise.io~1unready-acquired";
    assert_eq!(code(acquired, json!("x"), "v1alpha1"), 403);
    assert_eq!(code(acquired, json!("x"), "v1beta1"), 200);
}
