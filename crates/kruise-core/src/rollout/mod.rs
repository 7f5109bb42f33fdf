//! How one pod gets to another revision: in place where policy and change allow it, else by being replaced.
//! Specification: SM-13, SM-44; CS-76 … CS-79, AS-54, AS-55, AS-73.
//!
//! Which pod, when, and whether it is paid for is decided by the kinds.

pub mod refresh;
pub mod removal;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::conditions;
use kruise_api::parts::{PodUpdatePolicy, UpdateType};
use kruise_api::reasons::event;

use crate::budget::{Permit, Price, UpdateBudget};
use crate::chain::{Chain, Purpose};
use crate::fault::Fault;
use crate::gates::Gate;
use crate::ids::RevisionHash;
use crate::inplace::{self, Blocked, Change, Job, States};
use crate::lifecycle::{self, AtTarget, Hooks, LifecycleState, Progress};
use crate::object::Item;
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView};
use crate::podunavailablebudget::{Operation, allowance};
use crate::reason::{HookPoint, Reason};
use crate::revision::Revision;
use crate::workload::Workload;
use crate::workload::base::BaseSpec;

/// Where users write how an update proceeds.
pub const ROLLING: &str = "spec.updateStrategy.rollingUpdate";

/// `updateStrategy.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    RollingUpdate,
    OnDelete,
}

/// `podUpdatePolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    ReCreate,
    InPlaceIfPossible,
    InPlaceOnly,
}

/// How one pod gets to its target.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    InPlace(Arc<Change>),
    Recreate,
}

/// Form of the label `controller-revision-hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisionLabel {
    FullName,
    Hash,
}

/// Whether pods of the kind carry `pod-template-hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateHash {
    Written,
    Absent,
}

/// Whether changed claim templates forbid an update in place (SM-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimChange {
    Recreates,
    Ignored,
}

/// What the kind and the user say about moving pods.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub policy: Policy,
    pub hooks: Option<&'a Hooks>,
    pub grace_seconds: u32,
    pub revision_label: RevisionLabel,
    pub template_hash: TemplateHash,
    pub claim_change: ClaimChange,
    pub states: States,
    pub now: Timestamp,
}

/// A pod whose turn may have come.
#[derive(Debug)]
pub struct Candidate<'a> {
    pub pod: &'a PodView,
    pub way: Way,
    pub service: Service,
}

/// Whether users of a pod would notice that it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// Ready for long enough.
    pub is_available: bool,
    /// A pod that is ready but not long enough still serves: it may be restarted for free, but not deleted (CS-44, AS-53).
    pub is_ready: bool,
}

/// What became of the turn of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Taken,
    /// Its hook holds it; the turn was paid for when the pod entered that state.
    HeldByHook,
}

/// Moves pods to one target. What separates a revision from it is computed once per revision, not per pod.
#[derive(Debug)]
pub struct Mover<'a> {
    pub target: &'a Revision,
    workload: Workload<'a>,
    settings: Settings<'a>,
    known: BTreeMap<RevisionHash, Result<Arc<Change>, Blocked>>,
}

impl Mode {
    pub fn of(wire: Option<&UpdateType>) -> Result<Self, Fault> {
        match wire {
            None | Some(UpdateType::RollingUpdate) => Ok(Self::RollingUpdate),
            Some(UpdateType::OnDelete) => Ok(Self::OnDelete),
            Some(UpdateType::Other(none)) if none.is_empty() => Ok(Self::RollingUpdate),
            Some(UpdateType::Other(other)) => {
                let problem =
                    format!("unknown update strategy type {other:?}: use {}", UpdateType::WORDS.join(" or "));
                Err(Fault::new("spec.updateStrategy.type", &problem))
            }
        }
    }
}

impl Policy {
    pub fn of(wire: Option<&PodUpdatePolicy>) -> Result<Self, Fault> {
        match wire {
            None | Some(PodUpdatePolicy::ReCreate) => Ok(Self::ReCreate),
            Some(PodUpdatePolicy::InPlaceIfPossible) => Ok(Self::InPlaceIfPossible),
            Some(PodUpdatePolicy::InPlaceOnly) => Ok(Self::InPlaceOnly),
            Some(PodUpdatePolicy::Other(none)) if none.is_empty() => Ok(Self::ReCreate),
            Some(PodUpdatePolicy::Other(other)) => {
                let problem =
                    format!("unknown pod update policy {other:?}: use {}", PodUpdatePolicy::WORDS.join(", "));
                Err(Fault::new(format!("{ROLLING}.podUpdatePolicy"), &problem))
            }
        }
    }
}

/// Records why pods are not updated. Those whose update is under way say themselves what they wait for.
pub fn hold<'p>(pods: impl IntoIterator<Item = &'p PodView>, reason: &Reason, plan: &mut Plan) {
    for pod in pods.into_iter().filter(|pod| LifecycleState::of(pod) != LifecycleState::Updating) {
        plan.hold(pod, reason.clone());
    }
}

impl<'a> Settings<'a> {
    /// What most kinds say; each changes what differs.
    pub fn of(spec: &'a BaseSpec, policy: Policy, grace_seconds: u32, now: Timestamp) -> Self {
        Self {
            policy,
            hooks: spec.hooks.as_ref(),
            grace_seconds,
            revision_label: RevisionLabel::FullName,
            template_hash: TemplateHash::Absent,
            claim_change: ClaimChange::Ignored,
            states: States::Written,
            now,
        }
    }
}

impl<'a> Mover<'a> {
    pub fn to(target: &'a Revision, workload: Workload<'a>, settings: Settings<'a>) -> Self {
        Self { target, workload, settings, known: BTreeMap::new() }
    }

    /// In place where the policy and the change allow it (CS-77, CS-78, AS-55).
    pub fn way(&mut self, pod: &PodView) -> Result<Way, Reason> {
        let policy = self.settings.policy;
        if policy == Policy::ReCreate {
            return Ok(Way::Recreate);
        }
        match (self.change(pod), policy) {
            (Ok(_), _) if LifecycleState::of(pod) == LifecycleState::Foreign => Err(Reason::ForeignState),
            (Ok(change), _) => Ok(Way::InPlace(change)),
            (Err(_), Policy::InPlaceIfPossible | Policy::ReCreate) => Ok(Way::Recreate),
            (Err(blocked), Policy::InPlaceOnly) => Err(Reason::NotInPlace {
                field: match blocked {
                    Blocked::Field(field) => field,
                    Blocked::QosClass => "the quality-of-service class".to_owned(),
                    Blocked::Unreadable(what) => what,
                },
            }),
        }
    }

    /// Pays for one pod and adds what is to be done with it; `remove` deletes it as its kind does.
    pub fn start(
        &self,
        candidate: Candidate<'_>,
        budget: &mut UpdateBudget,
        plan: &mut Plan,
        remove: impl FnOnce(&Permit<'_>, &mut Plan),
    ) -> Result<Turn, Reason> {
        let Candidate { pod, way, service } = candidate;
        if self.is_waiting_for_hook(pod, &way) {
            // Where even a free turn is refused, the hook is still what the user has to look at.
            let _still_held = budget.spend(pod, Price::Free);
            return Ok(Turn::HeldByHook);
        }
        let serves = match way {
            Way::InPlace(_) => service.is_available,
            Way::Recreate => service.is_ready,
        };
        let permit = budget.spend(pod, if serves { Price::One } else { Price::Free })?;
        match way {
            Way::Recreate => remove(&permit, plan),
            Way::InPlace(change) => self.in_place(&permit, &change, plan),
        }
        self.ask_budget(pod, plan);
        Ok(Turn::Taken)
    }

    /// Its turn has come and was paid for, but its hook still holds it.
    fn is_waiting_for_hook(&self, pod: &PodView, way: &Way) -> bool {
        matches!(way, Way::InPlace(_))
            && LifecycleState::of(pod) == LifecycleState::PreparingUpdate
            && self.settings.hooks.is_some_and(|hooks| hooks.holds_update(pod))
    }

    fn change(&mut self, pod: &PodView) -> Result<Arc<Change>, Blocked> {
        let hash = pod.revision().unwrap_or_else(|| RevisionHash::new(""));
        let (target, workload, claims) = (self.target, self.workload, self.settings.claim_change);
        let known = self.known.entry(hash);
        let change = known.or_insert_with_key(|from| between(&workload, from, target, claims)).clone()?;
        let has_daemon = pod.node.as_deref().is_none_or(|node| !workload.virtual_nodes.contains(node));
        let can_restart = has_daemon && pod.has_readiness_gate(conditions::IN_PLACE_UPDATE_READY);
        if !change.ref_metadata.is_empty() && !can_restart {
            // Without gate or daemon the container would never be restarted (M5).
            return Err(Blocked::Field("environment from metadata".to_owned()));
        }
        Ok(change)
    }

    /// By lifecycle state (CS-79, AS-73).
    fn in_place(&self, permit: &Permit<'_>, change: &Change, plan: &mut Plan) {
        let pod = permit.pod();
        let hook = self.settings.hooks.and_then(|hooks| hooks.in_place_update.as_ref());
        let is_held = hook.is_some_and(|hook| hook.is_held(pod));
        match LifecycleState::of(pod) {
            LifecycleState::Updated => self.prepare(pod, hook, plan),
            LifecycleState::Normal | LifecycleState::PreparingNormal if is_held => {
                self.prepare(pod, hook, plan);
            }
            LifecycleState::Normal
            | LifecycleState::PreparingNormal
            | LifecycleState::PreparingUpdate
            | LifecycleState::Updating => {
                plan.act(self.begin(pod, change));
            }
            LifecycleState::PreparingDelete => {
                plan.hold(pod, Reason::HookHeld { hook: HookPoint::PreDelete });
            }
            LifecycleState::Foreign => plan.hold(pod, Reason::ForeignState),
        }
    }

    fn begin(&self, pod: &PodView, change: &Change) -> Chain {
        let (target, settings) = (self.target, &self.settings);
        let hash = target.name.hash();
        let job = Job {
            change: change.clone(),
            // Kinds without states record what they write into the label (SM-26, DS-32).
            revision: match settings.states {
                States::Written => target.name.as_str(),
                States::Absent => hash.as_str(),
            },
            revision_label: match settings.revision_label {
                RevisionLabel::Hash => hash.as_str(),
                RevisionLabel::FullName => target.name.as_str(),
            },
            template_hash: match settings.template_hash {
                TemplateHash::Written => Some(hash.as_str()),
                TemplateHash::Absent => None,
            },
            grace_seconds: settings.grace_seconds,
            resize: self.workload.resize,
            hooks: settings.hooks,
            states: settings.states,
        };
        let message = format!("updated pod {} in place to revision {}", pod.name, target.name);
        let writes = inplace::start(pod, &job, settings.now);
        Chain::about(Purpose::UpdateInPlace, pod, writes).telling(
            event::SUCCESSFUL_UPDATE_POD_IN_PLACE,
            message,
            event::FAILED_UPDATE_POD_IN_PLACE,
        )
    }

    /// A raised partition takes back the turn of a pod that waits for its hook: it serves on, as after a rollback (SM-44).
    pub fn call_off(&self, pod: &PodView, plan: &mut Plan) {
        if LifecycleState::of(pod) != LifecycleState::PreparingUpdate || plan.acts_on(pod) {
            return;
        }
        let hooks = self.settings.hooks;
        if let Some(state) = lifecycle::next(pod, hooks, Progress::Complete, AtTarget::Yes) {
            let mut edit = Edit::of(pod);
            lifecycle::enter(&mut edit, state, hooks, self.settings.now);
            let writes = edit.write(Guard::Version).into_iter().collect();
            plan.act(Chain::about(Purpose::Refresh, pod, writes));
        }
    }

    /// Tells the hook's owner that an update waits; from Updated the hook is put back first (SM-44).
    fn prepare(&self, pod: &PodView, hook: Option<&lifecycle::Hook>, plan: &mut Plan) {
        let mut edit = Edit::of(pod);
        lifecycle::enter(&mut edit, LifecycleState::PreparingUpdate, self.settings.hooks, self.settings.now);
        if let Some(hook) = hook.filter(|_| LifecycleState::of(pod) == LifecycleState::Updated) {
            lifecycle::rearm(&mut edit, hook);
        }
        let writes = edit.write(Guard::Version).into_iter().collect();
        let chain = Chain::about(Purpose::UpdateInPlace, pod, writes);
        let Some(hook) = hook else { return plan.act(chain) };
        let point = HookPoint::InPlaceUpdate;
        let blockers = hook.blockers(pod);
        let message = format!("pod {} waits for its {point} hook before it is updated: {blockers}", pod.name);
        plan.act(chain.telling(event::WAITING_FOR_HOOK, message, event::FAILED_UPDATE_POD_IN_PLACE));
    }

    /// Its budget is asked before the first write of that pod (CS-76).
    fn ask_budget(&self, pod: &PodView, plan: &mut Plan) {
        if !self.workload.gates.on(Gate::PodUnavailableBudgetUpdate) {
            return;
        }
        let item = Item::from(pod);
        let chain = plan.chains.iter_mut().rfind(|chain| chain.item.as_ref() == Some(&item));
        if let (Some(chain), Some(allowance)) = (chain, allowance(pod, Operation::Update)) {
            chain.allowance = Some(allowance);
        }
    }
}

fn between(
    workload: &Workload<'_>,
    from: &RevisionHash,
    target: &Revision,
    claims: ClaimChange,
) -> Result<Arc<Change>, Blocked> {
    let Some(here) = workload.revision(from) else {
        return Err(Blocked::Unreadable("its own revision, which no longer exists,".to_owned()));
    };
    match (&here.claim_hash, &target.claim_hash) {
        (Some(old), Some(new)) if claims == ClaimChange::Recreates && old != new => {
            Err(Blocked::Field("volumeClaimTemplates".to_owned())) // SM-13, CS-64
        }
        _ => Change::between(&here.template, &target.template, workload.gates).map(Arc::new),
    }
}
