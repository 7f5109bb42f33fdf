//! The order of the steps (EJ-4 … EJ-11).

use jiff::Timestamp;
use kruise_api::apps::ephemeraljob::EphemeralJobPhase as Phase;
use kruise_api::conditions::EPHEMERALJOB_ERROR;
use kruise_api::finalizers::EPHEMERAL_JOB;
use kruise_api::reasons::{condition, event};
use serde_json::json;

use super::census::{Census, Member, Stand};
use super::outcome::{Outcome, deadline};
use super::spec::Spec;
use super::view::View;
use super::{inject, reason, status};
use crate::chain::{Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::reason::Reason;
use crate::time;

/// The next writes for one job, and for each pod left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.head.deleted.is_some() {
        plan.act_if(release(view)); // EJ-5, E4
        return explained(view, plan, &Reason::OwnerDeleted);
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => return unreadable(view, fault, now, plan),
    };
    if let Some(end) = view.stored("completionTime") {
        retire(view, spec, end, now, &mut plan);
        return explained(view, plan, &reason::finished());
    }
    plan.act_if(hold_back(view));
    if spec.selects_everything() {
        let message =
            "spec.selector is empty: the job takes every pod of its namespace, which new jobs may not"
                .to_owned();
        plan.events.push(warning(event::EMPTY_SELECTOR, message)); // E7
    }
    let census = Census::of(view, spec);
    let outcome = Outcome::of(view, spec, &census, now);
    if outcome.may_inject() {
        inject::inject(view, spec, &census, &mut plan);
        if let Some(at) = deadline(view, spec, now) {
            plan.revisit(at);
        }
    }
    explain(&census, &outcome, &mut plan);
    status::settle(view, &census, &outcome, now, &mut plan);
    plan
}

/// EJ-6. Only on the very version that was seen: the list of finalizers is replaced.
fn hold_back(view: &View) -> Option<Chain> {
    if view.finalizer().is_some() {
        return None;
    }
    let mut wanted = view.finalizers.to_vec();
    wanted.push(EPHEMERAL_JOB.to_owned());
    let ops = vec![
        Op::test("/metadata/uid", view.head.uid.as_str()),
        Op::test("/metadata/resourceVersion", view.head.version.as_str()),
        Op::add("/metadata/finalizers", json!(wanted)),
    ];
    let write = Write::patch(view.itself(), Part::Object, Patch::Json(ops));
    Some(Chain::other(Purpose::EditSpec, vec![write]))
}

/// EJ-5: ephemeral containers cannot be removed, so that there is nothing else to do.
fn release(view: &View) -> Option<Chain> {
    let path = format!("/metadata/finalizers/{}", view.finalizer()?);
    let ops = vec![
        Op::test("/metadata/uid", view.head.uid.as_str()),
        Op::test(&path, EPHEMERAL_JOB),
        Op::Remove { path },
    ];
    let write = Write::patch(view.itself(), Part::Object, Patch::Json(ops));
    Some(Chain::other(Purpose::EditSpec, vec![write]).or_tell(event::REMOVE_FAILED))
}

/// EJ-7, E5: at every plan, so that no restart loses it.
fn retire(view: &View, spec: &Spec, end: &str, now: Timestamp, plan: &mut Plan) {
    let Some(at) = time::read(end).map(|end| time::after(end, spec.ttl)) else { return };
    if now < at {
        plan.revisit(at);
        return;
    }
    let job = view.itself();
    plan.act(Chain::about(Purpose::Delete, job.clone(), vec![Write::delete(job, &view.head.uid)]));
}

/// A reason for every pod that no chain is about.
fn explain(census: &Census<'_>, outcome: &Outcome, plan: &mut Plan) {
    for pod in &census.taken {
        plan.hold(*pod, reason::taken());
    }
    let idle = match outcome.phase {
        Phase::Paused => Reason::Paused,
        Phase::Error => reason::no_containers(),
        Phase::Waiting
        | Phase::Running
        | Phase::Succeeded
        | Phase::Failed
        | Phase::Unknown
        | Phase::Other(_) => reason::finished(),
    };
    let of = |member: &Member<'_>, untouched: &Reason| match member.stand {
        Stand::Untouched => untouched.clone(),
        Stand::Started | Stand::Waiting | Stand::Running => reason::running(),
        Stand::Succeeded | Stand::Failed => Reason::Done,
    };
    for member in &census.targets {
        plan.hold(member.pod, of(member, &idle));
    }
    for member in &census.beyond {
        plan.hold(member.pod, of(member, &reason::beyond(census.targets.len())));
    }
}

/// Nothing is touched until the spec is corrected.
fn unreadable(view: &View, fault: &Fault, now: Timestamp, mut plan: Plan) -> Plan {
    let message = format!("{fault}: no pod is touched until it is corrected");
    plan.events.push(warning(condition::UNREADABLE_SPEC, message.clone()));
    let conditions = vec![(EPHEMERALJOB_ERROR, condition::ERROR, message)];
    let outcome = Outcome { phase: Phase::Error, is_over: false, conditions };
    let nobody = Census { targets: Vec::new(), beyond: Vec::new(), taken: Vec::new() };
    status::settle(view, &nobody, &outcome, now, &mut plan);
    plan
}

fn explained(view: &View, mut plan: Plan, reason: &Reason) -> Plan {
    for pod in &view.pods {
        plan.hold(pod.as_ref(), reason.clone());
    }
    plan
}

fn warning(reason: &'static str, message: String) -> Event {
    Event { kind: EventKind::Warning, reason, message }
}
