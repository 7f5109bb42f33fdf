//! The order of the steps (LJ-1 … LJ-6).

use jiff::Timestamp;
use kruise_api::labels;
use kruise_api::reasons::condition;
use serde_json::json;

use super::object::Spec;
use super::view::View;
use super::{children, reason, status};
use crate::chain::{Chain, Event, EventKind, Part, Patch, Purpose, Write};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::time;

/// The next writes for one list, and why its jobs are left alone.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.head.deleted.is_some() {
        plan.hold(view.itself(), Reason::OwnerDeleted);
        return plan;
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => {
            let message = format!("{fault}: nothing is pulled until it is corrected");
            plan.events.push(Event { kind: EventKind::Warning, reason: condition::UNREADABLE_SPEC, message });
            return plan;
        }
    };
    label(view, spec, &mut plan);
    if let Some(end) = view.time("completionTime") {
        expire(view, spec, (end, now), &mut plan);
        return plan;
    }
    let current = children::sort(view, spec);
    children::settle(view, spec, &current, &mut plan);
    status::settle(view, spec, &current, now, &mut plan);
    plan
}

/// LJ-2. A hash of an older release is as good: nothing of the template has changed.
fn label(view: &View, spec: &Spec, plan: &mut Plan) {
    if view.label.as_ref().is_some_and(|label| spec.is_current(label)) {
        return;
    }
    let metadata = json!({"uid": view.head.uid.as_str(), "labels": {labels::REVISION: spec.hash}});
    let write = Write::patch(view.itself(), Part::Object, Patch::Merge(json!({"metadata": metadata})));
    plan.act(Chain::other(Purpose::Refresh, vec![write]));
}

/// LJ-3: its jobs go with it.
fn expire(view: &View, spec: &Spec, (end, now): (Timestamp, Timestamp), plan: &mut Plan) {
    let at = spec.ttl.map(|ttl| time::after(end, ttl));
    match at {
        Some(at) if at <= now => {
            let write = Write::delete(view.itself(), &view.head.uid);
            plan.act(Chain::about(Purpose::Delete, view.itself(), vec![write]));
        }
        at => {
            if let Some(at) = at {
                plan.revisit(at);
            }
            plan.hold(view.itself(), reason::finished());
        }
    }
}
