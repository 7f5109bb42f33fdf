//! The order of the steps (PM-4 … PM-9). What nodes are told is decided per node.

use jiff::Timestamp;
use kruise_api::finalizers::POD_PROBE_MARKER;
use kruise_api::reasons::condition;
use serde_json::json;

use super::spec::Spec;
use super::view::{Member, Stand, View};
use super::{reason, serverless, status};
use crate::chain::{Chain, Event, EventKind, Op, Part, Patch, Purpose, Write};
use crate::plan::Plan;
use crate::reason::Reason;

/// The next writes for one marker, and for each pod that it selects how far it is.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if view.head.deleted.is_some() {
        release(view, &mut plan);
        return explained(view, plan, |_| Reason::OwnerDeleted);
    }
    let spec = match &view.spec {
        Ok(spec) => spec,
        Err(fault) => {
            let message = format!("{fault}: its probes stay as they are until it is corrected");
            plan.events.push(Event { kind: EventKind::Warning, reason: condition::UNREADABLE_SPEC, message });
            plan.hold(view.itself(), Reason::UnreadableSpec { field: fault.field.clone() });
            return plan; // Which pods it selects is not known.
        }
    };
    plan.act_if(hold_back(view)); // PM-5
    if view.has_serverless {
        mark_serverless(view, spec, now, &mut plan);
    }
    status::settle(view, &mut plan);
    explained(view, plan, |member| stand(member, view))
}

/// SL-3.
fn mark_serverless(view: &View, spec: &Spec, now: Timestamp, plan: &mut Plan) {
    for member in view.pods.iter().filter(|member| member.stand == Stand::Serverless) {
        plan.act_if(serverless::mark(&member.pod, spec, now));
    }
}

fn stand(member: &Member, view: &View) -> Reason {
    match &member.stand {
        Stand::NotInitialized => reason::not_initialized(),
        Stand::NoNode => Reason::WaitingForNode,
        Stand::NodeGone(node) => reason::node_gone(node),
        Stand::Serverless if view.has_serverless => reason::provider(),
        Stand::Serverless => reason::serverless(),
        Stand::NoNodePodProbe(node) => reason::no_node_pod_probe(node),
        Stand::Pending(node) => reason::pending(node),
        Stand::Probed(node) => reason::probed(node),
    }
}

fn explained(view: &View, mut plan: Plan, why: impl Fn(&Member) -> Reason) -> Plan {
    for member in &view.pods {
        plan.hold(member.pod.as_ref(), why(member));
    }
    plan
}

/// PM-5. Only on the very version that was seen: the list of finalizers is replaced.
fn hold_back(view: &View) -> Option<Chain> {
    if view.finalizer().is_some() {
        return None;
    }
    let mut wanted = view.finalizers.to_vec();
    wanted.push(POD_PROBE_MARKER.to_owned());
    let ops = vec![
        Op::test("/metadata/uid", view.head.uid.as_str()),
        Op::test("/metadata/resourceVersion", view.head.version.as_str()),
        Op::add("/metadata/finalizers", json!(wanted)),
    ];
    let write = Write::patch(view.itself(), Part::Object, Patch::Json(ops));
    Some(Chain::other(Purpose::EditSpec, vec![write]))
}

/// PM-4: nodes take the probes of a deleted marker out by themselves, also those that its pods have left (3). The finalizer goes when
/// they all have.
fn release(view: &View, plan: &mut Plan) {
    if view.listed_on > 0 {
        plan.hold(view.itself(), reason::probes_left(view.listed_on));
        return;
    }
    let Some(position) = view.finalizer() else { return };
    let path = format!("/metadata/finalizers/{position}");
    let ops = vec![
        Op::test("/metadata/uid", view.head.uid.as_str()),
        Op::test(&path, POD_PROBE_MARKER),
        Op::Remove { path },
    ];
    let write = Write::patch(view.itself(), Part::Object, Patch::Json(ops));
    plan.act(Chain::about(Purpose::Release, view.itself(), vec![write]));
}
