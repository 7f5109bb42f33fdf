//! Counts, phase, times and conditions (EJ-8, EJ-12, EJ-13). Written only when something changed (E9), whatever becomes of the chains (E10).

use jiff::Timestamp;
use kruise_api::conditions::EPHEMERALJOB_INITIALIZED;
use kruise_api::kubernetes::status::TRUE;
use kruise_api::reasons::condition;
use serde_json::{Map, json};

use super::census::{Census, Stand};
use super::outcome::Outcome;
use super::view::View;
use crate::chain::{Part, Patch, Write};
use crate::plan::Plan;
use crate::time;
use crate::workload::conditions::Conditions;

/// Patches what changed.
pub fn settle(view: &View, census: &Census<'_>, outcome: &Outcome, now: Timestamp, plan: &mut Plan) {
    let mut wanted = Map::new();
    wanted.insert("match".to_owned(), json!(census.targets.len()));
    for (field, stand) in [
        ("running", Stand::Running),
        ("succeeded", Stand::Succeeded),
        ("waiting", Stand::Waiting),
        ("failed", Stand::Failed),
    ] {
        wanted.insert(field.to_owned(), json!(census.count(stand)));
    }
    wanted.insert("phase".to_owned(), json!(outcome.phase));
    if view.stored("startTime").is_none() {
        wanted.insert("startTime".to_owned(), json!(time::seconds(now)));
    }
    if outcome.is_over {
        wanted.insert("completionTime".to_owned(), json!(time::seconds(now)));
    }
    let stored = Conditions::read(&view.head.status);
    let mut conditions = stored.clone();
    let first = (EPHEMERALJOB_INITIALIZED, condition::INITIALIZED, "the job is known to the controller");
    let said = outcome.conditions.iter().map(|(kind, reason, message)| (*kind, *reason, message.as_str()));
    for (kind, reason, message) in std::iter::once(first).chain(said) {
        if conditions.reason(kind) != Some(reason) {
            conditions.end(kind, (TRUE, reason, message), now);
        }
    }
    if conditions != stored {
        wanted.insert("conditions".to_owned(), conditions.wire());
    }
    wanted.retain(|field, value| view.head.status.get(field) != Some(value));
    if !wanted.is_empty() {
        let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": wanted});
        plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
    }
}
