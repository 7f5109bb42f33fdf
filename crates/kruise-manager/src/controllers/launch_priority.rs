//! Wires the container launch priority controller (SM-97, SM-98): pods with barriers that are not up yet, and the ConfigMap
//! of each, which is read live. Decides nothing.

use std::sync::Arc;

use kruise_api::names::component;
use kruise_core::chain::Resource as Target;
use kruise_core::launch::{self, Barrier};
use kruise_core::plan::Plan;
use kruise_runtime::apply::Resources;
use kruise_runtime::cache::Cached;
use kruise_runtime::controller::{Planner, Turn};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;
use kruise_runtime::{Key, Resource};
use serde_json::Value;

use super::pods;
use crate::objects::CONFIG_MAP;
use crate::stores::Stores;

/// As the original, which has no flag for it.
pub const WORKERS: usize = 4;

pub struct LaunchPriority {
    stores: Arc<Stores>,
}

impl LaunchPriority {
    pub fn new(stores: Arc<Stores>) -> Self {
        Self { stores }
    }

    pub fn wake(stores: &Stores, queue: &Arc<Queue>) {
        let queue = Arc::clone(queue);
        stores.pods.on_change(move |change| {
            if let Some(pod) = change.new.filter(|pod| launch::is_waiting(&pod.0)) {
                queue.add(pod.key());
            }
        });
    }
}

impl Planner for LaunchPriority {
    fn name(&self) -> &'static str {
        component::LAUNCH_PRIORITY
    }

    fn uncached(&self, key: &Key) -> Option<(Resource, Key)> {
        let pod = self.stores.pods.get(key).filter(|pod| launch::is_waiting(&pod.0))?;
        let name = launch::config_map_name(pod.0.name.as_str());
        Some((CONFIG_MAP, Key::new(Arc::clone(&key.namespace), name)))
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let pod = self.stores.pods.get(key)?;
        let live = turn.live.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
        Some(launch::plan(&pod.0, live.as_ref().map(Barrier::read).as_ref(), turn.now))
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        pods::subject(&self.stores, key)
    }
}

impl Resources for LaunchPriority {
    fn of(&self, target: Target) -> Resource {
        pods::resource(target)
    }
}
