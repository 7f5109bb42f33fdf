//! Wires the pod readiness controller (PW-3): pods that have our readiness gate and no workload of ours that opens it. Decides
//! nothing.

use std::sync::Arc;

use kruise_api::{conditions, names::component};
use kruise_core::chain::Resource as Target;
use kruise_core::plan::Plan;
use kruise_core::readiness;
use kruise_runtime::apply::Resources;
use kruise_runtime::cache::Cached;
use kruise_runtime::controller::{Planner, Turn};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;
use kruise_runtime::{Key, Resource};

use super::pods;
use crate::objects::Pod;
use crate::stores::Stores;

/// As the original, which has no flag for it.
pub const WORKERS: usize = 3;

pub struct PodReadiness {
    stores: Arc<Stores>,
}

impl PodReadiness {
    pub fn new(stores: Arc<Stores>) -> Self {
        Self { stores }
    }

    /// Only pods that could need it: this runs for every event of every pod.
    pub fn wake(stores: &Stores, queue: &Arc<Queue>) {
        let queue = Arc::clone(queue);
        stores.pods.on_change(move |change| {
            if let Some(pod) = change.new.filter(|pod| is_closed(pod)) {
                queue.add(pod.key());
            }
        });
    }
}

impl Planner for PodReadiness {
    fn name(&self) -> &'static str {
        component::POD_READINESS
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let pod = self.stores.pods.get(key)?;
        // Its own workload opens the gate together with its other first writes.
        let is_ours = pods::has_planner(&self.stores, &pod);
        Some(if is_ours { Plan::default() } else { readiness::plan(&pod.0, turn.now) })
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        pods::subject(&self.stores, key)
    }
}

impl Resources for PodReadiness {
    fn of(&self, target: Target) -> Resource {
        pods::resource(target)
    }
}

fn is_closed(pod: &Pod) -> bool {
    let kind = conditions::KRUISE_POD_READY;
    pod.0.has_readiness_gate(kind) && pod.0.condition(kind).is_none()
}
