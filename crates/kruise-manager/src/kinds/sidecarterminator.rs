//! Registers SidecarTerminator: pods of jobs whose main containers are done while marked sidecars go on.

use std::sync::Arc;

use kruise_api::names::{APPS_GROUP, SIDECAR_TERMINATION_PREFIX, component};
use kruise_api::resource::PODS;
use kruise_core::cluster::node::Node;
use kruise_core::containerrecreaterequest::ContainerRecreateRequest;
use kruise_core::gates::Gate;
use kruise_core::lookup::Lookup;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::sidecarterminator::{View, is_due, plan};
use kruise_core::turn::Turn;
use kruise_runtime::Key;
use kruise_runtime::cache::Slim;
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;

use super::{Declared, Read, Registration, Wiring, Workers};
use crate::permissions::{Use, When, blocks_owner, manager, seen};

pub const REGISTRATION: Registration = Registration {
    name: "sidecarterminator",
    gate: Some(Gate::SidecarTerminator),
    workers: Workers::Flag("pods of jobs with sidecars"),
    reads: &[Read::of::<PodView>(), Read::of::<Node>(), Read::of::<ContainerRecreateRequest>()],
    writes: &[PODS, ContainerRecreateRequest::RESOURCE],
    controller: start,
    entries: Vec::new,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

/// ST-4: pods that are due, and those whose request is over (T1).
fn start(wiring: &Wiring<'_>) -> Start {
    if let (Some(pods), Some(requests)) =
        (wiring.store::<PodView>(), wiring.store::<ContainerRecreateRequest>())
    {
        let queue = Arc::clone(wiring.queue());
        pods.on_change(move |change| {
            if let Some(pod) = change.new.filter(|pod| is_due(pod)) {
                queue.add(pod.key());
            }
        });
        let of_requests = Arc::clone(wiring.queue());
        requests.on_change(move |change| {
            let Some(request) =
                change.new.filter(|one| one.head.name.starts_with(SIDECAR_TERMINATION_PREFIX))
            else {
                return;
            };
            if let Ok(spec) = &request.spec {
                of_requests.add(Key::new(Arc::clone(&request.head.namespace), Arc::clone(&spec.pod)));
            }
        });
    }
    wiring.start(SidecarTerminator { source: wiring.declared() })
}

struct SidecarTerminator {
    source: Declared,
}

impl SidecarTerminator {
    fn pod(&self, key: &Key) -> Option<Arc<PodView>> {
        Lookup::new(&self.source).get(key)
    }
}

impl Planner for SidecarTerminator {
    fn name(&self) -> &'static str {
        component::SIDECARTERMINATOR
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        Some(plan(&View::assemble(self.pod(key)?, &Lookup::new(&self.source)), turn.now))
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        self.pod(key).map(|pod| Subject::new(PODS, key.clone(), pod.uid.as_str()))
    }
}

/// Pods and nodes, which it reads, and the status of pods are in the tables of other kinds.
fn permissions() -> Vec<Use> {
    const PART: &str = component::SIDECARTERMINATOR;
    let uses = [
        manager(
            PART,
            APPS_GROUP,
            "containerrecreaterequests",
            vec![seen("create", "has the node agent stop sidecars of jobs that are done")],
        ),
        manager(PART, "", "pods/finalizers", vec![blocks_owner()]),
    ];
    uses.into_iter().map(|one| Use { when: When::Gate(Gate::SidecarTerminator), ..one }).collect()
}
