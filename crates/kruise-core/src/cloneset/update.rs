//! Bringing pods to another revision (CS-71 … CS-79).

use super::numbers::{Direction, Side};
use super::plan::Cx;
use super::scale;
use super::view::{is_pre_deleting, is_ready};
use crate::budget::{Price, UpdateBudget};
use crate::chain::Purpose;
use crate::gates::Gate;
use crate::inplace::Grace;
use crate::lifecycle::State;
use crate::order::{by_default, by_priority, scatter};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::reason::{HookPoint, Reason};
use crate::revision::Revision;
use crate::rollout::{ClaimChange, Kind, Mover, Policy, RevisionLabel, Settings, TemplateHash, Way};

pub fn update(cx: &Cx<'_>, plan: &mut Plan) {
    let rolling = &cx.spec.rolling;
    let standstill = match (cx.spec.kind, rolling.is_paused, plan.scales()) {
        (_, _, true) => Some(Reason::ScalingFirst), // CS-3
        (Kind::OnDelete, _, _) => Some(Reason::OnDelete),
        (Kind::RollingUpdate, true, _) => Some(Reason::Paused),
        (Kind::RollingUpdate, false, _) => None,
    };
    let numbers = cx.numbers(&cx.counts(Side::Update));
    let (target, candidates) = candidates(cx, numbers.update.direction);
    if let Some(reason) = standstill {
        hold(&candidates, &reason, plan);
        return;
    }
    let mut budget = budget(cx, target, numbers.update.limit);
    let mut mover = Mover::to(target, cx.view.workload(), settings(cx));
    let mut left = numbers.update.count;
    for pod in candidates {
        if left == 0 {
            mover.call_off(pod, plan);
            hold(&[pod], &Reason::Partition { keep: numbers.partition }, plan);
            continue;
        }
        if cx.spec.is_to_delete(pod) {
            left -= 1; // It goes anyway and comes back at the right revision.
            continue;
        }
        match start(cx, pod, &mut mover, &mut budget, plan) {
            Ok(()) => left -= 1,
            // A pod that may not be disturbed does not keep others from being repaired for free (CS-75, B10).
            Err(reason) => plan.hold(&pod.name, reason),
        }
    }
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
    spread.sort_by_key(|pod| (State::of(pod) != State::PreparingUpdate, cx.view.denied.contains(&pod.name)));
    (target, spread)
}

/// A stored change for the same target is about to be applied; one for another target is taken along (acceptance 17).
fn is_in_grace_for(pod: &PodView, target: &Revision) -> bool {
    let grace = Grace::of(pod).present();
    State::of(pod) != State::Updated && grace.is_some_and(|grace| grace.revision == target.name.as_str())
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
    let compares_claims = gates.on(Gate::RecreatePodWhenChangeVct) && policy != Policy::InPlaceOnly;
    let is_short = gates.on(Gate::CloneSetShortHash);
    Settings {
        policy,
        hooks: cx.spec.hooks.as_ref(),
        grace_seconds: cx.spec.rolling.grace_seconds,
        revision_label: if is_short { RevisionLabel::Hash } else { RevisionLabel::FullName },
        template_hash: TemplateHash::Written,
        claim_change: if compares_claims { ClaimChange::Recreates } else { ClaimChange::Ignored },
        now: cx.now,
    }
}

/// Pays for one pod and adds what is to be done with it.
fn start(
    cx: &Cx<'_>,
    pod: &PodView,
    mover: &mut Mover<'_>,
    budget: &mut UpdateBudget,
    plan: &mut Plan,
) -> Result<(), Reason> {
    let way = mover.way(pod)?;
    if mover.is_waiting_for_hook(pod, &way) {
        // Its turn was paid for when it entered that state; it keeps its place among the first ones. Where even a free
        // turn is refused, the hook is still what the user has to look at.
        let _still_held = budget.spend(pod, Price::Free);
        plan.hold(&pod.name, Reason::HookHeld { hook: HookPoint::InPlaceUpdate });
        return Ok(());
    }
    // A pod that is ready but not long enough still serves: it may be restarted for free, but not deleted (CS-44).
    let serves = match way {
        Way::InPlace(_) => cx.spec.is_available(pod, cx.now),
        Way::Recreate => is_ready(pod, cx.now),
    };
    let price = if serves { Price::One } else { Price::Free };
    let permit = budget.spend(pod, price)?;
    match way {
        Way::Recreate => scale::delete(cx, &permit, Purpose::Recreate, plan),
        Way::InPlace(change) => mover.in_place(&permit, &change, plan),
    }
    mover.ask_budget(pod, plan);
    Ok(())
}

fn hold(pods: &[&PodView], reason: &Reason, plan: &mut Plan) {
    // Pods whose update is under way say themselves what they wait for.
    for pod in pods.iter().filter(|pod| State::of(pod) != State::Updating) {
        plan.hold(&pod.name, reason.clone());
    }
}
