//! The readiness gate of pods that Kruise takes out of service (PW-2).

use std::collections::BTreeSet;

use kruise_api::{conditions, names};
use serde_json::{Value, json};

use super::{Order, PodStep, Run, SideEffects, When, adds_nothing};
use crate::admission::selection::Concern;
use crate::admission::{Denial, Known, Request};
use crate::gates::{Gate, Gates};
use crate::lookup::Lookup;

pub fn step() -> PodStep {
    PodStep {
        name: "readiness-gate",
        order: Order::ReadinessGate,
        when: &[When::CREATE],
        side_effects: SideEffects::None,
        concerns,
        adds: adds_nothing,
        reads: &[],
        run: Run::Mutate(run),
    }
}

/// Kruise workloads create their pods with the gate; for theirs alone nothing has to be asked.
fn concerns(_: Lookup<'_>, gates: &Gates) -> BTreeSet<Concern> {
    gates.on(Gate::KruisePodReadinessGate).then_some(Concern::Everybody).into_iter().collect()
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a step")]
fn run(pod: &mut Value, _: &Request, known: &Known<'_>) -> Result<(), Denial> {
    if is_ours(pod) || known.gates.on(Gate::KruisePodReadinessGate) {
        add(pod);
    }
    Ok(())
}

/// Its controller is of our group, in any version.
fn is_ours(pod: &Value) -> bool {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let group = |owner: &Value| {
        let version = owner.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        version.split_once('/').is_some_and(|(group, _)| group == names::APPS_GROUP)
    };
    let mut controllers = owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    controllers.any(group)
}

fn add(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let gates = spec.entry("readinessGates").or_insert_with(|| json!([]));
    if gates.is_null() {
        *gates = json!([]);
    }
    let Some(list) = gates.as_array_mut() else { return };
    let kind = |gate: &Value| {
        gate.get("conditionType").and_then(Value::as_str) == Some(conditions::KRUISE_POD_READY)
    };
    if !list.iter().any(kind) {
        list.push(json!({"conditionType": conditions::KRUISE_POD_READY}));
    }
}
