//! What controllers of single pods share: whom their events are about, and which types their writes are about.

use std::sync::Arc;

use kruise_core::chain::Resource as Target;
use kruise_runtime::cache::Cached;
use kruise_runtime::events::Subject;
use kruise_runtime::{Key, Resource};

use crate::objects::{self, Pod, index};
use crate::stores::Stores;

pub fn subject(stores: &Stores, key: &Key) -> Option<Subject> {
    let pod = stores.pods.get(key)?;
    Some(Subject {
        api_version: Pod::RESOURCE.api_version(),
        kind: Pod::RESOURCE.kind,
        namespace: Arc::clone(&key.namespace),
        name: Arc::clone(&key.name),
        uid: pod.0.uid.as_str().to_owned(),
    })
}

/// Here a pod is the workload.
pub fn resource(target: Target) -> Resource {
    objects::resource(target, Pod::RESOURCE)
}

/// Whether a workload of ours looks after this pod in its own plans.
pub fn has_planner(stores: &Stores, pod: &Pod) -> bool {
    pod.0.controller().is_some_and(|owner| {
        let uid = owner.uid.as_str();
        !stores.clonesets.by(index::UID, uid).is_empty()
            || !stores.statefulsets.by(index::UID, uid).is_empty()
    })
}
