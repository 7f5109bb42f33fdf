//! ControllerRevisions. Those of other people's workloads are known by name only.

use std::sync::Arc;

use kruise_api::names::APPS_GROUP;
use kruise_core::revision::Revision as View;
use kruise_runtime::Resource;
use kruise_runtime::cache::{Cached, Index};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Meta, index};

#[derive(Debug)]
pub struct Revision {
    pub meta: Meta,
    /// `None` for what cannot be ours.
    pub view: Option<Arc<View>>,
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let meta = Meta::deserialize(object.get("metadata").unwrap_or(&Value::Null))
            .map_err(serde::de::Error::custom)?;
        let owned_by_us = meta.owner_references.iter().any(|owner| is_ours(&owner.api_version));
        let view =
            if owned_by_us || !meta.has_controller() { View::read(&object).map(Arc::new) } else { None };
        Ok(Self { meta, view })
    }
}

/// Any version of our group counts (SM-10a).
fn is_ours(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == APPS_GROUP)
}

impl Cached for Revision {
    type Shared = ();
    const RESOURCE: Resource =
        Resource::namespaced("apps", "v1", "controllerrevisions", "ControllerRevision");

    identified_by!(meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in &self.meta.owner_references {
            put(Index::Owner, &owner.uid);
        }
        if !self.meta.has_controller() {
            put(index::ORPHAN, &self.meta.namespace);
        }
    }
}
