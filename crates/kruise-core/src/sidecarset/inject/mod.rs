//! The step of pod admission that puts sidecars into new pods (SS-21 … SS-49). One look-up by namespace, selectors that are ready, and
//! nothing for a pod that no set selects.

mod build;
mod merge;
mod select;

use std::sync::Arc;

use kruise_api::kubernetes::phase;
use serde_json::Value;

use super::data::Hashes;
use super::object::SidecarSet;
use super::sidecar::Sidecars;
use crate::admission::pod::{Order, PodStep, Run, SideEffects, When};
use crate::admission::{Denial, Known, Request};
use crate::gates::Gate;
use crate::lookup::Slim;

/// What one set puts into a pod: what it says now, or what its pinned revision recorded.
pub struct Chosen {
    pub set: Arc<SidecarSet>,
    pub sidecars: Arc<Sidecars>,
    pub hashes: Hashes,
    /// Name of its revision; empty right after the set was created (SS-40).
    pub revision: String,
}

pub fn pod_step() -> PodStep {
    PodStep {
        name: "sidecarset",
        order: Order::SidecarSet,
        when: &[When::CREATE],
        side_effects: SideEffects::None,
        concerns: select::concerns,
        adds: select::adds,
        reads: &[SidecarSet::RESOURCE],
        run: Run::Mutate(step),
    }
}

/// SS-19: whatever goes wrong denies the pod.
fn step(pod: &mut Value, request: &Request, known: &Known<'_>) -> Result<(), Denial> {
    if is_over(pod) {
        return Ok(());
    }
    let stated = pod.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    let namespace = if stated.is_empty() { request.namespace.clone() } else { stated.to_owned() };
    let chosen = select::chosen(pod, &namespace, known).map_err(|why| Denial::new(500, why))?;
    if chosen.is_empty() {
        return Ok(());
    }
    let order = if known.gates.on(Gate::EnableSortSidecarContainerByName) {
        merge::Order::ByName
    } else {
        merge::Order::AsGiven
    };
    inject(pod, &chosen, order, known.now).map_err(|why| Denial::new(500, why))
}

/// SS-21.
fn is_over(pod: &Value) -> bool {
    let is_going = pod.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    let phase = pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    is_going || [phase::SUCCEEDED, phase::FAILED].contains(&phase)
}

pub use merge::{Order as SidecarOrder, inject};
pub use select::pinned;
