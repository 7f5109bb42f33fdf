//! How caches hold pods and what they are found by.

use std::sync::Arc;

use kruise_api::{Resource, resource::PODS};

use super::{PodView, SharedParts};
use crate::lookup::{Index, Slim};
use crate::object::Key;
use crate::statefulset::Ordinal;

/// Pods without an owner, by the StatefulSet that their name speaks of; see [`orphan_of`].
pub const ORPHAN: Index = Index::Other("orphan");

/// By namespace, for kinds that select pods by labels and do not own them. Costs one key per pod (two shared texts, 32 bytes and its
/// place in a tree); a reader pays for all pods of one namespace, not of the cluster.
pub const NAMESPACE: Index = Index::Other("namespace");

/// Under which entry an orphan is found that has the name of a pod of this StatefulSet (AS-4).
pub fn orphan_of(namespace: &str, set: &str) -> String {
    format!("{namespace}/{set}")
}

impl Slim for PodView {
    type Shared = SharedParts;
    const RESOURCE: Resource = PODS;

    fn key(&self) -> Key {
        Key::new(Arc::clone(&self.namespace), self.name.shared())
    }

    fn uid(&self) -> &str {
        self.uid.as_str()
    }

    fn resource_version(&self) -> &str {
        self.version.as_str()
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(NAMESPACE, &self.namespace);
        for owner in &self.owners {
            put(Index::Owner, owner.uid.as_str());
        }
        if let (None, Some((set, _))) = (self.controller(), Ordinal::split(self.name.as_str())) {
            put(ORPHAN, &orphan_of(&self.namespace, set));
        }
    }

    fn share(&mut self, shared: &mut SharedParts) {
        shared.share(self);
    }
}
