//! Bringing pods to another revision (CS-71 … CS-79).

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::conditions;
use kruise_api::reasons::event;

use super::numbers::{Direction, Side};
use super::plan::Cx;
use super::scale;
use super::spec::{Kind, Policy};
use super::view::{is_pre_deleting, is_ready};
use crate::budget::{Permit, Price, UpdateBudget};
use crate::chain::{Act, Chain, Purpose, Resource, Write};
use crate::gates::Gate;
use crate::ids::RevisionHash;
use crate::inplace::{self, Blocked, Change, Grace, Job};
use crate::lifecycle::{self, State};
use crate::order::{by_default, by_priority, scatter};
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView};
use crate::reason::{HookPoint, Reason};
use crate::revision::Revision;

/// How one pod gets to its target.
enum Way {
    InPlace(Arc<Change>),
    Recreate,
}

/// What separates each revision from the target; computed once per revision, not per pod.
struct Ways<'a> {
    target: &'a Revision,
    known: BTreeMap<RevisionHash, Result<Arc<Change>, Blocked>>,
}

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
    let mut ways = Ways { target, known: BTreeMap::new() };
    let mut left = numbers.update.count;
    for pod in candidates {
        if left == 0 {
            hold(&[pod], &Reason::Partition { keep: numbers.partition }, plan);
            continue;
        }
        if cx.spec.is_to_delete(pod) {
            left -= 1; // It goes anyway and comes back at the right revision.
            continue;
        }
        match start(cx, pod, &mut ways, &mut budget, plan) {
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
    spread.sort_by_key(|pod| State::of(pod) != State::PreparingUpdate);
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

/// Pays for one pod and adds what is to be done with it.
fn start(
    cx: &Cx<'_>,
    pod: &PodView,
    ways: &mut Ways<'_>,
    budget: &mut UpdateBudget,
    plan: &mut Plan,
) -> Result<(), Reason> {
    let way = ways.way(cx, pod)?;
    let state = State::of(pod);
    if let Way::InPlace(_) = way {
        if state == State::Foreign {
            return Err(Reason::ForeignState);
        }
        if state == State::PreparingUpdate
            && cx.spec.hooks.as_ref().is_some_and(|hooks| hooks.holds_update(pod))
        {
            // Its turn was paid for when it entered that state; it keeps its place among the first ones. Where even a free
            // turn is refused, the hook is still what the user has to look at.
            let _still_held = budget.spend(pod, Price::Free);
            plan.hold(&pod.name, Reason::HookHeld { hook: HookPoint::InPlaceUpdate });
            return Ok(());
        }
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
        Way::InPlace(change) => in_place(cx, &permit, ways.target, &change, plan),
    }
    if cx.view.gates.on(Gate::PodUnavailableBudgetUpdate) {
        ask_budget(plan, pod);
    }
    Ok(())
}

impl Ways<'_> {
    /// CS-77, CS-78: in place where the policy and the change allow it.
    fn way(&mut self, cx: &Cx<'_>, pod: &PodView) -> Result<Way, Reason> {
        let policy = cx.spec.rolling.policy;
        if policy == Policy::ReCreate {
            return Ok(Way::Recreate);
        }
        match (self.change(cx, pod), policy) {
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

    fn change(&mut self, cx: &Cx<'_>, pod: &PodView) -> Result<Arc<Change>, Blocked> {
        let hash = pod.revision().unwrap_or_else(|| RevisionHash::new(""));
        let target = self.target;
        let known = self.known.entry(hash);
        let change = known.or_insert_with_key(|from| between(cx, from, target)).clone()?;
        let has_daemon = pod.node.as_deref().is_none_or(|node| !cx.view.virtual_nodes.contains(node));
        let can_restart = has_daemon && pod.has_readiness_gate(conditions::IN_PLACE_UPDATE_READY);
        if !change.ref_metadata.is_empty() && !can_restart {
            // Without gate or daemon the container would never be restarted (M5).
            return Err(Blocked::Field("environment from metadata".to_owned()));
        }
        Ok(change)
    }
}

fn between(cx: &Cx<'_>, from: &RevisionHash, target: &Revision) -> Result<Arc<Change>, Blocked> {
    let Some(here) = cx.view.revision(from) else {
        return Err(Blocked::Unreadable("its own revision, which is gone,".to_owned()));
    };
    let checks_claims =
        cx.view.gates.on(Gate::RecreatePodWhenChangeVct) && cx.spec.rolling.policy != Policy::InPlaceOnly;
    match (&here.claim_hash, &target.claim_hash) {
        (Some(old), Some(new)) if checks_claims && old != new => {
            Err(Blocked::Field("volumeClaimTemplates".to_owned())) // SM-13, CS-64
        }
        _ => Change::between(&here.template, &target.template, &cx.view.gates).map(Arc::new),
    }
}

/// CS-79: by lifecycle state.
fn in_place(cx: &Cx<'_>, permit: &Permit<'_>, target: &Revision, change: &Change, plan: &mut Plan) {
    let pod = permit.pod();
    let hooks = cx.spec.hooks.as_ref();
    let hook = hooks.and_then(|hooks| hooks.in_place_update.as_ref());
    let is_held = hook.is_some_and(|hook| hook.is_held(pod));
    match State::of(pod) {
        State::Updated => prepare(cx, pod, hook, plan),
        State::Normal | State::PreparingNormal if is_held => prepare(cx, pod, None, plan),
        State::Normal | State::PreparingNormal | State::PreparingUpdate | State::Updating => {
            let hash = target.name.hash();
            let is_short = cx.view.gates.on(Gate::CloneSetShortHash);
            let job = Job {
                change: change.clone(),
                revision: target.name.as_str(),
                revision_label: if is_short { hash.as_str() } else { target.name.as_str() },
                template_hash: Some(hash.as_str()),
                grace_seconds: cx.spec.rolling.grace_seconds,
                resize: cx.view.resize,
                hooks,
            };
            let message = format!("updated pod {} in place to revision {}", pod.name, target.name);
            plan.act(
                Chain::pod(Purpose::UpdateInPlace, &pod.name, inplace::start(pod, &job, cx.now)).telling(
                    event::SUCCESSFUL_UPDATE_POD_IN_PLACE,
                    message,
                    event::FAILED_UPDATE_POD_IN_PLACE,
                ),
            );
        }
        State::PreparingDelete | State::Foreign => plan.hold(&pod.name, Reason::ForeignState),
    }
}

/// Tells the hook's owner that an update waits; from Updated the hook is put back first (SM-44).
fn prepare(cx: &Cx<'_>, pod: &PodView, rearm: Option<&lifecycle::Hook>, plan: &mut Plan) {
    let mut edit = Edit::of(pod);
    lifecycle::enter(&mut edit, State::PreparingUpdate, cx.spec.hooks.as_ref(), cx.now);
    if let Some(hook) = rearm {
        lifecycle::rearm(&mut edit, hook);
    }
    plan.act(Chain::pod(Purpose::UpdateInPlace, &pod.name, edit.write(Guard::Version).into_iter().collect()));
}

/// CS-76: the budgets are asked before the first write of that pod.
fn ask_budget(plan: &mut Plan, pod: &PodView) {
    let question = Write { resource: Resource::Pod, name: pod.name.to_string(), act: Act::AskBudget };
    let chain = plan.chains.iter_mut().rfind(|chain| chain.pod.as_ref() == Some(&pod.name));
    if let Some(chain) = chain {
        chain.writes.insert(0, question);
    }
}

fn hold(pods: &[&PodView], reason: &Reason, plan: &mut Plan) {
    // Pods whose update is under way say themselves what they wait for.
    for pod in pods.iter().filter(|pod| State::of(pod) != State::Updating) {
        plan.hold(&pod.name, reason.clone());
    }
}
