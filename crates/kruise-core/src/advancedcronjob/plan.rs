//! The order of the steps (ACJ-1 … ACJ-10).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kruise_api::Resource;
use kruise_api::annotations::SCHEDULED_AT;
use kruise_api::reasons::event;
use serde_json::{Value, json};

use super::children::{Child, State};
use super::schedule::Missed;
use super::spec::{Concurrency, Spec, Template};
use super::view::View;
use super::{reason, status};
use crate::chain::{Chain, Event, EventKind, Purpose, Write};
use crate::fault::Fault;
use crate::lookup::Slim;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::pod::string_map;
use crate::reason::Reason;
use crate::time;

/// The next writes for one object, and why no child is created now.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.head.deleted.is_some() {
        return held(view, plan, Reason::OwnerDeleted); // B14
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => return unreadable(view, fault, plan),
    };
    history(view, spec, &mut plan);
    run(view, spec, now, &mut plan);
    for child in &view.children {
        let reason = if child.state == State::Active { reason::child() } else { reason::kept() };
        plan.hold(child.object.clone(), reason);
    }
    status::settle(view, spec, &mut plan);
    plan
}

/// ACJ-4: the oldest beyond the limits go; also while paused. What could not be deleted is tried again (B16).
fn history(view: &View, spec: &Spec, plan: &mut Plan) {
    for (state, limit) in [(State::Failed, spec.kept_failed), (State::Succeeded, spec.kept_successful)] {
        let mut over: Vec<&Child> =
            view.children.iter().filter(|child| child.state == state && !child.is_going).collect();
        over.sort_by(|one, other| {
            (one.started, one.object.name()).cmp(&(other.started, other.object.name()))
        });
        let surplus = over.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        for child in over.into_iter().take(surplus) {
            let message = format!("deleted {}: only so many are kept", child.object.name());
            let write = Write::delete(child.object.clone(), &child.uid);
            plan.act(Chain::about(Purpose::History, child.object.clone(), vec![write]).telling(
                event::SUCCESSFUL_DELETE,
                message,
                event::FAILED_DELETE,
            ));
        }
    }
}

/// ACJ-5 … ACJ-9.
fn run(view: &View, spec: &Spec, now: Timestamp, plan: &mut Plan) {
    let itself = view.workload().itself();
    if spec.is_paused {
        return plan.hold(itself, Reason::Paused);
    }
    let anchor = view.last_planned().or(view.head.created).unwrap_or(now);
    let next = spec.schedule.next(now.max(anchor), anchor, &view.local);
    if let Some(at) = next {
        plan.revisit(at);
    }
    let Some(missed) = missed(view, spec, (anchor, now), plan) else {
        return plan.hold(itself, reason::next_run(next));
    };
    let active: Vec<&Child> = view.children.iter().filter(|child| child.state == State::Active).collect();
    match (spec.concurrency, active.first()) {
        (Concurrency::Forbid, Some(child)) => {
            let name = child.object.name();
            let message = format!("not started: {name} is not over yet, and concurrencyPolicy is Forbid");
            plan.events.push(Event { kind: EventKind::Normal, reason: event::JOB_ALREADY_ACTIVE, message });
            plan.hold(itself, reason::still_runs(name));
        }
        (Concurrency::Replace, _) => create(view, spec, missed.latest, &active, plan),
        (Concurrency::Allow | Concurrency::Forbid, _) => create(view, spec, missed.latest, &[], plan),
    }
}

/// ACJ-16 … ACJ-19: the latest run that is due and not too late.
fn missed(
    view: &View,
    spec: &Spec,
    (anchor, now): (Timestamp, Timestamp),
    plan: &mut Plan,
) -> Option<Missed> {
    let missed = spec.schedule.missed((anchor, now), anchor, &view.local)?;
    let late = now.duration_since(missed.latest).as_secs();
    if spec.deadline.is_some_and(|deadline| deadline <= late) {
        let at = time::seconds(missed.latest);
        let message = format!(
            "the run of {at} was missed: it is {late} s late, more than startingDeadlineSeconds allows"
        );
        plan.events.push(Event { kind: EventKind::Warning, reason: event::MISS_SCHEDULE, message });
        return None;
    }
    if missed.is_many {
        let message = "more than 100 runs were missed: only the latest one is started; set startingDeadlineSeconds or check the clock";
        let message = message.to_owned();
        plan.events.push(Event { kind: EventKind::Warning, reason: event::TOO_MANY_MISSED, message });
    }
    Some(missed)
}

/// ACJ-8, ACJ-9: those that are replaced first (B15), then the child, then its time, so that it is never started again (B1).
fn create(view: &View, spec: &Spec, planned: Timestamp, replaced: &[&Child], plan: &mut Plan) {
    let name = format!("{}-{}", view.head.name, planned.as_second());
    let object = view.workload().object(spec.template.resource(), name.as_str());
    let going = replaced.iter().filter(|child| !child.is_going);
    let mut writes: Vec<Write> = going.map(|child| Write::delete(child.object.clone(), &child.uid)).collect();
    writes.push(Write::create(object.clone(), &body(view, spec, &object, planned)));
    writes.push(view.workload().status_write(&json!({"lastScheduleTime": time::seconds(planned)})));
    let message = format!("created {} {name}", spec.template.resource().kind());
    plan.act(Chain::about(Purpose::Create, object, writes).telling(
        event::SUCCESSFUL_CREATE,
        message,
        event::FAILED_CREATE,
    ));
}

fn body(view: &View, spec: &Spec, object: &ObjectRef, planned: Timestamp) -> Value {
    let labels = string_map(spec.child.pointer("/metadata/labels"));
    let mut annotations = string_map(spec.child.pointer("/metadata/annotations"));
    annotations.insert(SCHEDULED_AT.to_owned(), rfc3339(planned, &view.local));
    json!({
        "apiVersion": object.resource.api_version(),
        "kind": object.resource.kind(),
        "metadata": {
            "name": object.name(), "namespace": object.namespace(), "labels": labels, "annotations": annotations,
            "ownerReferences": [view.workload().owner_reference()],
        },
        "spec": spec.child.get("spec").cloned().unwrap_or_else(|| json!({})),
    })
}

/// In the manager's zone, as upstream writes it.
fn rfc3339(at: Timestamp, local: &TimeZone) -> String {
    if local.to_offset(at).seconds() == 0 {
        return time::seconds(at);
    }
    at.to_zoned(local.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

impl Template {
    pub fn resource(self) -> Resource {
        match self {
            Self::Job => super::children::Job::RESOURCE,
            Self::BroadcastJob => crate::broadcastjob::BroadcastJob::RESOURCE,
            Self::ImageListPullJob => crate::imagelistpulljob::ImageListPullJob::RESOURCE,
        }
    }
}

/// B11, B20: nothing runs until it is corrected, and the user is told.
fn unreadable(view: &View, fault: &Fault, mut plan: Plan) -> Plan {
    let message = format!("{fault}: nothing is started until it is corrected");
    plan.events.push(Event { kind: EventKind::Warning, reason: event::UNPARSABLE_SCHEDULE, message });
    held(view, plan, Reason::UnreadableSpec { field: fault.field.clone() })
}

fn held(view: &View, mut plan: Plan, reason: Reason) -> Plan {
    for child in &view.children {
        plan.hold(child.object.clone(), reason.clone());
    }
    plan.hold(view.workload().itself(), reason);
    plan
}
