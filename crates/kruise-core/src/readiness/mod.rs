//! Readiness gates and not-ready keys: what the status patch must contain. Specification: SM-50 … SM-52.
//!
//! Deviation from upstream: M12 (a missing KruisePodReady becomes False with a time, never an empty status).
//! Never: Ready set to True (only the kubelet does that).

use jiff::Timestamp;
use kruise_api::{
    conditions,
    kubernetes::{CONTAINERS_READY, status},
    reasons,
};
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, Purpose};
use crate::plan::Plan;
use crate::pod::{Condition, Edit, Guard, PodView, Status};

/// One holder of a pod's readiness; the pod is ready again when the last one lets go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    pub user_agent: String,
    pub key: String,
}

impl Key {
    /// Held while the preDelete hook keeps the pod (SM-45).
    pub fn pre_delete() -> Self {
        Self::lifecycle(conditions::NOT_READY_PRE_DELETE_HOOK)
    }

    /// Held while the inPlaceUpdate hook keeps the pod (SM-45).
    pub fn pre_update() -> Self {
        Self::lifecycle(conditions::NOT_READY_PRE_UPDATE_HOOK)
    }

    fn lifecycle(key: &str) -> Self {
        Self { user_agent: conditions::NOT_READY_LIFECYCLE.to_owned(), key: key.to_owned() }
    }
}

/// Gives a new pod its first KruisePodReady=True (SM-50); a condition that exists is somebody's decision.
pub fn first_ready(edit: &mut Edit<'_>, now: Timestamp) {
    let kind = conditions::KRUISE_POD_READY;
    if edit.pod().has_readiness_gate(kind) && edit.current(kind).is_none() {
        edit.condition(kind, Status::True, (None, None), now);
    }
}

/// Whether the pod has the readiness gate and nobody has set its condition yet.
pub fn is_unopened(pod: &PodView) -> bool {
    let kind = conditions::KRUISE_POD_READY;
    pod.has_readiness_gate(kind) && pod.condition(kind).is_none()
}

/// What the pod readiness controller does for one pod (PW-3): the first True and nothing else, and never for a pod that is
/// going.
pub fn plan(pod: &PodView, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if pod.deleted.is_none() {
        let mut edit = Edit::of(pod);
        first_ready(&mut edit, now);
        let writes = edit.write(Guard::Identity).into_iter().collect();
        plan.act(Chain::about(Purpose::Refresh, pod, writes));
    }
    plan
}

/// Adds a not-ready key; nothing without the gate or if it is held already (SM-52).
pub fn hold(edit: &mut Edit<'_>, key: Key, now: Timestamp) {
    let mut keys = held(edit);
    if !edit.pod().has_readiness_gate(conditions::KRUISE_POD_READY) || keys.contains(&key) {
        return;
    }
    keys.push(key);
    keys.sort();
    edit.condition(conditions::KRUISE_POD_READY, Status::False, (None, Some(&message(&keys))), now);
    lower_ready(edit, now);
}

/// Removes a not-ready key; the condition becomes True when none is left (SM-52).
pub fn release(edit: &mut Edit<'_>, key: &Key, now: Timestamp) {
    let mut keys = held(edit);
    if !keys.contains(key) {
        return;
    }
    keys.retain(|one| one != key);
    let status = if keys.is_empty() { Status::True } else { Status::False };
    edit.condition(conditions::KRUISE_POD_READY, status, (None, Some(&message(&keys))), now);
}

/// Takes the pod out of traffic before its containers change (SM-27).
pub fn start_update(edit: &mut Edit<'_>, now: Timestamp) {
    let why = (Some(reasons::condition::START_IN_PLACE_UPDATE), None);
    edit.condition(conditions::IN_PLACE_UPDATE_READY, Status::False, why, now);
    lower_ready(edit, now);
}

/// Lets the pod back into traffic (SM-30); nothing without the gate.
pub fn finish_update(edit: &mut Edit<'_>, now: Timestamp) {
    if edit.pod().has_readiness_gate(conditions::IN_PLACE_UPDATE_READY) {
        edit.condition(conditions::IN_PLACE_UPDATE_READY, Status::True, (None, None), now);
    }
}

/// Sets Ready=False at once, without waiting for the kubelet, if a gate is not True (SM-51).
fn lower_ready(edit: &mut Edit<'_>, now: Timestamp) {
    let containers_ready = edit.pod().condition_is(CONTAINERS_READY, Status::True);
    if edit.current(conditions::POD_READY).is_none() || !containers_ready {
        return;
    }
    let unmet: Vec<String> = edit.pod().readiness_gates.iter().filter_map(|gate| unmet(edit, gate)).collect();
    if !unmet.is_empty() {
        let why = (Some(reasons::condition::READINESS_GATES_NOT_READY), Some(unmet.join(", ")));
        edit.condition(conditions::POD_READY, Status::False, (why.0, why.1.as_deref()), now);
    }
}

/// The kubelet's words for a readiness gate that is not True.
fn unmet(edit: &Edit<'_>, gate: &str) -> Option<String> {
    let found = match edit.current(gate).map(|one| one.status) {
        Some(Status::True) => return None,
        Some(Status::False) => status::FALSE,
        Some(Status::Unknown) => status::UNKNOWN,
        None => {
            return Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist."));
        }
    };
    Some(format!("the status of pod readiness gate \"{gate}\" is not \"True\", but {found}"))
}

/// Keys in the condition's message; a message of another form holds none.
fn held(edit: &Edit<'_>) -> Vec<Key> {
    let condition = edit.current(conditions::KRUISE_POD_READY);
    let message = condition.and_then(Condition::message).unwrap_or_default();
    serde_json::from_str(message).unwrap_or_default()
}

fn message(keys: &[Key]) -> String {
    serde_json::to_string(keys).unwrap_or_else(|_| "[]".to_owned())
}

#[cfg(test)]
mod tests;
