//! Status and conditions (CS-72, CS-90 … CS-93).

use jiff::Timestamp;
use kruise_api::conditions;
use kruise_api::kubernetes::status as word;
use kruise_api::reasons::condition as reasons;
use serde_json::{Map, Value, json};

use super::numbers::Side;
use super::plan::Cx;
use super::view::View;
use crate::fault::Fault;
use crate::plan::Plan;
use crate::pod::PodView;
use crate::time;
use crate::workload::conditions::{Conditions, both_zero, report_unreadable, update_failure};

const FAILURES: [&str; 2] = [conditions::CLONESET_FAILED_SCALE, conditions::CLONESET_FAILED_UPDATE];

/// Fields whose change is worth a write (CS-93).
const WATCHED: [&str; 10] = [
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
    "updatedAvailableReplicas",
    "expectedUpdatedReplicas",
    "currentRevision",
    "updateRevision",
    "labelSelector",
];

/// Patches the status if it changed; asks to come back when the deadline passes.
pub fn settle(cx: &Cx<'_>, plan: &mut Plan) {
    let mut status = counts(cx);
    let conditions = Conditions::read(&cx.view.status);
    let mut wanted = conditions.clone();
    progressing(cx, &status, &mut wanted, plan);
    failures(cx, &mut wanted, plan);
    wanted.waiting(plan, cx.pods().count(), cx.now);
    let old = &cx.view.status;
    let generation = old.get("observedGeneration").and_then(Value::as_i64).unwrap_or(0);
    let is_worth = generation < cx.view.generation
        || WATCHED.iter().any(|field| {
            old.get(field).unwrap_or(&Value::Null) != status.get(*field).unwrap_or(&Value::Null)
                && !both_zero(old.get(field), status.get(*field))
        })
        || wanted.differ_visibly_from(&conditions, &FAILURES);
    if is_worth {
        status.insert("conditions".to_owned(), wanted.wire());
        plan.status = Some(cx.view.workload().status_write(&Value::Object(status)));
    }
}

/// Nothing is touched; the condition says what to correct.
pub fn unreadable(view: &View, fault: &Fault, now: Timestamp, plan: &mut Plan) {
    report_unreadable(&view.workload(), fault, &FAILURES, now, plan);
}

/// The counts over the pods that were there when the plan began.
fn counts(cx: &Cx<'_>) -> Map<String, Value> {
    let spec = cx.spec;
    let count = |test: &dyn Fn(&PodView) -> bool| cx.pods().filter(|pod| test(pod)).count();
    let is_new = |pod: &PodView| cx.is_new(pod, Side::Update);
    let is_ready = |pod: &PodView| pod.is_update_ready(0, cx.now);
    let is_available = |pod: &PodView| spec.is_available(pod, cx.now);
    let (replicas, updated) = (count(&|_| true), count(&is_new));
    let wanted = usize::try_from(spec.replicas).unwrap_or(usize::MAX);
    // CS-72: without waiting for readiness.
    let is_over = replicas == wanted && updated == wanted;
    let current = if is_over { cx.revisions.update } else { cx.revisions.current };
    let expected = spec.replicas.saturating_sub(spec.rolling.partition.partition(spec.replicas));
    let status = json!({
        "observedGeneration": cx.view.generation,
        "replicas": replicas,
        "readyReplicas": count(&is_ready),
        "availableReplicas": count(&is_available),
        "updatedReplicas": updated,
        "updatedReadyReplicas": count(&|pod| is_new(pod) && is_ready(pod)),
        "updatedAvailableReplicas": count(&|pod| is_new(pod) && is_available(pod)),
        "expectedUpdatedReplicas": expected,
        "currentRevision": current.name.as_str(),
        "updateRevision": cx.revisions.update.name.as_str(),
        "collisionCount": cx.view.workload().collisions(),
        "labelSelector": spec.selector.text(),
    });
    if let Value::Object(map) = status { map } else { Map::new() }
}

/// CS-90, CS-91; a new update revision starts the clock again (B4).
fn progressing(cx: &Cx<'_>, status: &Map<String, Value>, conditions: &mut Conditions, plan: &mut Plan) {
    let kind = conditions::CLONESET_PROGRESSING;
    let Some(deadline) = cx.spec.progress_deadline else {
        conditions.drop(kind);
        return;
    };
    let was = cx.view.status.get("updateRevision").and_then(Value::as_str);
    let update = cx.revisions.update.name.as_str();
    if was.is_some_and(|was| was != update) {
        conditions.drop(kind);
    }
    let number = |field: &str| status.get(field).and_then(Value::as_u64).unwrap_or(0);
    let replicas = u64::from(cx.spec.replicas);
    let all = ["replicas", "updatedReplicas", "updatedAvailableReplicas"];
    let is_over = status.get("currentRevision") == status.get("updateRevision")
        && all.iter().all(|field| number(field) == replicas);
    let expected = number("expectedUpdatedReplicas");
    let started = conditions.last_update(kind).unwrap_or(cx.now);
    let until = time::after(started, i64::from(deadline));
    let (state, reason, message) = if is_over {
        (word::TRUE, reasons::CLONESET_AVAILABLE, "CloneSet is available".to_owned())
    } else if cx.spec.rolling.is_paused {
        (word::TRUE, reasons::CLONESET_PAUSED, "CloneSet is paused".to_owned())
    } else if expected < replicas && expected <= number("updatedAvailableReplicas") {
        let message = "CloneSet has been paused due to partition ready".to_owned();
        (word::TRUE, reasons::PROGRESS_PARTITION_AVAILABLE, message)
    } else if conditions.reason(kind) == Some(reasons::PROGRESS_DEADLINE_EXCEEDED) || until < cx.now {
        let message = format!("CloneSet revision {update} has timed out progressing");
        (word::FALSE, reasons::PROGRESS_DEADLINE_EXCEEDED, message)
    } else {
        plan.revisit(time::after(until, 1));
        (word::TRUE, reasons::CLONESET_UPDATED, "CloneSet is progressing".to_owned())
    };
    conditions.set(kind, state, (reason, &message), cx.now);
}

/// CS-92, but cleared when the cause is gone and refreshed when it changes (B5).
fn failures(cx: &Cx<'_>, conditions: &mut Conditions, plan: &Plan) {
    conditions.failure(FAILURES[0], cx.view.failures.scale.as_deref(), cx.now);
    conditions.failure(FAILURES[1], update_failure(&cx.view.failures, plan).as_deref(), cx.now);
}
