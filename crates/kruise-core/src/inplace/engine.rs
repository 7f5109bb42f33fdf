//! The writes of an update: start, grace, batches (SM-26 … SM-30, SM-36).

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::{conditions, labels};
use serde_json::{Value, json};

use super::batch::split;
use super::change::{Change, ResourceDelta};
use super::complete::{Incomplete, batch_complete, is_complete};
use super::state::{Batch, Grace, InPlaceState, LastStatus, Recorded};
use crate::chain::{Part, Patch, Write};
use crate::ids::RevisionHash;
use crate::lifecycle::{self, Hooks};
use crate::pod::{Edit, Guard, PodView};
use crate::{readiness, time};

/// One in-place update of one pod.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    pub change: Change,
    /// Recorded in the state annotation: the full revision name.
    pub revision: &'a str,
    /// Written to the label `controller-revision-hash`: full name or short hash.
    pub revision_label: &'a str,
    /// Written to `pod-template-hash`, for kinds that have it.
    pub template_hash: Option<&'a str>,
    pub grace_seconds: u32,
    pub resize: Resize,
    pub hooks: Option<&'a Hooks>,
    pub states: States,
}

/// Whether pods of the kind get a lifecycle state while they are updated (SM-41, DS-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum States {
    Written,
    Absent,
}

/// How resources of a running pod are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// Through the endpoint `pods/resize`.
    Endpoint,
    /// In the pod itself, on API servers before 1.32.
    InPod,
}

/// What a look at a pod's record says (SM-30).
#[derive(Debug, Clone, PartialEq)]
pub enum Refresh {
    /// No update, or it is finished.
    Finished,
    /// Nothing to write; with the instant at which time alone changes that.
    Waiting { why: Incomplete, until: Option<Timestamp> },
    /// The next step.
    Step(Vec<Write>),
}

/// API servers from 1.32 on have the endpoint; a version that cannot be read counts as older (SM-36).
pub fn resize_of_server(version: &str) -> Resize {
    let number = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.get(..end).and_then(|digits| digits.parse::<u32>().ok())
    };
    let mut parts = version.trim_start_matches('v').split('.').map(number);
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) if (1, 32) <= (major, minor) => Resize::Endpoint,
        _ => Resize::InPod,
    }
}

/// Whether the pod must leave traffic for this change (SM-28).
pub fn drains(pod: &PodView, change: &Change) -> bool {
    let restarts = || change.resources.iter().any(|(name, delta)| restarts(pod, name, delta));
    pod.has_readiness_gate(conditions::IN_PLACE_UPDATE_READY) && (!change.is_resources_only() || restarts())
}

/// The chain that starts an update: drain, resize, change (SM-27). The order is a safety property.
pub fn start(pod: &PodView, job: &Job<'_>, now: Timestamp) -> Vec<Write> {
    let change = unfinished(pod).then(job.change.clone());
    let mut writes = Vec::new();
    let mut drain = Edit::of(pod);
    if drains(pod, &change) {
        readiness::start_update(&mut drain, now);
        writes.extend(drain.write(Guard::Version));
    }
    let mut edit = Edit::of(pod);
    edit.label(labels::REVISION, job.revision_label);
    if let Some(hash) = job.template_hash {
        edit.label(labels::POD_TEMPLATE_HASH, hash);
    }
    if job.states == States::Written {
        lifecycle::enter(&mut edit, lifecycle::LifecycleState::Updating, job.hooks, now);
    }
    let mut state = InPlaceState {
        revision: job.revision.to_owned(),
        update_timestamp: time::seconds(now),
        last_container_statuses: still_awaited(pod, &change),
        update_images: !change.images.is_empty(),
        update_resources: !change.resources.is_empty(),
        update_env_from_metadata: !change.ref_metadata.is_empty(),
        ..InPlaceState::default()
    };
    if job.grace_seconds > 0 {
        Grace::new(job.revision, &change, i64::from(job.grace_seconds)).write(&mut edit);
        state.write(&mut edit);
    } else {
        Grace::drop(&mut edit);
        writes.extend(apply_batch(&mut edit, &mut state, change, job.resize, now));
    }
    // A request that reaches the server long after it was given up must not restart a pod that is in service again.
    writes.extend(if writes.is_empty() {
        edit.write(Guard::Version)
    } else {
        edit.write_after(&drain, conditions::IN_PLACE_UPDATE_READY)
    });
    writes
}

/// One step of a running update (SM-29, SM-30), on exactly the version that was looked at.
pub fn refresh(pod: &PodView, resize: Resize, now: Timestamp) -> Refresh {
    let state = InPlaceState::of(pod);
    match Grace::of(pod) {
        Recorded::Absent => {}
        Recorded::Malformed => return drop_grace(pod),
        Recorded::Present(grace) => return refresh_grace(pod, &grace, state.present(), resize, now),
    }
    let Recorded::Present(mut state) = state else {
        return match is_complete(pod) {
            Ok(()) => Refresh::Finished,
            Err(why) => Refresh::Waiting { why, until: None },
        };
    };
    if let Err(why) = batch_complete(pod, &state) {
        return Refresh::Waiting { why, until: None };
    }
    if !state.has_next() {
        return Refresh::Finished;
    }
    let required = state.pre_check_before_next.clone().unwrap_or_default().containers_required_ready;
    if !required.iter().all(|name| pod.status_of(name).is_some_and(|one| one.is_ready)) {
        return Refresh::Waiting { why: Incomplete::NextBatch, until: None };
    }
    let next = state.next();
    step(pod, &mut state, next, resize, now)
}

fn refresh_grace(
    pod: &PodView,
    grace: &Grace,
    state: Option<InPlaceState>,
    resize: Resize,
    now: Timestamp,
) -> Refresh {
    // Without its record, or at another revision by now, the stored change is dropped and the update starts again.
    let is_current = pod.revision() == Some(RevisionHash::last_segment(&grace.revision));
    let Some(mut state) = state.filter(|_| is_current) else {
        return drop_grace(pod);
    };
    let started = time::read(&state.update_timestamp).unwrap_or(Timestamp::MIN);
    let until = time::after(started, grace.grace_seconds);
    if now < until {
        return Refresh::Waiting { why: Incomplete::Grace, until: Some(until) };
    }
    step(pod, &mut state, grace.change(), resize, now)
}

fn step(pod: &PodView, state: &mut InPlaceState, change: Change, resize: Resize, now: Timestamp) -> Refresh {
    let mut edit = Edit::of(pod);
    Grace::drop(&mut edit);
    let mut writes = apply_batch(&mut edit, state, change, resize, now);
    // A resize moves the version, so what follows it can only be bound to the identity (M6).
    let guard = if writes.is_empty() { Guard::Version } else { Guard::Identity };
    writes.extend(edit.write(guard));
    Refresh::Step(writes)
}

fn drop_grace(pod: &PodView) -> Refresh {
    let mut edit = Edit::of(pod);
    Grace::drop(&mut edit);
    Refresh::Step(edit.write(Guard::Version).into_iter().collect())
}

/// Applies what goes now and records the rest (SM-26). Returns the writes that must come before the pod's own.
fn apply_batch(
    edit: &mut Edit<'_>,
    state: &mut InPlaceState,
    change: Change,
    resize: Resize,
    now: Timestamp,
) -> Vec<Write> {
    let pod = edit.pod();
    let (batch, rest) = split(change, pod);
    batch.metadata.apply(edit);
    for (name, image) in &batch.images {
        let image_id = pod.status_of(name).map(|one| one.image_id.to_string()).unwrap_or_default();
        // The newest id before this change, also if an earlier change of the same update recorded one (M14).
        state.last_container_statuses.get_or_insert_default().insert(name.clone(), LastStatus { image_id });
        edit.image(name, image);
    }
    for metadata in batch.ref_metadata.values() {
        metadata.labels.iter().for_each(|(key, value)| edit.label(key, value));
        metadata.annotations.iter().for_each(|(key, value)| edit.annotation(key, value));
    }
    let resized = change_resources(edit, &batch.resources, resize);
    let containers: Vec<String> = batch.containers().into_iter().map(str::to_owned).collect();
    state
        .container_batches_record
        .push(Batch { timestamp: time::seconds(now), containers: containers.clone() });
    state.set_next(rest, containers);
    state.write(edit);
    resized.into_iter().collect()
}

/// Only quantities that exist and differ are written (SM-36, SM-37).
fn change_resources(
    edit: &mut Edit<'_>,
    deltas: &BTreeMap<String, ResourceDelta>,
    resize: Resize,
) -> Option<Write> {
    let pod = edit.pod();
    let mut containers = Vec::new();
    for (name, delta) in deltas {
        let Some(container) = pod.container(name) else {
            continue;
        };
        let sides = [
            ("limits", &delta.limits, &container.resources.limits),
            ("requests", &delta.requests, &container.resources.requests),
        ];
        let mut resources = serde_json::Map::new();
        for (side, wanted, there) in sides {
            let differs = |resource: &str, text: &str| {
                let quantity = crate::cluster::quantity::Quantity::read(text).ok();
                there.get(resource).is_some_and(|now| quantity.is_some_and(|quantity| *now != quantity))
            };
            for (resource, text) in wanted.iter().filter(|(resource, text)| differs(resource, text)) {
                match resize {
                    Resize::InPod => edit.quantity(name, &format!("{side}/{resource}"), text),
                    Resize::Endpoint => {
                        resources.entry(side).or_insert_with(|| json!({}))[resource] =
                            Value::from(text.as_str());
                    }
                }
            }
        }
        if !resources.is_empty() {
            containers.push(json!({"name": name, "resources": resources}));
        }
    }
    let body = json!({"metadata": {"uid": pod.uid.as_str()}, "spec": {"containers": containers}});
    (!containers.is_empty()).then(|| Write::patch(pod.object(), Part::Resize, Patch::Strategic(body)))
}

/// What an earlier update of this pod has stored but not yet applied: it goes along with the new one (M13).
fn unfinished(pod: &PodView) -> Change {
    let waiting = Grace::of(pod).present().map(|grace| grace.change()).unwrap_or_default();
    let next = InPlaceState::of(pod).present().map(|state| state.next()).unwrap_or_default();
    waiting.then(next)
}

/// Containers whose earlier image change has not arrived yet are still awaited, unless they change again.
fn still_awaited(pod: &PodView, change: &Change) -> Option<BTreeMap<String, LastStatus>> {
    let state = InPlaceState::of(pod).present()?;
    batch_complete(pod, &state).err()?;
    let mut last = state.last_container_statuses?;
    last.retain(|name, _| !change.images.contains_key(name));
    (!last.is_empty()).then_some(last)
}

fn restarts(pod: &PodView, container: &str, delta: &ResourceDelta) -> bool {
    let policy = pod.container(container).map(|one| one.restarts_on_resize.as_slice()).unwrap_or_default();
    let mut changed = delta.limits.keys().chain(delta.requests.keys());
    changed.any(|resource| policy.iter().any(|one| one.as_ref() == resource))
}
