//! Registers the pod readiness controller (PW-3): pods that have the Kruise readiness gate and no Kruise workload that opens it.

use std::sync::Arc;

use kruise_api::names::component;
use kruise_api::resource::PODS;
use kruise_core::admission::pod::readiness_gate;
use kruise_core::lookup::Lookup;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::readiness;
use kruise_core::turn::Turn;
use kruise_runtime::Key;
use kruise_runtime::cache::{Caches, Slim};
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;

use super::{ALL, Read, Registration, Wiring, Workers};

/// As the original, which has no flag for it.
const WORKERS: usize = 3;

pub const REGISTRATION: Registration = Registration {
    name: "podreadiness",
    gate: None,
    workers: Workers::Fixed(WORKERS),
    reads: &[Read::of::<PodView>()],
    writes: &[PODS],
    controller: start,
    entries: Vec::new,
    pod_step: Some(readiness_gate),
    cares_for: None,
    // It patches the status of pods, which CloneSet asks for already.
    permissions: Vec::new,
    blocks_uninstall: None,
};

/// Only pods that could need it are woken: this runs for every event of every pod.
fn start(wiring: &Wiring<'_>) -> Start {
    if let Some(pods) = wiring.store::<PodView>() {
        let queue = Arc::clone(wiring.queue());
        pods.on_change(move |change| {
            if let Some(pod) = change.new.filter(|pod| readiness::is_unopened(pod)) {
                queue.add(pod.key());
            }
        });
    }
    wiring.start(PodReadiness { caches: Arc::clone(&wiring.stores.caches) })
}

struct PodReadiness {
    /// All of them: any workload may look after a pod.
    caches: Arc<Caches>,
}

impl Planner for PodReadiness {
    fn name(&self) -> &'static str {
        component::POD_READINESS
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let lookup = Lookup::new(self.caches.as_ref());
        let pod = lookup.get::<PodView>(key)?;
        // Its own workload opens the gate together with its other first writes.
        let has_planner = pod.controller().is_some_and(|owner| {
            ALL.iter().filter_map(|one| one.cares_for).any(|cares_for| cares_for(lookup, owner.uid.as_str()))
        });
        Some(if has_planner { Plan::default() } else { readiness::plan(&pod, turn.now) })
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let pod = Lookup::new(self.caches.as_ref()).get::<PodView>(key)?;
        Some(Subject::new(PODS, key.clone(), pod.uid.as_str()))
    }
}
