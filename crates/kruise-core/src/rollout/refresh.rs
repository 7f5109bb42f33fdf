//! Pods that move by themselves: running in-place updates, readiness conditions, lifecycle states (SM-30, SM-44, CS-70, AS-36).

use jiff::Timestamp;
use kruise_api::{annotations, conditions, labels};

use crate::chain::{Chain, Purpose, Write};
use crate::ids::RevisionHash;
use crate::inplace::{self, Refresh, Resize};
use crate::lifecycle::{self, AtTarget, Hooks, LifecycleState, Progress};
use crate::plan::Plan;
use crate::pod::{Condition, Edit, Guard, PodView, Status};
use crate::readiness;
use crate::reason::{HookPoint, Reason};
use crate::rollout::TemplateHash;
use crate::time;

/// What the kind says about its pods.
#[derive(Debug, Clone, Copy)]
pub struct Refresher<'a> {
    pub hooks: Option<&'a Hooks>,
    pub resize: Resize,
    pub min_ready_seconds: u32,
    pub template_hash: TemplateHash,
    pub now: Timestamp,
}

impl Refresher<'_> {
    /// The next step of one pod, or why it stands where it stands.
    pub fn pod(&self, pod: &PodView, at_target: AtTarget, plan: &mut Plan) {
        if plan.acts_on(pod) {
            return;
        }
        if self.is_at_rest(pod) {
            self.rest(pod, plan);
            return;
        }
        match inplace::refresh(pod, self.resize, self.now) {
            Refresh::Step(writes) => plan.act(Chain::about(Purpose::Refresh, pod, writes)),
            Refresh::Waiting { why, until } => {
                if let Some(at) = until {
                    plan.revisit(at);
                }
                plan.hold(pod, Reason::Updating { why, until });
            }
            Refresh::Finished => self.finished(pod, at_target, plan),
        }
        self.rest(pod, plan);
    }

    /// Nothing can be under way: its state is Normal, both gates are open, no change waits. Spares reading the records of all
    /// pods in every plan.
    fn is_at_rest(&self, pod: &PodView) -> bool {
        let is_open = |kind: &str| {
            let is_true = |one: &Condition| {
                one.status == Status::True && one.reason().is_none() && one.message().is_none()
            };
            !pod.has_readiness_gate(kind) || pod.condition(kind).is_some_and(is_true)
        };
        LifecycleState::of(pod) == LifecycleState::Normal
            && is_open(conditions::IN_PLACE_UPDATE_READY)
            && pod.condition(conditions::KRUISE_POD_READY).is_some()
                == pod.has_readiness_gate(conditions::KRUISE_POD_READY)
            && (self.template_hash == TemplateHash::Absent || pod.labels.has(labels::POD_TEMPLATE_HASH))
            && !pod.annotations.has(annotations::INPLACE_UPDATE_GRACE)
            && !pod.annotations.has(annotations::INPLACE_UPDATE_GRACE_LEGACY)
    }

    /// No update is running: gates, state and the label of old pods (CS-14) in one write.
    fn finished(&self, pod: &PodView, at_target: AtTarget, plan: &mut Plan) {
        if pod.node.is_none() {
            return; // One write when it has a node, not two.
        }
        let mut edit = Edit::of(pod);
        if LifecycleState::of(pod) != LifecycleState::PreparingDelete {
            readiness::first_ready(&mut edit, self.now);
        }
        readiness::finish_update(&mut edit, self.now);
        if let Some(state) = lifecycle::next(pod, self.hooks, Progress::Complete, at_target) {
            lifecycle::enter(&mut edit, state, self.hooks, self.now);
        }
        if let (TemplateHash::Written, None, Some(revision)) =
            (self.template_hash, pod.labels.get(labels::POD_TEMPLATE_HASH), pod.labels.get(labels::REVISION))
        {
            edit.label(labels::POD_TEMPLATE_HASH, RevisionHash::last_segment(revision).as_str());
        }
        let writes: Vec<Write> = edit.write(guard(pod)).into_iter().collect();
        plan.act(Chain::about(Purpose::Refresh, pod, writes));
    }

    /// Why a pod that nothing was done to is where it is.
    fn rest(&self, pod: &PodView, plan: &mut Plan) {
        let ready_at = pod.update_ready_at(self.min_ready_seconds);
        let reason = match LifecycleState::of(pod) {
            LifecycleState::PreparingNormal if pod.node.is_none() => Reason::WaitingForNode,
            LifecycleState::PreparingNormal => Reason::HookHeld { hook: HookPoint::PreNormal },
            LifecycleState::PreparingUpdate | LifecycleState::Updated => {
                Reason::HookHeld { hook: HookPoint::InPlaceUpdate }
            }
            LifecycleState::PreparingDelete => Reason::HookHeld { hook: HookPoint::PreDelete },
            LifecycleState::Foreign => Reason::ForeignState,
            LifecycleState::Normal | LifecycleState::Updating => match ready_at {
                None => Reason::NotReady {
                    since: pod.condition(conditions::POD_READY).and_then(Condition::since),
                },
                Some(_)
                    if lifecycle::is_normal(pod) && pod.is_update_ready(self.min_ready_seconds, self.now) =>
                {
                    Reason::Done
                }
                Some(until) => Reason::MinReadySeconds { until },
            },
        };
        if let Some(at) = ready_at
            && self.now <= at
        {
            // The exact instant (B11); strictly after it the pod is available (CS-20).
            plan.revisit(time::just_after(at));
        }
        plan.hold(pod, reason);
    }
}

/// An update is declared finished on exactly the version that was looked at (SM-30). A pod that never had one has nothing
/// to be wrong about, and its kubelet writes often in its first seconds.
fn guard(pod: &PodView) -> Guard {
    let keys = [annotations::INPLACE_UPDATE_STATE, annotations::INPLACE_UPDATE_STATE_LEGACY];
    let has_record = keys.iter().any(|key| pod.annotations.has(key));
    match (LifecycleState::of(pod), pod.condition(conditions::IN_PLACE_UPDATE_READY)) {
        (LifecycleState::PreparingNormal | LifecycleState::Normal, None) if !has_record => Guard::Identity,
        _ => Guard::Version,
    }
}
