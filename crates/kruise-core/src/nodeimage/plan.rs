//! The order of the steps (NI-1 … NI-11).

use jiff::Timestamp;
use serde_json::json;

use super::object::NodeImage;
use super::view::{Existence, View};
use super::{clean, overdue, reason};
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::cluster::node::Node;
use crate::lookup::Slim;
use crate::plan::Plan;
use crate::reason::Reason;
use crate::time;

/// NI-11: time-outs that come in quick succession are dealt with together.
const TOGETHER_SECONDS: i64 = 3;

/// The next writes for the NodeImage of one node.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    match (&view.object, &view.node) {
        (Some(object), _) if object.is_deleted() => plan.hold(view.itself(), Reason::Terminating),
        (Some(object), Existence::Gone) if !object.is_fake() => remove(view, object, &mut plan),
        (Some(object), Existence::There(node)) => keep(view, object, Some(node), now, &mut plan),
        (Some(object), Existence::Gone | Existence::Unknown) => keep(view, object, None, now, &mut plan),
        (None, Existence::There(node)) => create(view, node, now, &mut plan),
        (None, Existence::Gone | Existence::Unknown) => {}
    }
    plan
}

/// NI-3.
fn remove(view: &View, object: &NodeImage, plan: &mut Plan) {
    let write = Write::delete(view.itself(), &object.identity().0);
    plan.act(Chain::about(Purpose::Delete, view.itself(), vec![write]));
}

/// NI-1, NI-2, with the labels of NI-4 at once.
fn create(view: &View, node: &Node, now: Timestamp, plan: &mut Plan) {
    let itself = view.itself();
    if node.is_virtual() {
        return plan.hold(itself, reason::virtual_node());
    }
    let Some(since) = node.ready_since() else {
        return plan.hold(itself, reason::not_ready());
    };
    let at = time::after(since, view.delay_seconds);
    if now < at {
        plan.revisit(at);
        return plan.hold(itself, reason::ready_since_too_short(view.delay_seconds, at));
    }
    let resource = NodeImage::RESOURCE;
    let body = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind(),
        "metadata": {"name": view.name, "labels": node.labels()}, "spec": {},
    });
    plan.act(Chain::about(Purpose::Create, itself.clone(), vec![Write::create(itself, &body)]));
}

/// NI-4 … NI-10. The status waits for the spec (NI-7).
fn keep(
    view: &View,
    object: &NodeImage,
    node: Option<&std::sync::Arc<Node>>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let itself = view.itself();
    let clean::Cleaned { mut ops, left, next } = clean::tags(view, object, now);
    if let Some(node) = node.filter(|node| !object.has_labels(node.labels())) {
        ops.push(Op::add("/metadata/labels", json!(node.labels())));
    }
    if !ops.is_empty() {
        ops.extend(clean::secrets(view, object, &left, clean::Modes::All));
        let write = guarded(object, ops, Part::Object);
        return plan.act(Chain::about(Purpose::Refresh, itself, vec![write]));
    }
    let legacy = clean::secrets(view, object, &left, clean::Modes::Legacy);
    if !legacy.is_empty() {
        let write = guarded(object, legacy, Part::Object);
        return plan.act(Chain::about(Purpose::Refresh, itself, vec![write]));
    }
    let overdue = overdue::tags(object, now);
    for at in next.into_iter().chain(overdue.next) {
        plan.revisit(at.max(time::after(now, TOGETHER_SECONDS)));
    }
    if overdue.failed.is_empty() {
        return plan.hold(itself, Reason::Done);
    }
    plan.events.extend(overdue.failed.iter().map(|one| one.event(&view.name)));
    let report = overdue::report(object, &overdue.failed, now);
    plan.act(Chain::about(Purpose::Refresh, itself, vec![guarded(object, report, Part::Status)]));
}

/// Positions in lists are those of the version that was seen.
fn guarded(object: &NodeImage, ops: Vec<Op>, part: Part) -> Write {
    let (uid, version) = object.identity();
    let tests =
        [Op::test("/metadata/uid", uid.as_str()), Op::test("/metadata/resourceVersion", version.as_str())];
    Write::patch(object.object(), part, Patch::Json(tests.into_iter().chain(ops).collect()))
}
