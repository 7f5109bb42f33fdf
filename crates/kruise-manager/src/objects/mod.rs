//! What the caches hold: per resource type only what a view is assembled from.

mod claim;
mod cloneset;
#[cfg(test)]
mod memory;
mod node;
mod pod;
mod pull_job;
mod revision;

pub use claim::Claim;
pub use cloneset::CloneSet;
pub use node::Node;
pub use pod::Pod;
pub use pull_job::PullJob;
pub use revision::Revision;

use std::sync::Arc;

use kruise_core::ids::Uid;
use kruise_runtime::Key;
use serde::Deserialize;

/// Names of the indexes that are ours.
pub mod index {
    use kruise_runtime::cache::Index;

    /// A workload by its own uid: dependents know only that.
    pub const UID: Index = Index::Other("uid");
    /// Revisions and claims that nobody owns, by namespace.
    pub const ORPHAN: Index = Index::Other("orphan");
    /// Claims that carry an instance id, by namespace.
    pub const INSTANCE: Index = Index::Other("instance");
}

/// Metadata that every slim type needs.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    #[serde(default)]
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub resource_version: String,
    #[serde(default)]
    pub owner_references: Vec<OwnerReference>,
    pub deletion_timestamp: Option<jiff::Timestamp>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    #[serde(default)]
    pub api_version: String,
    pub uid: String,
    #[serde(default)]
    pub controller: bool,
}

impl Meta {
    pub fn key(&self) -> Key {
        Key { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    /// Where the reference to this owner stands.
    pub fn owner_position(&self, uid: &Uid) -> Option<usize> {
        self.owner_references.iter().position(|owner| owner.uid == uid.as_str())
    }

    pub fn has_controller(&self) -> bool {
        self.owner_references.iter().any(|owner| owner.controller)
    }
}
