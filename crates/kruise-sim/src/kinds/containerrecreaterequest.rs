//! ContainerRecreateRequest: whatever happens, the pod goes back into service, and before the request lets go of it. The node agent is
//! played by the scenario: it says in the status how far it is.

use std::time::Duration;

use kruise_api::conditions::KRUISE_POD_READY;
use kruise_api::finalizers::CONTAINER_RECREATE_REQUEST;
use kruise_api::labels::CRR_ACTIVE;
use kruise_api::resource::PODS;
use kruise_core::containerrecreaterequest::ContainerRecreateRequest;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "crr",
    title: "ContainerRecreateRequest",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const REQUEST: Target = Target::new(ContainerRecreateRequest::RESOURCE, "r");
const POD: Target = Target::new(PODS, "recreated");
/// As it stands in the message of the pod's condition.
const ENTRY: &str = "default/r";

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Settle, Status, Wait};
    let scenario = |name, steps: Vec<Step>, more: Value| {
        let begin = [Settle, Create(REQUEST, request(&more))];
        Scenario::new(&KIND, name).with(POD, pod()).then(begin.into_iter().chain(steps))
    };
    let says = |phase: &str| Status(REQUEST, json!({"phase": phase}));
    let ends = || Status(REQUEST, json!({"phase": "Completed", "completionTime": "2026-01-01T00:00:00Z"}));
    let drain = json!({"strategy": {"unreadyGracePeriodSeconds": 1}});
    let expires = json!({"strategy": {"unreadyGracePeriodSeconds": 1}, "ttlSecondsAfterFinished": 20});
    let deadline = json!({"strategy": {"unreadyGracePeriodSeconds": 1}, "activeDeadlineSeconds": 30});
    let patience = Wait(Duration::from_secs(70));
    vec![
        scenario("no-agent", vec![patience.clone(), Settle], json!({})),
        scenario("drains", vec![says("Recreating"), Settle, ends(), Settle], drain.clone()),
        scenario("expires", vec![says("Recreating"), Settle, ends(), patience.clone(), Settle], expires),
        scenario("deadline", vec![says("Recreating"), Settle, patience, Settle], deadline),
        scenario("deleted", vec![says("Recreating"), Settle, Delete(REQUEST), Settle], drain.clone()),
        scenario("pod-gone", vec![says("Recreating"), Settle, Delete(POD), Settle], drain),
    ]
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD.name},
        "spec": {
            "containers": [{"name": "main", "image": "nginx:1"}], "terminationGracePeriodSeconds": 2,
            "readinessGates": [{"conditionType": KRUISE_POD_READY}],
        },
    })
}

fn request(more: &Value) -> Value {
    let resource = ContainerRecreateRequest::RESOURCE;
    let mut spec = json!({"podName": POD.name, "containers": [{"name": "main"}]});
    merge(&mut spec, more);
    json!({
        "apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": REQUEST.name}, "spec": spec,
    })
}

/// The request is over or gone, and holds no pod.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    if let Some(pod) = POD.find(store).filter(|pod| holds(pod)) {
        return Err(format!("pod {} is still out of service", pod.str("/metadata/name")));
    }
    let Some(request) = REQUEST.find(store) else {
        let may_be_gone = matches!(scenario.name, "expires" | "deleted");
        return if may_be_gone { Ok(()) } else { Err("the request is gone".into()) };
    };
    if request.str("/status/phase") != "Completed" {
        return Err(format!("the request is {:?}", request.str("/status/phase")));
    }
    let is_active =
        request.value.pointer("/metadata/labels").is_some_and(|all| all.get(CRR_ACTIVE).is_some());
    if is_active || has_finalizer(request) { Err("the request is not tidied up".into()) } else { Ok(()) }
}

fn holds(pod: &Object) -> bool {
    let all = pod.value.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let mut messages = all
        .filter(|one| one.get("type").is_some_and(|kind| kind == KRUISE_POD_READY))
        .filter_map(|one| one.get("message").and_then(Value::as_str));
    messages.any(|message| message.contains(ENTRY))
}

fn has_finalizer(request: &Object) -> bool {
    let all = request.value.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
    all.into_iter().any(|one| one == CONTAINER_RECREATE_REQUEST)
}

/// Looks at what is there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !is_manager(change.who) {
            return;
        }
        let (now, before) = (&change.event.object, change.event.before.as_deref());
        if change.is_of(PODS) && holds(now) && !before.is_some_and(holds) {
            let asks = |request: &Object| label(request, kruise_api::labels::CRR_POD_UID) == now.uid();
            let asked = requests(change.store).any(|request| asks(request) && has_finalizer(request));
            if !asked {
                notes.broken.push("a pod was taken out of service that no finalizer gives back".to_owned());
            }
        }
        let is_request = change.is_of(ContainerRecreateRequest::RESOURCE);
        if is_request && before.is_some_and(has_finalizer) && !has_finalizer(now) {
            let pod =
                POD.find(change.store).filter(|pod| pod.uid() == label(now, kruise_api::labels::CRR_POD_UID));
            if pod.is_some_and(|pod| holds(pod) && !pod.is_deleting()) {
                notes.broken.push("a request let go of a pod that is still out of service".to_owned());
            }
        }
    }
}

fn requests(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(ContainerRecreateRequest::RESOURCE);
    all.into_iter().flat_map(|kind| store.list(kind.id, "default")).map(|(_, one)| one.as_ref())
}

fn label<'a>(object: &'a Object, key: &str) -> &'a str {
    object.value.pointer("/metadata/labels").and_then(|all| all.get(key)?.as_str()).unwrap_or_default()
}
