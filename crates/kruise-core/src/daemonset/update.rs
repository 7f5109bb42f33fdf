//! Bringing nodes to the newest template (DS-26 … DS-32, DS-34 … DS-36).

use kruise_api::conditions;
use kruise_api::reasons::event;

use super::places::{Pair, Place, is_pre_deleting};
use super::plan::{Burst, Cx};
use super::remove::{self, Removal};
use super::{reason, surge};
use crate::budget::UpdateBudget;
use crate::chain::Purpose;
use crate::gates::Gate;
use crate::inplace::States;
use crate::plan::Plan;
use crate::pod::PodView;
use crate::reason::Reason;
use crate::rollout::{Candidate, Mode, Mover, RevisionLabel, Service, Settings, Way};

pub fn update(cx: &Cx<'_>, burst: &mut Burst, plan: &mut Plan) {
    let rolling = &cx.spec.rolling;
    let standstill = match (cx.spec.mode, rolling.is_paused) {
        (Mode::OnDelete, _) => Some(Reason::OnDelete),
        (Mode::RollingUpdate, true) => Some(Reason::Paused),
        (Mode::RollingUpdate, false) => None,
    };
    if let Some(reason) = standstill {
        for pod in cx.pods().filter(|pod| pod.deleted.is_none() && !cx.is_updated(pod)) {
            plan.hold(pod, reason.clone());
        }
        return;
    }
    let kept = choose(cx, plan);
    if cx.spec.limits(cx.desired).surge > 0 {
        surge::surge(cx, &kept, burst, plan);
    } else {
        replace(cx, &kept, burst, plan);
    }
}

/// DS-27, DS-29, B15: the nodes that may be at the new revision, in the order in which they get there.
fn choose<'c, 'a>(cx: &'c Cx<'a>, plan: &mut Plan) -> Vec<&'c Place<'a>> {
    let prunes = cx.view.gates.on(Gate::DaemonSetPruneIneligibleNodes);
    let is_candidate = |place: &&Place<'_>| place.verdict.should_run() || (!prunes && !place.pods.is_empty());
    let candidates: Vec<&Place<'a>> = cx.places.downward().into_iter().filter(is_candidate).collect();
    let count = candidates.len();
    let (mut updated, mut updating, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for place in candidates {
        match place.pair(|pod| cx.is_updated(pod)) {
            Pair::Duplicates | Pair::Of { new: Some(_), .. } => updated.push(place),
            Pair::Of { old, .. } if old.is_none_or(is_pre_deleting) => updating.push(place),
            Pair::Of { old, .. } => match &cx.spec.rolling.selector {
                Some(selector) if !selector.matches_map(place.node.labels()) => {
                    hold(old, &reason::not_selected(), plan);
                }
                Some(_) | None => rest.push(place),
            },
        }
    }
    let keep = cx.spec.partition(cx.desired);
    let reach = count.saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let mut order: Vec<&Place<'a>> = updated.into_iter().chain(updating).chain(rest).collect();
    for place in order.split_off(reach.min(order.len())) {
        for pod in place.live().filter(|pod| !cx.is_updated(pod)) {
            plan.hold(pod, Reason::Partition { keep });
        }
    }
    order
}

/// What an old pod is to be done with.
struct Turn<'c, 'a> {
    place: &'c Place<'a>,
    pod: &'a PodView,
    way: Way,
}

/// DS-30: one pod goes before the next comes.
fn replace<'a>(cx: &Cx<'a>, kept: &[&Place<'a>], burst: &mut Burst, plan: &mut Plan) {
    let limit = cx.spec.limits(cx.desired).unavailable;
    let mut mover = Mover::to(cx.revision, cx.view.workload(), settings(cx));
    let (mut broken, mut serving) = (Vec::new(), Vec::new());
    let mut down = 0_u32;
    for place in kept {
        let Pair::Of { new, old } = place.pair(|pod| cx.is_updated(pod)) else {
            down += 1;
            continue;
        };
        let (no_new, no_old) = (new.is_none_or(is_pre_deleting), old.is_none_or(is_pre_deleting));
        match (new, old) {
            _ if no_new == no_old => {
                // A node that gets no pod and has none can never become available.
                down += u32::from(place.verdict.should_run() || place.live().next().is_some());
                hold(old, &reason::duplicate(), plan);
            }
            (Some(new), _) => {
                down += u32::from(!cx.is_available(new)) + u32::from(is_pre_deleting(new));
            }
            (None, Some(pod)) => {
                let Some(turn) = turn(place, pod, &mut mover, plan) else { continue };
                if cx.is_available(pod) { serving.push(turn) } else { broken.push(turn) }
            }
            (None, None) => {}
        }
    }
    let free = if cx.view.is_strict() { 0 } else { broken.len() }; // B3
    let paid = usize::try_from(limit.saturating_sub(down)).unwrap_or(usize::MAX);
    let mut turns: Vec<Turn<'_, '_>> = broken.into_iter().chain(serving).collect();
    let waiting = turns.split_off(free.saturating_add(paid).min(turns.len()));
    let down = down.saturating_add(u32::try_from(turns.len() - free.min(turns.len())).unwrap_or(u32::MAX));
    for turn in turns {
        start(cx, turn, &mover, burst, plan);
    }
    for turn in waiting {
        plan.hold(turn.pod, Reason::MaxUnavailable { down, limit });
    }
}

/// How a pod would be updated; `None` with a reason if it cannot be now.
fn turn<'c, 'a>(
    place: &'c Place<'a>,
    pod: &'a PodView,
    mover: &mut Mover<'_>,
    plan: &mut Plan,
) -> Option<Turn<'c, 'a>> {
    if plan.acts_on(pod) {
        return None;
    }
    let way = match mover.way(pod) {
        // Without the gate it could not leave traffic (DS-32).
        Ok(Way::InPlace(_)) if !pod.has_readiness_gate(conditions::IN_PLACE_UPDATE_READY) => Way::Recreate,
        Ok(way) => way,
        Err(reason) => {
            plan.hold(pod, reason);
            return None;
        }
    };
    let unfit = place.verdict.unfit().filter(|_| way == Way::Recreate);
    if let Some(unfit) = unfit {
        plan.hold(pod, reason::not_remade(unfit)); // B14
        return None;
    }
    Some(Turn { place, pod, way })
}

fn start(cx: &Cx<'_>, turn: Turn<'_, '_>, mover: &Mover<'_>, burst: &mut Burst, plan: &mut Plan) {
    let Turn { place, pod, way } = turn;
    match way {
        Way::Recreate => {
            let message = format!("deleted pod {} on node {} to update it", pod.name, place.node.name());
            let removal = Removal { purpose: Purpose::Recreate, told: (event::SUCCESSFUL_DELETE, message) };
            remove::remove(cx, pod, removal, burst, plan);
        }
        Way::InPlace(_) if !burst.in_place() => plan.hold(pod, reason::burst(burst.limit)),
        Way::InPlace(_) => {
            // Paid for above: the limits of this kind count nodes.
            let mut paid = UpdateBudget { limit: u32::MAX, down: 0, target_down: 0 };
            let service = Service { is_available: false, is_ready: false };
            let candidate = Candidate { pod, way, service };
            if let Err(reason) = mover.start(candidate, &mut paid, plan, |_, _| {}) {
                plan.hold(pod, reason);
            }
        }
    }
}

/// DS-32: no grace period and no lifecycle state.
fn settings<'a>(cx: &Cx<'a>) -> Settings<'a> {
    Settings {
        revision_label: RevisionLabel::Hash,
        states: States::Absent,
        ..Settings::of(cx.spec, cx.spec.rolling.policy, 0, cx.now)
    }
}

fn hold(pod: Option<&PodView>, reason: &Reason, plan: &mut Plan) {
    if let Some(pod) = pod {
        plan.hold(pod, reason.clone());
    }
}
