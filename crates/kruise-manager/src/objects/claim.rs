//! PersistentVolumeClaims.

use kruise_api::labels;
use kruise_core::cloneset;
use kruise_core::ids::{ClaimName, InstanceId, ResourceVersion, Uid};
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Key, Resource, Scope};
use serde::Deserialize;

use super::{Meta, index};

#[derive(Debug, Deserialize)]
pub struct Claim {
    #[serde(rename = "metadata")]
    pub meta: ClaimMeta,
}

#[derive(Debug, Deserialize)]
pub struct ClaimMeta {
    #[serde(flatten)]
    pub meta: Meta,
    #[serde(default)]
    labels: ClaimLabels,
}

#[derive(Debug, Default, Deserialize)]
struct ClaimLabels(#[serde(deserialize_with = "instance_label")] Option<String>);

/// The only label of a claim that is read.
fn instance_label<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let mut all = std::collections::BTreeMap::<String, String>::deserialize(deserializer)?;
    Ok(all.remove(labels::CLONESET_INSTANCE_ID))
}

impl Claim {
    /// As the planner of one CloneSet sees it.
    pub fn view(&self, owner: &Uid) -> cloneset::Claim {
        let meta = &self.meta.meta;
        let owner = meta.owner_position(owner);
        cloneset::Claim {
            name: ClaimName::new(&*meta.name),
            uid: Uid::new(meta.uid.as_str()),
            version: ResourceVersion::new(meta.resource_version.as_str()),
            instance: self.instance().map(InstanceId::new),
            owner: owner
                .map_or(cloneset::ClaimOwner::SomebodyElse, |position| cloneset::ClaimOwner::Us { position }),
            deleted: meta.deletion_timestamp,
        }
    }

    pub fn instance(&self) -> Option<&str> {
        self.meta.labels.0.as_deref()
    }
}

impl Cached for Claim {
    type Shared = ();
    const RESOURCE: Resource =
        Resource::core("persistentvolumeclaims", "PersistentVolumeClaim", Scope::Namespaced);

    fn key(&self) -> Key {
        self.meta.meta.key()
    }

    fn uid(&self) -> &str {
        &self.meta.meta.uid
    }

    fn resource_version(&self) -> &str {
        &self.meta.meta.resource_version
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in &self.meta.meta.owner_references {
            put(Index::Owner, &owner.uid);
        }
        if self.instance().is_some() {
            put(index::INSTANCE, &self.meta.meta.namespace);
        }
    }
}
