//! The status (PM-9).

use serde_json::{Value, json};

use super::view::View;
use crate::chain::{Part, Patch, Write};
use crate::plan::Plan;

/// Patches the status if it changed. No pods are written as no number, as the original does.
pub fn settle(view: &View, plan: &mut Plan) {
    let matched = view.pods.iter().filter(|member| member.stand.is_matched()).count();
    let stored = |field: &str| view.head.status.get(field).and_then(Value::as_u64);
    let is_seen = view.head.status.get("observedGeneration").and_then(Value::as_i64);
    let count = u64::try_from(matched).unwrap_or(u64::MAX);
    if is_seen == Some(view.head.generation) && stored("matchedPods").unwrap_or(0) == count {
        return;
    }
    let number = if count == 0 { Value::Null } else { json!(count) };
    let status = json!({"observedGeneration": view.head.generation, "matchedPods": number});
    let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": status});
    plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
}
