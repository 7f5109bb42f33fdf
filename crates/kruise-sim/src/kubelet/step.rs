//! The next step for one pod: a status patch, its removal, or waiting.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::conditions;
use super::containers::{self, Outcome};
use super::knobs::{Attention, Knobs, PodTraits, Stop};
use super::patch;
use super::pod::{Pod, Status};

/// What the kubelet does next. After it, ask again.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing until the pod changes or, if given, this time comes.
    Wait(Option<Timestamp>),
    /// A JSON patch of `pods/status`. It tests uid and the conditions it touches, so it can only hit what was seen.
    Patch(Vec<Value>),
    /// Delete with grace period 0 and the pod's uid as precondition: the containers are gone.
    Remove,
}

/// Decides from the pod as last seen. `now` is cut to seconds, as the API does.
/// So are the times to come back, upwards: before the next whole second nothing would be different.
pub fn next(pod: &Pod, knobs: &Knobs, now: Timestamp) -> Step {
    match decide(pod, knobs, whole_seconds(now)) {
        Step::Wait(Some(at)) => Step::Wait(Some(next_whole_second(at))),
        step @ (Step::Wait(None) | Step::Patch(_) | Step::Remove) => step,
    }
}

fn decide(pod: &Pod, knobs: &Knobs, now: Timestamp) -> Step {
    if knobs.is_gone(&pod.spec.node_name) {
        return Step::Wait(None);
    }
    let traits = knobs.of_pod(pod);
    if traits.attention == Attention::Withheld {
        return Step::Wait(None);
    }
    if pod.is_terminating() {
        return stop(pod, &traits, now);
    }
    if pod.is_over() {
        return Step::Wait(None);
    }
    let is_new = pod.status.start_time.is_none();
    let starts = starts_at(pod, &traits);
    if is_new && starts.is_some_and(|at| now < at) {
        return Step::Wait(starts);
    }
    let deadline = pod.deadline();
    let (status, revisit) = match &traits.rejects {
        Some(reason) if is_new => (conditions::rejected(pod, reason, now), None),
        Some(_) | None if deadline.is_some_and(|at| at <= now) => (conditions::timed_out(pod, now), None),
        Some(_) | None => run(pod, knobs, now),
    };
    let revisit = [revisit, deadline].into_iter().flatten().min();
    let patch = patch::between(pod, &status);
    if patch.is_empty() { Step::Wait(revisit) } else { Step::Patch(patch) }
}

fn stop(pod: &Pod, traits: &PodTraits, now: Timestamp) -> Step {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0);
    if grace == 0
        && pod.status.start_time.is_some()
        && pod.metadata.deletion_timestamp.is_some_and(|at| at < now)
    {
        return Step::Wait(None); // Removed before; a finalizer of somebody holds the object.
    }
    let delay = match traits.stop {
        Stop::Never => return Step::Wait(None),
        Stop::After(delay) => i64::try_from(delay.as_secs()).unwrap_or(i64::MAX).min(grace),
        Stop::AtOnce => 0,
    };
    // The API server sets deletionTimestamp to the end of the grace period.
    let early = SignedDuration::from_secs(grace - delay);
    let gone_at = pod.metadata.deletion_timestamp.and_then(|at| at.checked_sub(early).ok());
    match gone_at {
        Some(at) if delay > 0 && now < at => Step::Wait(Some(at)),
        Some(_) | None => Step::Remove,
    }
}

/// Binding time plus the wanted delay.
fn starts_at(pod: &Pod, traits: &PodTraits) -> Option<Timestamp> {
    let bound = pod
        .condition("PodScheduled")
        .and_then(|c| c.last_transition_time)
        .or(pod.metadata.creation_timestamp)?;
    bound.checked_add(traits.starts_after).ok()
}

fn run(pod: &Pod, knobs: &Knobs, now: Timestamp) -> (Status, Option<Timestamp>) {
    let Outcome { mut status, revisit, resize_refused } = containers::advance(pod, knobs, now);
    status.start_time = pod.status.start_time.or(Some(now));
    status.observed_generation = pod.metadata.generation;
    status.pod_ip = pod.status.pod_ip.clone().or_else(|| Some(address(&pod.metadata.uid)));
    status.conditions = conditions::of(pod, &status, resize_refused, now);
    (status, revisit)
}

/// A stable address per pod. Two pods may share one; nothing connects to it.
fn address(uid: &str) -> String {
    let sum = uid.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let [_, a, b, c] = sum.to_be_bytes();
    format!("10.{a}.{b}.{c}")
}

fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn next_whole_second(at: Timestamp) -> Timestamp {
    let whole = whole_seconds(at);
    if whole == at { at } else { whole.checked_add(SignedDuration::from_secs(1)).unwrap_or(at) }
}
