//! Bringing pods to the update revision (AS-43 … AS-57), and replacing those that somebody marked (AS-79).

use std::collections::BTreeSet;

use super::claims::{self, Fit};
use super::ordinals::Ordinal;
use super::plan::Cx;
use super::scale::{self, NewRevisions, Pass};
use super::spec::Order;
use super::view::{is_failed, is_ready};
use crate::budget::{Price, UpdateBudget};
use crate::chain::{Event, EventKind, Purpose};
use crate::gates::Gate;
use crate::ids::PodName;
use crate::lifecycle::{LifecycleState, is_normal};
use crate::order::by_priority;
use crate::plan::Plan;
use crate::pod::PodView;
use crate::reason::{HookPoint, Reason};
use crate::rollout::{Candidate, Mode, Mover, Policy, Service, Settings, Turn, Way, hold};

/// The update phase. While the replica pass stands still, only pods of a superseded revision that are not ready are touched: they
/// may be what it stands still for, and a broken revision must never block the one that repairs it.
pub fn update(cx: &Cx<'_>, pass: &Pass, plan: &mut Plan) {
    let standstill = match (cx.spec.mode, cx.spec.rolling.is_paused) {
        (Mode::OnDelete, _) => Some(Reason::OnDelete),
        (Mode::RollingUpdate, true) => Some(Reason::Paused),
        (Mode::RollingUpdate, false) => None,
    };
    if let Some(reason) = standstill {
        let waiting = |pod: &PodView| !cx.is_updated(pod) || pod.is_marked_for_deletion();
        hold(cx.replicas().map(|(_, pod)| pod).filter(|pod| waiting(pod)), &reason, plan);
        return;
    }
    let chosen = cx.in_order();
    let mut budget = budget(cx, plan);
    requested(cx, pass, &mut budget, plan);
    let settings = Settings::of(cx.spec, cx.spec.rolling.policy, cx.spec.rolling.grace_seconds, cx.now);
    let mut mover = Mover::to(cx.revisions.update, cx.view.workload(), settings);
    for (ordinal, pod) in &chosen {
        // A failed pod is replaced in its turn (AS-33) and comes back at the right revision.
        let is_leaving = pod.deleted.is_some()
            || is_failed(pod)
            || LifecycleState::of(pod) == LifecycleState::PreparingDelete;
        if is_leaving || plan.acts_on(pod) {
            continue;
        }
        let turn = match pass {
            Pass::StoppedAt(first) if is_ready(pod) && is_normal(pod) => {
                if cx.is_updated(pod) {
                    continue;
                }
                Err(Reason::WaitsFor { pod: first.clone() })
            }
            Pass::Done | Pass::StoppedAt(_) => start(cx, (*ordinal, pod), &mut mover, &mut budget, plan),
        };
        if let Err(reason) = turn {
            plan.hold(pod, reason);
        }
    }
    let names: BTreeSet<&PodName> = chosen.iter().map(|(_, pod)| &pod.name).collect();
    let keep = cx.spec.rolling.partition;
    for (_, pod) in cx.replicas().filter(|(_, pod)| !cx.is_updated(pod) && !names.contains(&pod.name)) {
        mover.call_off(pod, plan);
        hold([pod], &Reason::Partition { keep }, plan);
    }
}

/// AS-79: marked replicas, downward, within the update budget; one that must wait keeps no other waiting. A pod that is on its way
/// already is not deleted twice (B8). While the pass stands still, only those that are not ready: it may stand still for them (AS-80).
fn requested(cx: &Cx<'_>, pass: &Pass, budget: &mut UpdateBudget, plan: &mut Plan) {
    let has_turn = |pod: &PodView| *pass == Pass::Done || !is_ready(pod);
    let marked = cx.replicas().rev().map(|(_, pod)| pod);
    let marked = marked.filter(|pod| pod.is_marked_for_deletion() && has_turn(pod));
    for pod in marked
        .filter(|pod| pod.deleted.is_none() && LifecycleState::of(pod) != LifecycleState::PreparingDelete)
    {
        let price = if cx.is_available(pod) { Price::One } else { Price::Free };
        match budget.spend_on_request(pod, price) {
            Ok(permit) => scale::remove(cx, &permit, Purpose::Delete, plan),
            Err(reason) => plan.hold(pod, reason),
        }
    }
}

/// Pays for one pod and adds what is to be done with it.
fn start(
    cx: &Cx<'_>,
    (ordinal, pod): (Ordinal, &PodView),
    mover: &mut Mover<'_>,
    budget: &mut UpdateBudget,
    plan: &mut Plan,
) -> Result<(), Reason> {
    let fit = claims::fit(cx, ordinal);
    if cx.is_updated(pod) && fit == Fit::Fits {
        return Ok(()); // AS-53; a pod at the wanted revision is never restarted for its claims (B23).
    }
    if pod.is_marked_for_deletion() {
        return Ok(()); // It is replaced as soon as the budget allows it.
    }
    match fit {
        Fit::Fits => {}
        Fit::Unfit(claim, misfit) => {
            let reason = Reason::ClaimUnfit { claim };
            let message = format!("{}: {reason}", pod.name);
            plan.events.push(Event { kind: EventKind::Warning, reason: misfit.event(), message });
            return Err(reason);
        }
        Fit::Growing(claim) => return Err(Reason::ClaimResizing { claim }),
        Fit::TooSmall(claim, chains) => {
            let price = if cx.is_available(pod) { Price::One } else { Price::Free };
            budget.spend(pod, price)?;
            for chain in chains {
                plan.act(chain);
            }
            return Err(Reason::ClaimResizing { claim });
        }
    }
    let way = match mover.way(pod)? {
        // B11: volumes of a pod cannot be changed; it gets a new claim only by being made anew.
        Way::InPlace(_)
            if cx.spec.rolling.policy != Policy::InPlaceOnly && claims::are_missing_in(cx, pod) =>
        {
            Way::Recreate
        }
        way @ (Way::InPlace(_) | Way::Recreate) => way,
    };
    let service = Service { is_available: cx.is_available(pod), is_ready: is_ready(pod) && is_normal(pod) };
    let turn = mover.start(Candidate { pod, way, service }, budget, plan, |permit, plan| {
        scale::remove(cx, permit, Purpose::Recreate, plan);
    })?;
    match turn {
        Turn::Taken => Ok(()),
        Turn::HeldByHook => Err(Reason::HookHeld { hook: HookPoint::InPlaceUpdate }),
    }
}

/// AS-46, AS-47. Absent and terminating pods are down. For the update revision only those count that are there or being made: a
/// pod that hangs while it goes, or an ordinal whose turn has not come, must not keep broken pods from being repaired.
fn budget(cx: &Cx<'_>, plan: &Plan) -> UpdateBudget {
    let mut new = NewRevisions::of(cx);
    let update = &cx.revisions.update.name;
    let (mut down, mut target_down) = (u32::try_from(cx.beyond()).unwrap_or(u32::MAX), 0);
    for slot in &cx.slots {
        let is_of_update = match slot.pod {
            None => new.next(slot.place).name == *update && plan.acts_on(cx.view.pod_object(slot.ordinal)),
            Some(pod) if cx.is_available(pod) && !claims::is_growing(cx, slot.ordinal) => continue,
            Some(pod) => pod.deleted.is_none() && !is_failed(pod) && cx.is_updated(pod),
        };
        down = down.saturating_add(1);
        target_down += u32::from(is_of_update);
    }
    UpdateBudget { limit: cx.spec.update_limit(), down, target_down }
}

impl<'a> Cx<'a> {
    /// Pods that stay at the old revision; never more than there are (AS-49).
    pub fn partition(&self) -> usize {
        usize::try_from(self.spec.rolling.partition.min(self.spec.replicas)).unwrap_or(usize::MAX)
    }

    /// With its gate, a pod that is about to be updated uses up quota already (B27).
    pub fn counts_as_updated(&self, pod: &PodView) -> bool {
        let early = self.view.gates.on(Gate::PreparingUpdateAsUpdate);
        self.is_updated(pod) || (early && LifecycleState::of(pod) == LifecycleState::PreparingUpdate)
    }

    /// The pods that may be at the update revision, in the order in which they get there (AS-49 … AS-51).
    fn in_order(&self) -> Vec<(Ordinal, &'a PodView)> {
        let Order::Unordered(priority) = &self.spec.rolling.order else {
            let chosen = self.slots.iter().filter(|slot| self.partition() <= slot.place).rev();
            return chosen.filter_map(|slot| Some((slot.ordinal, slot.pod?))).collect();
        };
        let is_first = |pod: &PodView| self.counts_as_updated(pod) || pod.deleted.is_some();
        let downward = || self.replicas().rev().map(|(_, pod)| pod);
        let mut order: Vec<&PodView> = downward().filter(|pod| is_first(pod)).collect();
        let mut rest: Vec<&PodView> = downward().filter(|pod| !is_first(pod)).collect();
        if let Some(priority) = priority {
            by_priority(&mut rest, priority);
        }
        order.extend(rest);
        let mut new = NewRevisions::of(self);
        let missing = self.slots.iter().filter(|slot| slot.pod.is_none());
        let near = missing.filter(|slot| new.next(slot.place).name == self.revisions.update.name).count();
        let coming = near.saturating_add(new.updated_of(self.beyond()));
        order.truncate(self.wanted.len().saturating_sub(self.partition()).saturating_sub(coming));
        order.into_iter().filter_map(|pod| Some((self.view.ordinal(pod)?, pod))).collect()
    }
}
