//! The status: six conditions and three numbers, written only where they differ (RD-17 … RD-19).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::conditions::DISTRIBUTION_ORDER;
use kruise_api::reasons::condition;
use serde_json::{Map, Value, json};

use super::view::View;
use crate::chain::{Event, EventKind, Part, Patch, Write};
use crate::plan::Plan;
use crate::time;

/// What became of the namespaces.
#[derive(Debug)]
pub struct Tally {
    pub desired: usize,
    pub succeeded: usize,
    /// Written or read by this plan for the first time: what becomes of them is not known yet.
    pub pending: usize,
    failed: BTreeMap<&'static str, BTreeMap<Arc<str>, String>>,
}

impl Tally {
    pub fn new(desired: usize) -> Self {
        Self { desired, succeeded: 0, pending: 0, failed: BTreeMap::new() }
    }

    pub fn fail(&mut self, condition: &'static str, namespace: &Arc<str>, why: String) {
        self.failed.entry(condition).or_default().insert(Arc::clone(namespace), why);
    }
}

/// Not before all namespaces have been tried once: a status in between would be one more write, and wrong a moment later.
pub fn settle(view: &View, tally: &Tally, now: Timestamp, plan: &mut Plan) {
    if tally.pending > 0 {
        return;
    }
    let status = &view.head.status;
    let stored: Vec<Value> = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let conditions: Vec<Value> =
        DISTRIBUTION_ORDER.iter().map(|kind| one(kind, tally.failed.get(kind), &stored, now)).collect();
    let mut changed = Map::new();
    let failed = tally.desired - tally.succeeded;
    let numbers = [("desired", tally.desired), ("succeeded", tally.succeeded), ("failed", failed)];
    let numbers = numbers.map(|(field, number)| (field, i64::try_from(number).unwrap_or(i64::MAX)));
    for (field, number) in numbers.into_iter().chain([("observedGeneration", view.head.generation)]) {
        if status.get(field).and_then(Value::as_i64).unwrap_or(0) != number {
            // Zero is absent on the wire.
            changed.insert(field.to_owned(), if number == 0 { Value::Null } else { json!(number) });
        }
    }
    if conditions != stored {
        tell(&conditions, &stored, plan);
        changed.insert("conditions".to_owned(), json!(conditions));
    }
    if !changed.is_empty() {
        let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": changed});
        plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
    }
}

/// Found by its type (RD-B3): others may have written the list.
fn stored_one<'a>(kind: &str, stored: &'a [Value]) -> Option<&'a Value> {
    stored.iter().find(|one| one.get("type").and_then(Value::as_str) == Some(kind))
}

/// The reason is that of the last namespace in order, so that equal failures give an equal status (RD-B8).
fn one(kind: &str, failed: Option<&BTreeMap<Arc<str>, String>>, stored: &[Value], now: Timestamp) -> Value {
    let status = if failed.is_some() { "True" } else { "False" };
    let before = stored_one(kind, stored).filter(|one| one.get("status").is_some_and(|was| was == status));
    let since = before.and_then(|one| one.get("lastTransitionTime")).filter(|time| time.is_string()).cloned();
    let reason = failed.and_then(|all| all.values().next_back()).map_or(condition::SUCCEEDED, String::as_str);
    let mut condition = json!({
        "type": kind, "status": status, "reason": reason,
        "lastTransitionTime": since.unwrap_or_else(|| json!(time::seconds(now))),
    });
    if let (Some(failed), Some(fields)) = (failed, condition.as_object_mut()) {
        let names: BTreeSet<&Arc<str>> = failed.keys().collect();
        fields.insert("failedNamespaces".to_owned(), json!(names));
    }
    condition
}

/// One event for each condition that becomes true.
fn tell(conditions: &[Value], stored: &[Value], plan: &mut Plan) {
    let is_true = |one: &Value| one.get("status").is_some_and(|status| status == "True");
    for (kind, now) in DISTRIBUTION_ORDER.into_iter().zip(conditions).filter(|(_, now)| is_true(now)) {
        if stored_one(kind, stored).is_some_and(is_true) {
            continue;
        }
        let text = |field: &str| now.get(field).and_then(Value::as_str).unwrap_or_default();
        let names =
            now.get("failedNamespaces").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let first = names.first().and_then(Value::as_str).unwrap_or_default();
        let message = format!("{} namespaces, the first is {first}: {}", names.len(), text("reason"));
        plan.events.push(Event { kind: EventKind::Warning, reason: kind, message });
    }
}
