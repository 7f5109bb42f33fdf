//! What the caches hold: per resource type only what a view is assembled from.

/// Three methods of `Cached` for a type whose [`Meta`] is that field.
macro_rules! identified_by {
    ($($field:ident).+) => {
        fn key(&self) -> kruise_runtime::Key {
            self.$($field).+.key()
        }

        fn uid(&self) -> &str {
            &self.$($field).+.uid
        }

        fn resource_version(&self) -> &str {
            &self.$($field).+.resource_version
        }
    };
}

mod claim;
mod custom;
#[cfg(test)]
mod memory;
mod node;
mod pod;
mod pull_job;
mod revision;
mod storage_class;
mod workload;

pub use claim::Claim;
pub use custom::{Configuration, CustomWorkload};
pub use node::Node;
pub use pod::Pod;
pub use pull_job::PullJob;
pub use revision::Revision;
pub use storage_class::StorageClass;
pub use workload::{
    CloneSet, CloneSetKind, Kind, NativeStatefulSet, PersistentPodState, StatefulSet, StatefulSetKind,
    Stored, target_entry,
};

use std::sync::Arc;

use kruise_api::names::POLICY_GROUP;
use kruise_core::chain::Resource as Target;
use kruise_runtime::cache::Cached;
use kruise_runtime::{Key, Resource, Scope};
use serde::Deserialize;

/// Read live when they are asked, never cached.
const BUDGETS: Resource =
    Resource::namespaced(POLICY_GROUP, "v1beta1", "podunavailablebudgets", "PodUnavailableBudget");

/// Read one by one where they are needed: nobody should hold all configuration of a cluster.
pub const CONFIG_MAP: Resource = Resource::core("configmaps", "ConfigMap", Scope::Namespaced);

/// The type that a write of a plan is about; `workload` is that of the object the plan is for.
pub fn resource(target: Target, workload: Resource) -> Resource {
    match target {
        Target::Pod => Pod::RESOURCE,
        Target::Claim => Claim::RESOURCE,
        Target::Revision => Revision::RESOURCE,
        Target::ImagePullJob => PullJob::RESOURCE,
        Target::Budget => BUDGETS,
        Target::ConfigMap => CONFIG_MAP,
        Target::Workload => workload,
    }
}

/// Names of the indexes that are ours.
pub mod index {
    use kruise_runtime::cache::Index;

    /// A workload by its own uid: dependents know only that.
    pub const UID: Index = Index::Other("uid");
    /// Revisions that nobody owns, by namespace; pods that nobody owns, by the StatefulSet that their name speaks of.
    pub const ORPHAN: Index = Index::Other("orphan");
    /// Claims that carry an instance id, by namespace.
    pub const INSTANCE: Index = Index::Other("instance");
    /// Objects that point to a workload, by that workload.
    pub const TARGET: Index = Index::Other("target");
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

    pub fn has_controller(&self) -> bool {
        self.owner_references.iter().any(|owner| owner.controller)
    }
}
