//! Pod readiness: a pod with the Kruise readiness gate and no workload that opens it becomes ready, by one write.

use std::collections::BTreeMap;

use kruise_api::conditions::{KRUISE_POD_READY, NOT_READY_CRR};
use kruise_api::resource::PODS;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::{Names, PodFacts, Stage};
use crate::server::{Change, Object, Store, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "podreadiness",
    title: "PodReadiness",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules::default())),
    goal,
    end: super::nothing,
};

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Settle};
    let pod = |name| Target::new(PODS, name);
    let gated = |name| (pod(name), object(name, &json!({})));
    let two = |name| {
        let (one, other) = (gated("a"), gated("b"));
        Scenario::new(&KIND, name).with(one.0, one.1).with(other.0, other.1)
    };
    let owner = json!({"apiVersion": "example.com/v1", "kind": "Game", "name": "chess", "uid": "c", "controller": true});
    let (late, again) = (gated("c"), gated("a"));
    vec![
        two("bare").then([Settle, Create(late.0, late.1), Settle]),
        two("recreated").then([Settle, Delete(pod("a")), Settle, Create(again.0, again.1), Settle]),
        Scenario::new(&KIND, "foreign-owner")
            .with(pod("a"), object("a", &json!({"metadata": {"ownerReferences": [owner]}})))
            .then([Settle]),
    ]
}

fn object(name: &str, more: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "nginx:1"}], "terminationGracePeriodSeconds": 2,
            "readinessGates": [{"conditionType": KRUISE_POD_READY}],
        },
    });
    merge(&mut pod, more);
    pod
}

/// Every pod that is there and has not ended is ready.
fn goal(store: &Store, _: &Scenario) -> Result<(), String> {
    for (name, pod) in resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default")) {
        match PodFacts::read(pod).stage {
            Stage::Serves | Stage::Ended => {}
            Stage::Starts | Stage::Leaves => return Err(format!("pod {} is not ready", name.1)),
        }
    }
    Ok(())
}

/// How often a manager has opened the gate, by uid of the pod.
#[derive(Default)]
struct Rules(BTreeMap<String, u64>);

impl SafetyRules for Rules {
    /// What was written may have to be written again.
    fn restored(&mut self, _: &Store) {
        self.0.clear();
    }

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !change.is_of(PODS) || !is_manager(change.who) || has_kruise_owner(&change.event.object) {
            return;
        }
        let (new, old) = (&change.event.object, change.event.before.as_ref());
        let before = old.and_then(|old| gate(old));
        // A request to restart containers closes the gate and opens it again.
        if gate(new) == before || [gate(new), before].into_iter().flatten().any(is_held_by_a_request) {
            return;
        }
        let (name, opened) = (new.str("/metadata/name"), self.0.entry(new.uid().to_owned()).or_default());
        *opened += 1;
        if *opened > 1 {
            notes.broken.push(format!("the readiness gate of pod {name} was written {opened} times"));
        }
        if new.is_deleting() {
            notes.broken.push(format!("the readiness gate of pod {name} was written while it was going"));
        }
    }
}

fn gate(pod: &Object) -> Option<&Value> {
    let all = pod.value.pointer("/status/conditions").and_then(Value::as_array)?;
    all.iter().find(|one| one.get("type").and_then(Value::as_str) == Some(KRUISE_POD_READY))
}

fn is_held_by_a_request(gate: &Value) -> bool {
    gate.get("message").and_then(Value::as_str).is_some_and(|message| message.contains(NOT_READY_CRR))
}

/// Workloads open and close the gates of their pods as often as they need to.
fn has_kruise_owner(pod: &Object) -> bool {
    let owners = pod.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let group = |owner: &Value| owner.get("apiVersion").and_then(Value::as_str).map(str::to_owned);
    let mut groups = owners.into_iter().flatten().filter_map(group);
    groups.any(|one| one.starts_with(kruise_api::names::APPS_GROUP))
}
