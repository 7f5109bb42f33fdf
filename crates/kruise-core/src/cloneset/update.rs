//! Bringing pods to another revision (CS-71 … CS-79).

use super::numbers::{Direction, Numbers, Side};
use super::plan::Cx;
use super::scale;
use super::view::{is_pre_deleting, is_ready};
use crate::budget::UpdateBudget;
use crate::chain::Purpose;
use crate::gates::Gate;
use crate::inplace::Grace;
use crate::lifecycle::LifecycleState;
use crate::order::{by_default, by_priority, scatter};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::reason::{HookPoint, Reason};
use crate::revision::Revision;
use crate::rollout::{
    Candidate, ClaimChange, Mode, Mover, Policy, RevisionLabel, Service, Settings, TemplateHash, Turn, hold,
};

pub fn update(cx: &Cx<'_>, plan: &mut Plan) {
    let rolling = &cx.spec.rolling;
    let standstill = match (cx.spec.mode, rolling.is_paused, plan.scales()) {
        (_, _, true) => Some(Reason::ScalingFirst), // CS-3
        (Mode::OnDelete, _, _) => Some(Reason::OnDelete),
        (Mode::RollingUpdate, true, _) => Some(Reason::Paused),
        (Mode::RollingUpdate, false, _) => None,
    };
    let numbers = cx.numbers(&cx.counts(Side::Update));
    let (target, candidates) = candidates(cx, numbers.update.direction);
    if let Some(reason) = standstill {
        hold(candidates, &reason, plan);
        return;
    }
    let mut budget = budget(cx, target, numbers.update.limit);
    let mut mover = Mover::to(target, cx.view.workload(), settings(cx));
    let mut left = numbers.update.count;
    let mut reach = reach(cx, &candidates, &numbers);
    for pod in candidates {
        if left == 0 || reach == 0 {
            mover.call_off(pod, plan);
            hold([pod], &Reason::Partition { keep: numbers.partition }, plan);
            continue;
        }
        if cx.spec.is_to_delete(pod) {
            (left, reach) = (left - 1, reach - 1); // It goes anyway and comes back at the right revision.
            continue;
        }
        match start(cx, pod, &mut mover, &mut budget, plan) {
            Ok(()) => (left, reach) = (left - 1, reach - 1),
            // A pod that may not be disturbed does not keep others from being repaired for free (CS-75, B10), but one that only
            // waits for the limit keeps its place before those that the partition spares.
            Err(reason) => {
                let waits =
                    matches!(reason, Reason::MaxUnavailable { .. } | Reason::TargetUnavailable { .. });
                reach -= usize::from(waits);
                plan.hold(pod, reason);
            }
        }
    }
}

/// How many of the ordered pods move in the end; the others keep their revision (CS-75).
fn reach(cx: &Cx<'_>, candidates: &[&PodView], numbers: &Numbers) -> usize {
    let kept = match numbers.update.direction {
        Direction::Forward => numbers.partition,
        Direction::Back => cx.spec.replicas.saturating_sub(numbers.partition),
    };
    candidates.len().saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX))
}

/// Target revision and the pods that are not at it, in order (CS-73, CS-74).
fn candidates<'a>(cx: &Cx<'a>, direction: Direction) -> (&'a Revision, Vec<&'a PodView>) {
    let rolling = &cx.spec.rolling;
    let target = match direction {
        Direction::Forward => cx.revisions.update,
        Direction::Back => cx.revisions.current,
    };
    let moves = |pod: &&PodView| match direction {
        Direction::Forward => !cx.is_new(pod, Side::Update),
        Direction::Back => cx.is_new(pod, Side::Update),
    };
    let mut order: Vec<&PodView> = cx
        .pods()
        .filter(moves)
        .filter(|pod| !is_pre_deleting(pod) && !is_in_grace_for(pod, target))
        .collect();
    by_default(&mut order);
    if let Some(priority) = &rolling.priority {
        by_priority(&mut order, priority);
    }
    let all: Vec<&PodView> = cx.pods().collect();
    let mut spread = scatter(order, &all, &rolling.scatter);
    // A pod that a budget protects must not take the turn of one that may go (B10).
    spread.sort_by_key(|pod| {
        (LifecycleState::of(pod) != LifecycleState::PreparingUpdate, cx.view.denied.contains(&pod.name))
    });
    (target, spread)
}

/// A stored change for the same target is about to be applied; one for another target is taken along (acceptance 17).
fn is_in_grace_for(pod: &PodView, target: &Revision) -> bool {
    let grace = Grace::of(pod).present();
    LifecycleState::of(pod) != LifecycleState::Updated
        && grace.is_some_and(|grace| grace.revision == target.name.as_str())
}

fn budget(cx: &Cx<'_>, target: &Revision, limit: u32) -> UpdateBudget {
    let hash = target.name.hash();
    let is_down = |pod: &PodView| !cx.spec.is_available(pod, cx.now);
    let count = |pods: usize| u32::try_from(pods).unwrap_or(u32::MAX);
    UpdateBudget {
        limit,
        down: count(cx.pods().filter(|pod| is_down(pod)).count()),
        target_down: count(cx.pods().filter(|pod| is_down(pod) && pod.is_at(&hash)).count()),
    }
}

fn settings<'a>(cx: &Cx<'a>) -> Settings<'a> {
    let (gates, policy) = (&cx.view.gates, cx.spec.rolling.policy);
    let compares_claims = gates.on(Gate::RecreatePodWhenChangeVctInCloneSet) && policy != Policy::InPlaceOnly;
    let is_short = gates.on(Gate::CloneSetShortHash);
    Settings {
        revision_label: if is_short { RevisionLabel::Hash } else { RevisionLabel::FullName },
        template_hash: TemplateHash::Written,
        claim_change: if compares_claims { ClaimChange::Recreates } else { ClaimChange::Ignored },
        ..Settings::of(cx.spec, policy, cx.spec.rolling.grace_seconds, cx.now)
    }
}

/// The turn of one pod. One that its hook holds keeps its place among the first ones.
fn start(
    cx: &Cx<'_>,
    pod: &PodView,
    mover: &mut Mover<'_>,
    budget: &mut UpdateBudget,
    plan: &mut Plan,
) -> Result<(), Reason> {
    let way = mover.way(pod)?;
    let service =
        Service { is_available: cx.spec.is_available(pod, cx.now), is_ready: is_ready(pod, cx.now) };
    let turn = mover.start(Candidate { pod, way, service }, budget, plan, |permit, plan| {
        scale::delete(cx, permit, Purpose::Recreate, plan);
    })?;
    if turn == Turn::HeldByHook {
        plan.hold(pod, Reason::HookHeld { hook: HookPoint::InPlaceUpdate });
    }
    Ok(())
}
