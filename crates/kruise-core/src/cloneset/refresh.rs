//! Pods that move by themselves: running in-place updates, readiness conditions, lifecycle states (CS-70, SM-30, SM-44).

use kruise_api::{annotations, conditions, labels};

use super::numbers::Side;
use super::plan::Cx;
use super::view::is_pre_deleting;
use crate::chain::{Chain, Purpose, Write};
use crate::ids::RevisionHash;
use crate::inplace::{self, Refresh};
use crate::lifecycle::{self, AtTarget, Progress, State};
use crate::plan::Plan;
use crate::pod::{Condition, Edit, Guard, PodView, Status};
use crate::readiness;
use crate::reason::{HookPoint, Reason};
use crate::time;

pub fn refresh(cx: &Cx<'_>, plan: &mut Plan) {
    for pod in cx.pods() {
        if plan.acts_on(&pod.name) {
            continue;
        }
        if is_at_rest(pod) {
            rest(cx, pod, plan);
            continue;
        }
        match inplace::refresh(pod, cx.view.resize, cx.now) {
            Refresh::Step(writes) => plan.act(Chain::pod(Purpose::Refresh, &pod.name, writes)),
            Refresh::Waiting { why, until } => {
                if let Some(at) = until {
                    plan.revisit(at);
                }
                plan.hold(&pod.name, Reason::Updating { why, until });
            }
            Refresh::Finished => finished(cx, pod, plan),
        }
        rest(cx, pod, plan);
    }
}

/// Nothing can be under way: its state is Normal, both gates are open, no change waits. Spares reading the records of all pods
/// in every plan.
fn is_at_rest(pod: &PodView) -> bool {
    let is_open = |kind: &str| {
        let is_true =
            |one: &Condition| one.status == Status::True && one.reason().is_none() && one.message().is_none();
        !pod.has_readiness_gate(kind) || pod.condition(kind).is_some_and(is_true)
    };
    State::of(pod) == State::Normal
        && is_open(conditions::IN_PLACE_UPDATE_READY)
        && pod.condition(conditions::KRUISE_POD_READY).is_some()
            == pod.has_readiness_gate(conditions::KRUISE_POD_READY)
        && pod.labels.has(labels::POD_TEMPLATE_HASH)
        && !pod.annotations.has(annotations::INPLACE_UPDATE_GRACE)
        && !pod.annotations.has(annotations::INPLACE_UPDATE_GRACE_LEGACY)
}

/// No update is running: gates, state and the label of old pods (CS-14) in one write.
fn finished(cx: &Cx<'_>, pod: &PodView, plan: &mut Plan) {
    if pod.node.is_none() {
        return; // One write when it has a node, not two.
    }
    let mut edit = Edit::of(pod);
    if !is_pre_deleting(pod) {
        readiness::first_ready(&mut edit, cx.now);
    }
    readiness::finish_update(&mut edit, cx.now);
    let at_target = if cx.is_new(pod, Side::Update) { AtTarget::Yes } else { AtTarget::No };
    if let Some(state) = lifecycle::next(pod, cx.spec.hooks.as_ref(), Progress::Complete, at_target) {
        lifecycle::enter(&mut edit, state, cx.spec.hooks.as_ref(), cx.now);
    }
    if let (None, Some(revision)) =
        (pod.labels.get(labels::POD_TEMPLATE_HASH), pod.labels.get(labels::REVISION))
    {
        edit.label(labels::POD_TEMPLATE_HASH, RevisionHash::last_segment(revision).as_str());
    }
    let writes: Vec<Write> = edit.write(guard(pod)).into_iter().collect();
    plan.act(Chain::pod(Purpose::Refresh, &pod.name, writes));
}

/// An update is declared finished on exactly the version that was looked at (SM-30). A pod that never had one has nothing
/// to be wrong about, and its kubelet writes often in its first seconds.
fn guard(pod: &PodView) -> Guard {
    match (State::of(pod), pod.condition(conditions::IN_PLACE_UPDATE_READY)) {
        (State::PreparingNormal, None) => Guard::Identity,
        _ => Guard::Version,
    }
}

/// Why a pod that nothing was done to is where it is.
fn rest(cx: &Cx<'_>, pod: &PodView, plan: &mut Plan) {
    let spec = cx.spec;
    let reason = match State::of(pod) {
        State::PreparingNormal if pod.node.is_none() => Reason::WaitingForNode,
        State::PreparingNormal => Reason::HookHeld { hook: HookPoint::PreNormal },
        State::PreparingUpdate | State::Updated => Reason::HookHeld { hook: HookPoint::InPlaceUpdate },
        State::PreparingDelete => Reason::HookHeld { hook: HookPoint::PreDelete },
        State::Foreign => Reason::ForeignState,
        State::Normal | State::Updating => match pod.update_ready_at(spec.min_ready_seconds) {
            None => Reason::NotReady { since: pod.condition("Ready").and_then(|one| one.since) },
            Some(_) if spec.is_available(pod, cx.now) => Reason::Done,
            Some(until) => Reason::MinReadySeconds { until },
        },
    };
    if let Some(at) = pod.update_ready_at(spec.min_ready_seconds)
        && cx.now <= at
    {
        // The exact instant (B11): strictly after it the pod is available (CS-20).
        plan.revisit(time::just_after(at));
    }
    plan.hold(&pod.name, reason);
}
