//! The order of the steps.

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::resource::NODES;
use serde_json::json;

use super::object::{Listed, NodePodProbe};
use super::view::View;
use super::{result, wanted};
use crate::chain::{Chain, Op, Part, Patch, Purpose, Write};
use crate::cluster::node::Node;
use crate::lookup::Slim;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::podprobemarker::reason;

/// The next writes for one node, and for each pod that it probes how far it is.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    match (view.node.as_deref().filter(|node| node.deleted().is_none()), view.list.as_deref()) {
        (None, Some(list)) => plan.act(remove(view, list)),
        (None, None) => {}
        (Some(node), None) => create(view, node, &mut plan),
        // It has become virtual: there is no agent any more (NC-1).
        (Some(node), Some(list)) if node.is_virtual() => plan.act_if(tell(list, &[])),
        (Some(_), Some(list)) => {
            let wanted = wanted::wanted(view, &mut plan);
            plan.act_if(tell(list, &wanted));
            result::settle(view, &wanted, now, &mut plan);
        }
    }
    plan
}

/// NC-2: empty; its coming wakes this plan again. A node that is not Ready may never have been there.
fn create(view: &View, node: &Node, plan: &mut Plan) {
    if node.is_virtual() {
        return;
    }
    if node.is_ready() {
        let resource = NodePodProbe::RESOURCE;
        let body = json!({
            "apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": *view.name}, "spec": {},
        });
        let object = ObjectRef::new(resource, "", Arc::clone(&view.name));
        plan.act(Chain::about(Purpose::Create, object.clone(), vec![Write::create(object, &body)]));
    } else {
        plan.hold(ObjectRef::new(NODES, "", Arc::clone(&view.name)), reason::node_not_ready());
    }
    for pod in &view.pods {
        plan.hold(pod, reason::no_node_pod_probe(&view.name));
    }
}

/// NC-2. A node that a live read still finds is only late in the cache.
fn remove(view: &View, list: &NodePodProbe) -> Chain {
    let write = Write::delete(list.object(), &list.uid);
    let is_leaving = view.node.is_some();
    let node = ObjectRef::new(NODES, "", Arc::clone(&view.name));
    let write = if is_leaving { write } else { write.unless(node) };
    Chain::about(Purpose::Delete, list.object(), vec![write])
}

/// One write for the whole node, only on the spec that was seen (6), and only if it differs (11). The agent's results do not disturb it.
fn tell(list: &NodePodProbe, wanted: &[Listed]) -> Option<Chain> {
    if *list.pods == *wanted {
        return None;
    }
    let mut ops =
        vec![Op::test("/metadata/uid", list.uid.as_str()), Op::test("/metadata/generation", list.generation)];
    ops.push(match (wanted, list.has_spec) {
        ([], _) => Op::Remove { path: "/spec/podProbes".to_owned() },
        (some, true) => Op::add("/spec/podProbes", wanted::wire(some)),
        (some, false) => Op::add("/spec", json!({"podProbes": wanted::wire(some)})),
    });
    let write = Write::patch(list.object(), Part::Object, Patch::Json(ops));
    Some(Chain::about(Purpose::Generate, list.object(), vec![write]))
}
