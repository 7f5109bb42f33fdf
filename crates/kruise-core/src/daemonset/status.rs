//! Counts and conditions (DS-38, DS-39). Written only when something changed.

use jiff::Timestamp;
use kruise_api::conditions::{CLONESET_FAILED_SCALE, CLONESET_FAILED_UPDATE};
use serde_json::{Map, Value, json};

use super::plan::Cx;
use super::view::View;
use crate::fault::Fault;
use crate::plan::Plan;
use crate::workload::conditions::{Conditions, both_zero, report_unreadable, update_failure};

/// The words of the other workloads.
const FAILURES: [&str; 2] = [CLONESET_FAILED_SCALE, CLONESET_FAILED_UPDATE];

/// How the nodes stand (DS-38).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub desired: u32,
    pub current: u32,
    pub misscheduled: u32,
    pub ready: u32,
    pub available: u32,
    pub updated: u32,
    /// Updated and ready, for pre-download (B9).
    pub updated_ready: u32,
}

impl Counts {
    /// Of several pods on a node the first one decides; those that are going count, too (B22).
    pub fn of(cx: &Cx<'_>) -> Self {
        let mut counts = Self { desired: cx.desired, ..Self::default() };
        for place in &cx.places.all {
            let Some(pod) = place.pods.first() else { continue };
            if !place.verdict.should_run() {
                counts.misscheduled += 1;
                continue;
            }
            let is_ready = pod.is_update_ready(0, cx.now);
            let is_updated = cx.is_updated(pod);
            counts.current += 1;
            counts.ready += u32::from(is_ready);
            counts.available += u32::from(is_ready && cx.is_available(pod));
            counts.updated += u32::from(is_updated);
            counts.updated_ready += u32::from(is_updated && is_ready);
        }
        counts
    }
}

/// Patches the status if it changed.
pub fn settle(cx: &Cx<'_>, plan: &mut Plan) {
    let counts = Counts::of(cx);
    let stored = &cx.view.status;
    let mut wanted = Map::new();
    let unavailable = counts.desired.saturating_sub(counts.available);
    let optional = |count: u32| if count == 0 { Value::Null } else { json!(count) };
    for (field, value) in [
        ("currentNumberScheduled", json!(counts.current)),
        ("desiredNumberScheduled", json!(counts.desired)),
        ("numberMisscheduled", json!(counts.misscheduled)),
        ("numberReady", json!(counts.ready)),
        ("updatedNumberScheduled", json!(counts.updated)),
        ("numberAvailable", optional(counts.available)),
        ("numberUnavailable", optional(unavailable)),
        ("updateRevision", json!(cx.revision.name.hash().as_str())),
        ("observedGeneration", json!(cx.view.generation)),
    ] {
        wanted.insert(field.to_owned(), value);
    }
    let conditions = Conditions::read(stored);
    let mut told = conditions.clone();
    told.failure(FAILURES[0], cx.view.failures.scale.as_deref(), cx.now);
    told.failure(FAILURES[1], update_failure(&cx.view.failures, plan).as_deref(), cx.now);
    told.waiting(plan, cx.places.all.len(), cx.now);
    let is_new = |(field, value): (&String, &Value)| {
        let there = stored.get(field);
        there.unwrap_or(&Value::Null) != value && !(value.is_null() && both_zero(there, None))
    };
    // Zeros are always written once: the schema demands these fields.
    let is_worth = wanted.iter().any(is_new) || told.differ_visibly_from(&conditions, &FAILURES);
    if is_worth {
        if told != conditions {
            wanted.insert("conditions".to_owned(), told.wire());
        }
        plan.status = Some(cx.view.workload().status_write(&Value::Object(wanted)));
    }
}

/// Nothing is touched; the condition says what to correct.
pub fn unreadable(view: &View, fault: &Fault, now: Timestamp, plan: &mut Plan) {
    report_unreadable(&view.workload(), fault, &FAILURES, now, plan);
}
