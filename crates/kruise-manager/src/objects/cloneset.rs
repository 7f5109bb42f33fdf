//! CloneSets, whole: the planner reads its spec and status from the stored object.

use kruise_api::names::APPS_GROUP;
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Key, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Meta, index};

#[derive(Debug)]
pub struct CloneSet {
    pub meta: Meta,
    /// Without managed fields, which nobody here reads.
    pub object: Value,
}

impl<'de> Deserialize<'de> for CloneSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
        }
        let meta = Meta::deserialize(object.get("metadata").unwrap_or(&Value::Null))
            .map_err(serde::de::Error::custom)?;
        Ok(Self { meta, object })
    }
}

impl Cached for CloneSet {
    type Shared = ();
    const RESOURCE: Resource = Resource::namespaced(APPS_GROUP, "v1beta1", "clonesets", "CloneSet");

    fn key(&self) -> Key {
        self.meta.key()
    }

    fn uid(&self) -> &str {
        &self.meta.uid
    }

    fn resource_version(&self) -> &str {
        &self.meta.resource_version
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(index::UID, &self.meta.uid);
    }
}
