//! Counts, the newest revision, and conditions (SS-70). Written only when something changed.

use jiff::Timestamp;
use kruise_api::conditions::{SIDECARSET_NOT_INJECTED, SIDECARSET_REVISION_MISSING, WAITING};
use kruise_api::kubernetes::status::TRUE;
use kruise_api::reasons::{condition, event};
use serde_json::{Map, Value, json};

use super::census::Member;
use super::missed;
use super::view::View;
use crate::chain::{Event, EventKind, Part, Patch, Write};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::workload::conditions::{Conditions, both_zero};

/// After all steps: the conditions say why nothing moves.
pub fn settle(view: &View, members: &[Member<'_>], latest: &str, now: Timestamp, plan: &mut Plan) {
    let count = |holds: &dyn Fn(&Member<'_>) -> bool| members.iter().filter(|one| holds(one)).count();
    let mut wanted = Map::new();
    wanted.insert("observedGeneration".to_owned(), json!(view.head.generation));
    wanted.insert("matchedPods".to_owned(), json!(members.len()));
    wanted.insert("updatedPods".to_owned(), json!(count(&|one| one.is_updated)));
    wanted.insert("readyPods".to_owned(), json!(count(&|one| one.is_good())));
    wanted.insert("updatedReadyPods".to_owned(), json!(count(&|one| one.is_updated && one.is_good())));
    wanted.insert("latestRevision".to_owned(), json!(latest));
    wanted.insert("collisionCount".to_owned(), json!(view.head.collisions()));
    let stored = Conditions::read(&view.head.status);
    let mut conditions = stored.clone();
    conditions.waiting(plan, members.len(), now);
    tell_missed(view, &mut conditions, now, plan);
    tell_lost_pin(view, &mut conditions, now, plan);
    write(view, wanted, (&stored, conditions), plan);
}

/// Nothing is touched until the spec is corrected.
pub fn unreadable(view: &View, fault: &Fault, now: Timestamp, plan: &mut Plan) {
    let stored = Conditions::read(&view.head.status);
    let mut conditions = stored.clone();
    let message = format!("{fault}: no pod is touched until it is corrected");
    conditions.set(WAITING, TRUE, (condition::UNREADABLE_SPEC, &message), now);
    if conditions != stored {
        let event = Event { kind: EventKind::Warning, reason: condition::UNREADABLE_SPEC, message };
        plan.events.push(event);
    }
    write(view, Map::new(), (&stored, conditions), plan);
}

fn tell_missed(view: &View, conditions: &mut Conditions, now: Timestamp, plan: &mut Plan) {
    let Some(message) = missed::summary(&view.missed) else {
        conditions.drop(SIDECARSET_NOT_INJECTED);
        return;
    };
    let before = conditions.clone();
    if conditions.message(SIDECARSET_NOT_INJECTED) != Some(&message) {
        conditions.drop(SIDECARSET_NOT_INJECTED);
    }
    conditions.set(SIDECARSET_NOT_INJECTED, TRUE, (condition::PODS_WITHOUT_SIDECARS, &message), now);
    if *conditions != before {
        plan.events.push(Event { kind: EventKind::Warning, reason: event::NOT_INJECTED_PODS, message });
    }
}

/// B5.
fn tell_lost_pin(view: &View, conditions: &mut Conditions, now: Timestamp, plan: &mut Plan) {
    if !view.is_pin_lost {
        conditions.drop(SIDECARSET_REVISION_MISSING);
        return;
    }
    let message = "new pods are refused: spec.injectionStrategy.revision names a revision that does not exist. Change or remove it";
    let before = conditions.clone();
    let why = (condition::PINNED_REVISION_MISSING, message);
    conditions.set(SIDECARSET_REVISION_MISSING, TRUE, why, now);
    if *conditions != before {
        let (kind, reason) = (EventKind::Warning, event::PINNED_REVISION_MISSING);
        plan.events.push(Event { kind, reason, message: message.to_owned() });
    }
}

fn write(view: &View, mut wanted: Map<String, Value>, said: (&Conditions, Conditions), plan: &mut Plan) {
    let (stored, conditions) = said;
    if *stored != conditions {
        wanted.insert("conditions".to_owned(), conditions.wire());
    }
    wanted.retain(|field, value| {
        let there = view.head.status.get(field);
        let is_required =
            ["matchedPods", "updatedPods", "readyPods", "collisionCount"].contains(&field.as_str());
        let is_absent_zero = !is_required && both_zero(there, Some(value));
        there != Some(value) && !is_absent_zero
    });
    if !wanted.is_empty() {
        let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": wanted});
        plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
    }
}
