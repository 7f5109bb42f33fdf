//! Registers ContainerRecreateRequest: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use kruise_api::names::{APPS_GROUP, component};
use kruise_api::resource::PODS;
use kruise_core::admission::{Operation, Question};
use kruise_core::cluster::node::Node;
use kruise_core::containerrecreaterequest::{
    ContainerRecreateRequest, OF_POD, View, admission, is_woken_by, plan,
};
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::Slim;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, live, manager, seen};
use crate::webhooks::entry::{Entry, Sort};

/// Without a gate: a request that is being deleted lets go of its pod in a cluster without node agents, too (11).
pub const REGISTRATION: Registration = Registration {
    name: "crr",
    gate: None,
    workers: Workers::Flag("ContainerRecreateRequests"),
    reads: &[Read::of::<ContainerRecreateRequest>(), Read::of::<PodView>(), Read::of::<Node>()],
    writes: &[ContainerRecreateRequest::RESOURCE, PODS],
    controller: |wiring| start(ContainerRecreateRequests, wiring),
    entries,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

pub struct ContainerRecreateRequests;

impl Planned for ContainerRecreateRequests {
    type Object = ContainerRecreateRequest;
    const CONTROLLER: &'static str = component::CONTAINERRECREATEREQUEST;

    fn head(object: &ContainerRecreateRequest) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &ContainerRecreateRequest, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, from), from.turn.now)
    }

    /// CR-1: the pod of requests that are not over, by an index (9).
    fn wake_further(wiring: &Wiring<'_>) {
        let (Some(requests), Some(pods)) =
            (wiring.store::<ContainerRecreateRequest>(), wiring.store::<PodView>())
        else {
            return;
        };
        let (requests, queue) = (Arc::clone(requests), Arc::clone(wiring.queue()));
        pods.on_change(move |change| {
            let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
            let Some(pod) = new.or(old).filter(|_| is_woken_by(old, new)) else { return };
            for request in requests.by(OF_POD, pod.uid.as_str()) {
                queue.add(request.key());
            }
        });
    }
}

fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    let judge = Arc::new(admission::admit);
    let entry = Entry::of_kind(ContainerRecreateRequest::RESOURCE, Sort::Mutating, &written, judge);
    vec![entry.asking(&[Question::Pod])]
}

/// Reading pods is in the table of CloneSet, nodes in that of BroadcastJob.
fn permissions() -> Vec<Use> {
    const PART: &str = component::CONTAINERRECREATEREQUEST;
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen(
                "patch",
                "adds its finalizer while the pod is out of service; takes it and the active label off at the end",
            ),
            seen("delete", "deletes a completed request when ttlSecondsAfterFinished is over"),
        ],
    ];
    vec![
        manager(PART, APPS_GROUP, "containerrecreaterequests", verbs.concat()),
        manager(
            PART,
            APPS_GROUP,
            "containerrecreaterequests/status",
            vec![seen("patch", "tells the node agent what the pod says, and ends requests")],
        ),
    ]
}
