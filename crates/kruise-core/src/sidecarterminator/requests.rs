//! The ContainerRecreateRequests that stop sidecars, one after the other.

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::names::SIDECAR_TERMINATION_PREFIX;
use kruise_api::resource::PODS;
use serde_json::{Value, json};

use crate::chain::Write;
use crate::containerrecreaterequest::ContainerRecreateRequest;
use crate::lookup::{Lookup, Slim};
use crate::object::{Key, ObjectRef};
use crate::pod::{Container, PodView};
use crate::time;

/// So many requests for one pod; then it is ended without its sidecars' consent (T1).
pub const MOST: usize = 3;
/// From the end of a request to the next one, doubled each time: the pod's status has to arrive first.
const BACK_OFF_SECONDS: i64 = 10;
/// T7: kept for people to look at, and longer than the requests of one pod need.
const TTL_SECONDS: i64 = 3_600;

/// Those of a pod that are there, in the order in which they were made.
pub fn requests(pod: &PodView, lookup: &Lookup<'_>) -> Vec<Arc<ContainerRecreateRequest>> {
    let get = |number| lookup.get(&Key::new(Arc::clone(&pod.namespace), name(pod, number).as_str()));
    (0..MOST).map_while(get).collect()
}

/// What is to be done about sidecars that the agent stops.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask the agent; the number of the request.
    Ask(usize),
    /// The agent is at work.
    Wait,
    /// Asked for again at this time.
    Until(Timestamp),
    /// Asking does not help.
    GiveUp,
}

pub fn next(requests: &[Arc<ContainerRecreateRequest>], now: Timestamp) -> Next {
    let Some(last) = requests.last() else { return Next::Ask(0) };
    if !last.is_completed() {
        return Next::Wait; // ST-13
    }
    let ended = last.head.status.get("completionTime").and_then(Value::as_str).and_then(time::read);
    let doubled = u32::try_from(requests.len()).unwrap_or(u32::MAX).saturating_sub(1).min(8);
    match time::after(ended.unwrap_or(now), BACK_OFF_SECONDS << doubled) {
        later if now < later => Next::Until(later),
        _ if requests.len() < MOST => Next::Ask(requests.len()),
        _ => Next::GiveUp,
    }
}

/// ST-14, T7, T11.
pub fn create(pod: &PodView, containers: &[&Container], number: usize) -> Write {
    let resource = ContainerRecreateRequest::RESOURCE;
    let name = name(pod, number);
    let named: Vec<Value> = sorted(containers).into_iter().map(|one| json!({"name": one})).collect();
    let body = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind(),
        "metadata": {
            "name": name, "namespace": pod.namespace,
            "ownerReferences": [{
                "apiVersion": PODS.api_version(), "kind": PODS.kind(), "name": pod.name.as_str(), "uid": pod.uid.as_str(),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "podName": pod.name.as_str(), "containers": named,
            "strategy": {"forceRecreate": true, "failurePolicy": "Ignore"},
            "ttlSecondsAfterFinished": TTL_SECONDS,
        },
    });
    Write::create(ObjectRef::new(resource, Arc::clone(&pod.namespace), name), &body)
}

/// T5: the same text for the same sidecars.
pub fn sorted<'a>(containers: &[&'a Container]) -> Vec<&'a str> {
    let mut names: Vec<&str> = containers.iter().map(|one| &*one.name).collect();
    names.sort_unstable();
    names
}

/// The first has the name that every release gives it (ST-18, T9).
fn name(pod: &PodView, number: usize) -> String {
    let first = format!("{SIDECAR_TERMINATION_PREFIX}{}", pod.uid.as_str());
    if number == 0 { first } else { format!("{first}-{number}") }
}
