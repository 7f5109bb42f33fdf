//! Pods: the planner's own slim view, straight from the stream.

use std::sync::Arc;

use kruise_core::pod::{PodView, SharedParts};
use kruise_core::statefulset::Ordinal;
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Key, Resource, Scope};
use serde::Deserialize;

use super::index;

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Pod(pub Arc<PodView>);

impl Pod {
    /// Under which entry an orphan is found that has the name of a pod of this StatefulSet (AS-4).
    pub fn orphan_of(namespace: &str, set: &str) -> String {
        format!("{namespace}/{set}")
    }
}

impl Cached for Pod {
    type Shared = SharedParts;
    const RESOURCE: Resource = Resource::core("pods", "Pod", Scope::Namespaced);

    fn key(&self) -> Key {
        Key::new(Arc::clone(&self.0.namespace), self.0.name.shared())
    }

    fn uid(&self) -> &str {
        self.0.uid.as_str()
    }

    fn resource_version(&self) -> &str {
        self.0.version.as_str()
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in &self.0.owners {
            put(Index::Owner, owner.uid.as_str());
        }
        if let (None, Some((set, _))) = (self.0.controller(), Ordinal::split(self.0.name.as_str())) {
            put(index::ORPHAN, &Self::orphan_of(&self.0.namespace, set));
        }
    }

    fn share(&mut self, shared: &mut SharedParts) {
        // Just decoded: nobody else holds it yet.
        if let Some(view) = Arc::get_mut(&mut self.0) {
            shared.share(view);
        }
    }
}
