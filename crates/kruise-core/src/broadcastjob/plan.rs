//! The order of the steps (BJ-1 … BJ-18).

use jiff::Timestamp;
use kruise_api::annotations::BROADCASTJOB_PAUSED_FOR;
use kruise_api::apps::broadcastjob::BroadcastJobPhase;
use kruise_api::kubernetes::POD_SCHEDULED;
use kruise_api::reasons::{condition, event};
use serde_json::{Value, json};

use super::census::{Census, Fate};
use super::end::{self, Failure};
use super::object::has_ended;
use super::spec::{Completion, OnFailure, Spec};
use super::status::{self, Stand};
use super::view::View;
use super::{create, reason};
use crate::chain::{Chain, Event, EventKind, Part, Patch, Purpose, Write};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::pod::{PodView, Status};
use crate::reason::Reason;

/// The next writes for one job, and for each node and pod left alone the reason.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => return unreadable(view, fault, plan),
    };
    if spec.completion != Completion::Never && has_ended(&view.head.status) {
        end::retire(view, spec, now, &mut plan);
        return explained(view, plan, &reason::finished());
    }
    let census = Census::of(view, spec);
    tell(&census, &mut plan);
    let stand = decide(view, spec, &census, now, &mut plan);
    explain(&census, &stand, &mut plan);
    status::settle(view, &census, &stand, now, &mut plan);
    plan
}

fn decide(view: &View, spec: &Spec, census: &Census<'_>, now: Timestamp, plan: &mut Plan) -> Stand {
    let phase = |phase: BroadcastJobPhase| view.stored("phase") == json!(phase).as_str();
    if phase(BroadcastJobPhase::Failed) {
        return Stand::StaysFailed; // BJ-11
    }
    if is_paused(view, spec, census, plan) {
        return Stand::Paused;
    }
    if phase(BroadcastJobPhase::Paused) {
        plan.events.push(told(EventKind::Normal, event::CONTINUE, "the job continues".to_owned()));
    }
    end::stop_over_limit(census, plan);
    if let Some(failure) = Failure::of(view, spec, census, now) {
        return fail(view, census, failure, plan);
    }
    if let Some(at) = end::deadline(view, spec, now) {
        plan.revisit(at); // B4: at every plan, so that no restart loses it.
    }
    work(view, spec, census, plan)
}

/// BJ-12, BJ-13, B9: paused by the user, or by the Pause policy, which says so in the spec and remembers for how many failures. The
/// user's resume accepts those; when the failed pods are gone, the job resumes by itself.
fn is_paused(view: &View, spec: &Spec, census: &Census<'_>, plan: &mut Plan) -> bool {
    let failed = census.failed();
    match (spec.on_failure, view.paused_for()) {
        (OnFailure::Pause, known) if known.unwrap_or(0) < failed => {
            plan.act(pause(view, &json!(true), &json!(failed.to_string())));
            let message = format!(
                "{failed} pods failed, and failurePolicy is Pause: delete them, or set spec.paused to false to go on"
            );
            plan.events.push(told(EventKind::Warning, event::PAUSED, message));
            true
        }
        (_, Some(_)) if failed == 0 && spec.is_paused => {
            plan.act(pause(view, &json!(false), &Value::Null));
            true // Until the resume is stored.
        }
        (OnFailure::Pause | OnFailure::Continue | OnFailure::FailFast, _) => spec.is_paused,
    }
}

fn pause(view: &View, paused: &Value, failures: &Value) -> Chain {
    let patch = json!({
        "metadata": {"uid": view.head.uid.as_str(), "annotations": {BROADCASTJOB_PAUSED_FOR: failures}},
        "spec": {"paused": paused},
    });
    let write = Write::patch(view.workload().itself(), Part::Object, Patch::Merge(patch));
    Chain::other(Purpose::EditSpec, vec![write])
}

/// BJ-15. The result is written when no pod is active any more, so that a deletion that fails is tried again.
fn fail(view: &View, census: &Census<'_>, failure: Failure, plan: &mut Plan) -> Stand {
    end::delete(census.active(), "the job failed", plan);
    if plan.chains.iter().any(|chain| chain.purpose == Purpose::Delete) {
        return Stand::Running;
    }
    let message = failure.message(view);
    plan.events.push(told(EventKind::Warning, failure.event(), message.clone()));
    Stand::Failed(message)
}

/// BJ-16, BJ-17.
fn work(view: &View, spec: &Spec, census: &Census<'_>, plan: &mut Plan) -> Stand {
    end::delete(census.misplaced.iter().copied(), "its node does not take it any more", plan);
    if view.head.deleted.is_some() {
        return Stand::Running; // BJ-27: nothing new.
    }
    let is_done = |fate: Option<Fate>| fate.is_some_and(Fate::is_done);
    let is_over = !census.desired.is_empty() && census.desired.iter().all(|place| is_done(place.pod));
    if is_over && spec.completion != Completion::Never {
        let (succeeded, failed) = (census.succeeded(), census.failed());
        let message = format!("Job completed, {succeeded} pods succeeded, {failed} pods failed");
        plan.events.push(told(EventKind::Normal, event::JOB_COMPLETE, message.clone()));
        return Stand::Completed(message);
    }
    create::create(view, spec, census, plan);
    Stand::Running
}

/// What users should see besides the counts.
fn tell(census: &Census<'_>, plan: &mut Plan) {
    for node in &census.crowded {
        let message = format!("node {node} has more than one pod of this job; one of them counts");
        plan.events.push(told(EventKind::Warning, event::DUPLICATE_POD_ON_NODE, message));
    }
    // B16: one example is enough to look further.
    if let Some((pod, message)) = census.active().find_map(|pod| Some((pod, unscheduled(pod)?))) {
        let text = format!("pod {} waits for room on its node: {message}", pod.name);
        plan.events.push(told(EventKind::Warning, event::POD_UNSCHEDULABLE, text));
    }
}

fn unscheduled(pod: &PodView) -> Option<&str> {
    let condition = pod.condition(POD_SCHEDULED).filter(|one| one.status == Status::False)?;
    Some(condition.message().unwrap_or("the scheduler does not say why"))
}

/// A reason for every node and pod that no chain is about.
fn explain(census: &Census<'_>, stand: &Stand, plan: &mut Plan) {
    for (node, unfit) in &census.unfit {
        plan.hold(reason::node(node), reason::unfit(unfit));
    }
    let missing = match stand {
        Stand::Paused => Reason::Paused,
        Stand::Running | Stand::StaysFailed | Stand::Completed(_) | Stand::Failed(_) => reason::finished(),
    };
    for place in census.desired.iter().filter(|place| place.pod.is_none()) {
        plan.hold(reason::node(place.node), missing.clone());
    }
    for (fate, pod) in &census.pods {
        let reason = match fate {
            Fate::Succeeded | Fate::Failed => Reason::Done,
            Fate::Terminating => Reason::Terminating,
            Fate::Active if pod.node.is_none() => Reason::WaitingForNode,
            Fate::Active | Fate::OverLimit => reason::running(),
        };
        plan.hold(*pod, reason);
    }
}

/// B11: nothing is touched until the spec is corrected.
fn unreadable(view: &View, fault: &Fault, mut plan: Plan) -> Plan {
    let message = format!("{fault}: nothing is created or deleted until it is corrected");
    plan.events.push(told(EventKind::Warning, condition::UNREADABLE_SPEC, message));
    explained(view, plan, &Reason::UnreadableSpec { field: fault.field.clone() })
}

fn explained(view: &View, mut plan: Plan, reason: &Reason) -> Plan {
    for pod in &view.pods {
        plan.hold(pod.as_ref(), reason.clone());
    }
    plan
}

fn told(kind: EventKind, reason: &'static str, message: String) -> Event {
    Event { kind, reason, message }
}
