//! Registers the container launch priority controller (SM-97, SM-98): pods with barriers that are not up yet, and the ConfigMap
//! of each, which is read live.

use std::sync::Arc;

use kruise_api::names::component;
use kruise_api::resource::{CONFIG_MAPS, PODS};
use kruise_core::launch::{self, Barrier};
use kruise_core::lookup::Lookup;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::turn::Turn;
use kruise_runtime::cache::Slim;
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;
use kruise_runtime::{Key, ObjectRef};
use serde_json::Value;

use super::{Declared, Read, Registration, Wiring, Workers};
use crate::permissions::{Proof, Use, Verb, manager, seen};

/// As the original, which has no flag for it.
const WORKERS: usize = 4;

pub const REGISTRATION: Registration = Registration {
    name: "launchpriority",
    gate: None,
    workers: Workers::Fixed(WORKERS),
    reads: &[Read::of::<PodView>()],
    writes: &[PODS, CONFIG_MAPS],
    controller: start,
    entries: Vec::new,
    pod_step: Some(launch::pod_step),
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

fn start(wiring: &Wiring<'_>) -> Start {
    if let Some(pods) = wiring.store::<PodView>() {
        let queue = Arc::clone(wiring.queue());
        pods.on_change(move |change| {
            if let Some(pod) = change.new.filter(|pod| launch::is_waiting(pod)) {
                queue.add(pod.key());
            }
        });
    }
    wiring.start(LaunchPriority { source: wiring.declared() })
}

struct LaunchPriority {
    source: Declared,
}

impl LaunchPriority {
    fn pod(&self, key: &Key) -> Option<Arc<PodView>> {
        Lookup::new(&self.source).get(key)
    }
}

impl Planner for LaunchPriority {
    fn name(&self) -> &'static str {
        component::LAUNCH_PRIORITY
    }

    fn uncached(&self, key: &Key) -> Vec<ObjectRef> {
        let pod = self.pod(key).filter(|pod| launch::is_waiting(pod));
        let name = pod.map(|pod| launch::config_map_name(pod.name.as_str()));
        name.map(|name| ObjectRef::new(CONFIG_MAPS, Arc::clone(&key.namespace), name)).into_iter().collect()
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let pod = self.pod(key)?;
        let live = turn
            .live
            .values()
            .next()
            .and_then(Option::as_deref)
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        Some(launch::plan(&pod, live.as_ref().map(Barrier::read).as_ref(), turn.now))
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        self.pod(key).map(|pod| Subject::new(PODS, key.clone(), pod.uid.as_str()))
    }
}

fn permissions() -> Vec<Use> {
    let replaced = Proof::Test(
        "kruise-core/src/launch/tests.rs::shared_machinery_m10_a_config_map_of_an_earlier_pod_is_replaced",
    );
    let verbs = vec![
        seen("get", "reads which containers of a pod may start; one ConfigMap by name, never a list"),
        seen("create", "creates the launch barrier of a pod"),
        seen("patch", "lets the next containers start"),
        Verb {
            name: "delete",
            why: "deletes the barrier of an earlier pod of the same name",
            proof: replaced,
        },
    ];
    vec![manager(component::LAUNCH_PRIORITY, "", "configmaps", verbs)]
}
