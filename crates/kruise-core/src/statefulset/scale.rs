//! Creating, replacing and removing pods (AS-22, AS-32 … AS-42).

use kruise_api::reasons::event;

use super::claims::{self, Obstacle};
use super::create;
use super::plan::{Cx, Slot};
use super::spec::{Management, Order};
use super::view::is_failed;
use crate::budget::{DeleteBudget, Permit};
use crate::chain::{Chain, Purpose};
use crate::ids::PodName;
use crate::lifecycle::{Hooks, LifecycleState};
use crate::plan::{Plan, Room};
use crate::pod::PodView;
use crate::reason::Reason;
use crate::revision::Revision;
use crate::rollout::Mode;
use crate::rollout::removal::{self, Step};

/// How far the walk over the replicas came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pass {
    Done,
    /// OrderedReady: everything after this pod waits for it (AS-32).
    StoppedAt(PodName),
}

/// The replica pass, upward (AS-32 … AS-37).
pub fn replicas(cx: &Cx<'_>, plan: &mut Plan) -> Pass {
    finish_or_cancel(cx, plan);
    let mut left = cx.spec.scale_limit();
    let mut revisions = NewRevisions::of(cx);
    let mut room = Room::default();
    for slot in &cx.slots {
        let is_fine = match slot.pod {
            Some(pod) => look(cx, pod, &mut left, plan),
            None if left == Some(0) || room.is_full() => continue,
            None => {
                left = left.map(|left| left.saturating_sub(1));
                create(cx, slot, revisions.next(slot.place), &mut room, plan);
                false
            }
        };
        if !is_fine && cx.spec.management == Management::OrderedReady {
            return Pass::StoppedAt(cx.view.pod_name(slot.ordinal));
        }
    }
    Pass::Done
}

/// Looks at one replica; whether the next one may follow. Replacing a failed pod is always allowed (B3), and one pod uses one
/// unit (B4).
fn look(cx: &Cx<'_>, pod: &PodView, left: &mut Option<u32>, plan: &mut Plan) -> bool {
    if cx.is_available(pod) && !is_failed(pod) {
        return true;
    }
    if pod.deleted.is_none() && is_failed(pod) && !plan.acts_on(pod) {
        remove(cx, &DeleteBudget::paid(pod), Purpose::Delete, plan); // AS-33
    }
    // What an update took down is charged to the update alone (B5).
    let is_moving = matches!(
        LifecycleState::of(pod),
        LifecycleState::PreparingUpdate | LifecycleState::Updating | LifecycleState::Updated
    );
    let is_replaced = pod.deleted.is_some() && !cx.is_updated(pod);
    if !is_moving && !is_replaced {
        *left = left.map(|left| left.saturating_sub(1));
    }
    false
}

/// AS-34: its claims first, then the pod; nothing while somebody else has its name or a claim is about to go.
fn create(cx: &Cx<'_>, slot: &Slot<'_>, revision: &Revision, room: &mut Room, plan: &mut Plan) {
    let name = cx.view.pod_name(slot.ordinal);
    // Also a pod that is only just being released.
    let is_taken = cx.view.pods.binary_search_by(|pod| pod.name.cmp(&name)).is_ok();
    if is_taken || cx.view.strangers.contains(&name) {
        plan.hold(cx.view.pod_object(slot.ordinal), Reason::NameTaken);
        return;
    }
    match claims::obstacle(cx, slot.ordinal) {
        Some(Obstacle::Stale(claim) | Obstacle::Terminating(claim)) => {
            plan.hold(cx.view.pod_object(slot.ordinal), Reason::ClaimTerminating { claim });
        }
        None => {
            let chain = create::chain(cx, slot.ordinal, revision);
            room.take(&chain);
            plan.act(chain);
        }
    }
}

/// Replicas whose removal began earlier: it goes on while it is still wanted, else they come back to life (B1, B10).
fn finish_or_cancel(cx: &Cx<'_>, plan: &mut Plan) {
    let hooks = cx.spec.hooks.as_ref();
    let leaving =
        |pod: &PodView| LifecycleState::of(pod) == LifecycleState::PreparingDelete && pod.deleted.is_none();
    for slot in &cx.slots {
        let Some(pod) = slot.pod.filter(|pod| leaving(pod) && !plan.acts_on(pod)) else {
            continue;
        };
        let is_outdated = cx.spec.mode == Mode::RollingUpdate
            && !cx.is_updated(pod)
            && (cx.spec.rolling.order != Order::Ordinal || cx.partition() <= slot.place);
        let is_wanted_away = pod.is_marked_for_deletion() || is_failed(pod) || is_outdated;
        if is_wanted_away || hooks.is_some_and(Hooks::forbids_cancelling) {
            remove(cx, &DeleteBudget::paid(pod), Purpose::Delete, plan);
        } else {
            let write = removal::cancel(pod, hooks, cx.now);
            plan.act(Chain::about(Purpose::Refresh, pod, write.into_iter().collect()));
        }
    }
}

/// The condemned pass, downward (AS-39, AS-40).
pub fn condemned(cx: &Cx<'_>, pass: &Pass, plan: &mut Plan) {
    let idle = || cx.condemned.iter().map(|(_, pod)| *pod).filter(|pod| pod.deleted.is_none());
    if cx.spec.management == Management::Parallel {
        for pod in idle().filter(|pod| pod.owners.iter().any(|owner| owner.uid == cx.view.uid)) {
            remove(cx, &DeleteBudget::paid(pod), Purpose::Delete, plan);
        }
        return;
    }
    // B2: what we marked ourselves goes on, and nobody else is touched meanwhile.
    for pod in idle().filter(|pod| LifecycleState::of(pod) == LifecycleState::PreparingDelete) {
        remove(cx, &DeleteBudget::paid(pod), Purpose::Delete, plan);
    }
    let is_going =
        |pod: &PodView| pod.deleted.is_some() || LifecycleState::of(pod) == LifecycleState::PreparingDelete;
    let pending = cx.condemned.iter().map(|(_, pod)| *pod).find(|pod| is_going(pod));
    let first = cx.condemned.first().map(|(_, pod)| *pod);
    let blocker = match (pass, pending, first) {
        (Pass::StoppedAt(pod), _, _) => Some(pod.clone()),
        (Pass::Done, Some(pod), _) => Some(pod.name.clone()),
        (Pass::Done, None, Some(first)) => {
            match halted_by(cx, first) {
                Some(unhealthy) => plan.hold(first, Reason::RemovalHalted { unhealthy }),
                None => remove(cx, &DeleteBudget::paid(first), Purpose::Delete, plan),
            }
            Some(first.name.clone())
        }
        (Pass::Done, None, None) => None,
    };
    for pod in idle() {
        if let Some(blocker) = blocker.as_ref().filter(|blocker| **blocker != pod.name) {
            plan.hold(pod, Reason::WaitsFor { pod: blocker.clone() });
        }
    }
}

/// AS-39: an unhealthy pod is removed only if it is the unhealthy one with the lowest ordinal. All replicas are healthy here, so only
/// condemned pods can be lower. A failed pod can never recover, so nothing is gained by waiting for it; and who marks a pod for
/// deletion does not want to wait.
fn halted_by(cx: &Cx<'_>, first: &PodView) -> Option<PodName> {
    let may_recover = |pod: &PodView| !cx.is_available(pod) && !is_failed(pod);
    if !may_recover(first) || first.is_marked_for_deletion() {
        return None;
    }
    let lowest = cx.condemned.iter().rev().map(|(_, pod)| *pod).find(|pod| may_recover(pod));
    lowest.filter(|pod| pod.name != first.name).map(|pod| pod.name.clone())
}

/// AS-78: the hook first, then the claims' owners (AS-82), then the pod, on the version that was looked at (B22).
pub fn remove(cx: &Cx<'_>, permit: &Permit<'_>, purpose: Purpose, plan: &mut Plan) {
    let pod = permit.pod();
    if plan.acts_on(pod) {
        return;
    }
    let hooks = cx.spec.hooks.as_ref();
    match removal::step(permit, hooks, Some(pod.version.clone()), cx.now) {
        Step::Mark(edit) => removal::mark(&edit, pod, purpose, hooks, plan),
        Step::Delete(write) => {
            let mut writes = claims::owner_writes(cx, pod);
            writes.push(write);
            let message = format!("delete Pod {} in StatefulSet {} successful", pod.name, cx.view.name);
            plan.act(Chain::about(purpose, pod, writes).telling(
                event::SUCCESSFUL_DELETE,
                message,
                event::FAILED_DELETE,
            ));
        }
    }
}

/// Which revision each new pod gets (AS-22).
pub struct NewRevisions<'a> {
    current: &'a Revision,
    update: &'a Revision,
    rule: Rule,
}

enum Rule {
    Update,
    /// By place: the first ones stay at the current revision.
    Ordered {
        partition: usize,
    },
    /// By count: so many more pods at the current revision are wanted.
    Unordered {
        missing: usize,
    },
}

impl<'a> NewRevisions<'a> {
    pub fn of(cx: &Cx<'a>) -> Self {
        let rule = match (cx.spec.mode, &cx.spec.rolling.order) {
            (Mode::OnDelete, _) => Rule::Update,
            (Mode::RollingUpdate, Order::Ordinal) => Rule::Ordered { partition: cx.partition() },
            (Mode::RollingUpdate, Order::Unordered(_)) => {
                let outdated = cx.replicas().filter(|(_, pod)| !cx.counts_as_updated(pod)).count();
                Rule::Unordered { missing: cx.partition().saturating_sub(outdated) }
            }
        };
        Self { current: cx.revisions.current, update: cx.revisions.update, rule }
    }

    pub fn next(&mut self, place: usize) -> &'a Revision {
        match &mut self.rule {
            Rule::Ordered { partition } if place < *partition => self.current,
            Rule::Update | Rule::Ordered { .. } | Rule::Unordered { missing: 0 } => self.update,
            Rule::Unordered { missing } => {
                *missing -= 1;
                self.current
            }
        }
    }

    /// How many of so many further ones come at the update revision.
    pub fn updated_of(&self, further: usize) -> usize {
        match self.rule {
            Rule::Update | Rule::Ordered { .. } => further,
            Rule::Unordered { missing } => further.saturating_sub(missing),
        }
    }
}
