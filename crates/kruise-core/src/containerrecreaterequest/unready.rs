//! Takes the pod out of service before its containers stop (CR-8).

use jiff::Timestamp;
use kruise_api::finalizers::CONTAINER_RECREATE_REQUEST;
use kruise_api::{conditions, kubernetes::status, reasons};
use serde_json::{Value, json};

use super::view::View;
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView};
use crate::{readiness, time};

/// The finalizer first, so that a request that is deleted now gives the pod back; the condition last, because the agent counts from it.
/// A pod without the readiness gate stays in service: only the time is waited for.
pub fn acquire(view: &View, pod: &PodView, now: Timestamp, plan: &mut Plan) {
    let mut writes = Vec::new();
    if pod.has_readiness_gate(conditions::KRUISE_POD_READY) {
        writes.extend(hold_back(view));
        let mut edit = Edit::of(pod);
        readiness::hold(&mut edit, view.readiness_key(), now);
        writes.extend(edit.write(Guard::Version)); // Others hold entries in the same text.
    }
    writes.push(say(view, now));
    plan.act(Chain::about(Purpose::Refresh, view.itself(), writes));
}

/// Only on the very version that was seen: the list of finalizers is replaced.
fn hold_back(view: &View) -> Option<Write> {
    if view.finalizer().is_some() {
        return None;
    }
    let mut wanted = view.finalizers.to_vec();
    wanted.push(CONTAINER_RECREATE_REQUEST.to_owned());
    let ops = vec![
        Op::test("/metadata/uid", view.head.uid.as_str()),
        Op::test("/metadata/resourceVersion", view.head.version.as_str()),
        Op::add("/metadata/finalizers", json!(wanted)),
    ];
    Some(Write::patch(view.itself(), Part::Object, Patch::Json(ops)))
}

/// The condition, beside those that are there.
fn say(view: &View, now: Timestamp) -> Write {
    let condition = json!({
        "type": conditions::PRE_RECREATE_GRACE, "status": status::TRUE, "lastTransitionTime": time::seconds(now),
        "reason": reasons::condition::PRE_RECREATE_GRACE, "message": reasons::PRE_RECREATE_GRACE_MESSAGE,
    });
    let stored = view.head.status.get("conditions").and_then(Value::as_array);
    let is_other = |one: &&Value| one.get("type").is_none_or(|kind| kind != conditions::PRE_RECREATE_GRACE);
    let mut all: Vec<Value> = stored.into_iter().flatten().filter(is_other).cloned().collect();
    all.push(condition);
    let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": {"conditions": all}});
    Write::patch(view.itself(), Part::Status, Patch::Merge(body))
}
