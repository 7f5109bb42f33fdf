//! SidecarTerminator: a pod whose main container is done ends, however often the manager does, and nobody stops anything before that.
//! No agent runs here, so requests end when the manager gives them up.

use std::time::Duration;

use kruise_api::conditions::SIDECAR_TERMINATED;
use kruise_api::env::{TERMINATE_SIDECAR, TERMINATE_SIDECAR_IGNORE_EXIT_CODE};
use kruise_api::kubernetes::phase;
use kruise_api::names::SIDECAR_TERMINATION_PREFIX;
use kruise_api::resource::PODS;
use kruise_core::containerrecreaterequest::ContainerRecreateRequest;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, What, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{ENDING_IMAGE, Scenario, Step, Target};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "sidecarterminator",
    title: "SidecarTerminator",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const POD: Target = Target::new(PODS, "job");

fn scenarios() -> Vec<Scenario> {
    use Step::{Delete, Settle, Wait};
    // Longer than three requests take that no agent answers.
    let patience = Wait(Duration::from_mins(6));
    let scenario =
        |name, variables: &[&str]| Scenario::new(&KIND, name).with(POD, pod(variables)).then([Settle]);
    let both = [TERMINATE_SIDECAR, TERMINATE_SIDECAR_IGNORE_EXIT_CODE];
    vec![
        scenario("ignored", &both).then([patience.clone(), Settle]),
        scenario("asked", &[TERMINATE_SIDECAR]).then([patience, Settle]),
        scenario("deleted", &both).then([Delete(POD), Settle]),
    ]
}

fn pod(variables: &[&str]) -> Value {
    let env: Vec<Value> = variables.iter().map(|name| json!({"name": name, "value": "true"})).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD.name},
        "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 2,
            "containers": [{"name": "main", "image": ENDING_IMAGE}, {"name": "side", "image": "nginx:1", "env": env}],
        },
    })
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let Some(pod) = POD.find(store) else {
        return if scenario.name == "deleted" { Ok(()) } else { Err("the pod is gone".into()) };
    };
    let is_over = pod.str("/status/phase") == phase::SUCCEEDED;
    let wanted = if scenario.name == "asked" { 3 } else { 1 };
    match of_pod(store, pod).count() {
        count if count != wanted => Err(format!("the agent was asked {count} times")),
        _ if !is_over => Err(format!("the pod is {}", pod.str("/status/phase"))),
        _ => Ok(()),
    }
}

fn of_pod<'a>(store: &'a Store, pod: &'a Object) -> impl Iterator<Item = &'a Object> {
    let kind = resources::of(ContainerRecreateRequest::RESOURCE);
    let all = kind.into_iter().flat_map(|kind| store.list(kind.id, "default")).map(|(_, one)| one.as_ref());
    let first = format!("{SIDECAR_TERMINATION_PREFIX}{}", pod.uid());
    all.filter(move |one| one.str("/metadata/name").starts_with(&first))
}

/// Looks at what is there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !is_manager(change.who) || change.event.what == What::Deleted {
            return;
        }
        let now = &change.event.object;
        let is_request = change.is_of(ContainerRecreateRequest::RESOURCE) && change.event.what == What::Added;
        let Some(pod) = POD.find(change.store) else { return };
        let is_its = now.str("/metadata/name").starts_with(SIDECAR_TERMINATION_PREFIX);
        if is_request && is_its {
            if !is_done(pod) {
                notes.broken.push("a sidecar is to be stopped while the main container runs".to_owned());
            }
            if of_pod(change.store, pod)
                .any(|one| one.uid() != now.uid() && one.str("/status/completionTime").is_empty())
            {
                notes.broken.push("a second request while the first is under way".to_owned());
            }
        }
        let is_marked = now
            .value
            .pointer("/status/conditions")
            .is_some_and(|all| all.to_string().contains(SIDECAR_TERMINATED));
        if change.is_of(PODS) && is_marked && !is_done(now) {
            notes.broken.push("a pod got its result before its main container was done".to_owned());
        }
    }
}

fn is_done(pod: &Object) -> bool {
    let all = pod.value.pointer("/status/containerStatuses").and_then(Value::as_array).into_iter().flatten();
    let mut main = all.filter(|one| one.get("name").is_some_and(|name| name == "main"));
    main.any(|one| one.pointer("/state/terminated").is_some())
}
