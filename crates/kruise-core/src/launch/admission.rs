//! A new pod: which priorities its containers have, and the barriers that make them wait.

use std::collections::BTreeSet;

use kruise_api::{annotations, env};
use serde_json::{Value, json};

use super::plan::{config_map_name, key};
use crate::admission::pod::{Order, PodStep, Run, SideEffects, When, adds_nothing};
use crate::admission::selection::Concern;
use crate::admission::{Denial, Known, Request};
use crate::gates::Gates;
use crate::ids::PodName;
use crate::lookup::Lookup;

/// Longest base of a generated name: five random characters follow (SM-96).
const GENERATED_BASE_MAX: usize = 58;

/// Why a pod cannot be admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "container {container}: {variable} must be a whole number, is {value:?}",
        variable = env::CONTAINER_PRIORITY
    )]
    NotANumber { container: String, value: String },
}

/// Containers that start one after the other.
pub fn pod_step() -> PodStep {
    PodStep {
        name: "launch-priority",
        order: Order::LaunchPriority,
        when: &[When::CREATE],
        side_effects: SideEffects::None,
        concerns,
        adds: adds_nothing,
        reads: &[],
        run: Run::Mutate(run),
    }
}

/// By what they say themselves; no object stands behind them.
fn concerns(_: Lookup<'_>, _: &Gates) -> BTreeSet<Concern> {
    BTreeSet::from([Concern::Launching])
}

fn run(pod: &mut Value, _: &Request, known: &Known<'_>) -> Result<(), Denial> {
    // SM-95: the code of the original.
    admit(pod, known.suffix).map_err(|refusal| Denial::new(500, refusal.to_string()))
}

/// Gives the pod its barriers, and a name if it has none (SM-95, SM-96); `suffix` ends it.
pub fn admit(pod: &mut Value, suffix: impl FnOnce() -> String) -> Result<(), Refusal> {
    let Some(priorities) = priorities(pod)? else { return Ok(()) };
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        if text("name").is_empty() {
            let name = generated_name(text("generateName"), &suffix());
            metadata.insert("name".to_owned(), json!(name.as_str()));
        }
    }
    inject(pod, &priorities);
    Ok(())
}

/// Priority of each container by position; `None` if the pod needs no barriers (SM-95).
pub fn priorities(pod: &Value) -> Result<Option<Vec<i64>>, Refusal> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if containers.len() <= 1 {
        return Ok(None);
    }
    let annotation =
        pod.pointer("/metadata/annotations").and_then(|all| all.get(annotations::CONTAINER_LAUNCH_PRIORITY));
    if annotation.and_then(Value::as_str) == Some(annotations::CONTAINER_LAUNCH_ORDERED) {
        // In list order; priorities in the environment are ignored.
        return Ok(Some((0..).map(|position: i64| -position).take(containers.len()).collect()));
    }
    let all = containers.iter().map(priority).collect::<Result<Vec<i64>, Refusal>>()?;
    let is_even = all.iter().all(|one| Some(one) == all.first());
    Ok((!is_even).then_some(all))
}

/// Appends the barrier to every container (SM-96). The pod has its final name.
pub fn inject(pod: &mut Value, priorities: &[i64]) {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let config_map = config_map_name(name);
    let containers = pod.pointer_mut("/spec/containers").and_then(Value::as_array_mut).into_iter().flatten();
    for (container, priority) in containers.zip(priorities) {
        let barrier = json!({"name": env::CONTAINER_BARRIER, "valueFrom": {"configMapKeyRef": {
            "name": config_map, "key": key(*priority)}}});
        let Some(container) = container.as_object_mut() else { continue };
        let variables = container.entry("env").or_insert(Value::Null);
        if variables.is_null() {
            *variables = json!([]);
        }
        if let Some(list) = variables.as_array_mut() {
            // A pod that passes here twice, or was copied from one that did, has one barrier all the same.
            list.retain(|one| one.get("name").and_then(Value::as_str) != Some(env::CONTAINER_BARRIER));
            list.push(barrier);
        }
    }
}

/// A name for a pod that has only generateName, so that the ConfigMap's name is known (SM-96).
pub fn generated_name(base: &str, suffix: &str) -> PodName {
    let mut end = base.len().min(GENERATED_BASE_MAX);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    PodName::new(format!("{}{suffix}", base.get(..end).unwrap_or(base)))
}

fn priority(container: &Value) -> Result<i64, Refusal> {
    let mut variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let set = variables.rfind(|one| one.get("name").and_then(Value::as_str) == Some(env::CONTAINER_PRIORITY));
    let value = set.and_then(|one| one.get("value")).and_then(Value::as_str).unwrap_or("0");
    let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
    value.parse().map_err(|_| Refusal::NotANumber { container: name.to_owned(), value: value.to_owned() })
}
