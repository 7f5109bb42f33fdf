//! Workloads of ours, whole: their planners read spec and status from the stored object.

use std::marker::PhantomData;

use kruise_api::names::APPS_GROUP;
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Key, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Meta, index};

/// Says of which kind a [`Stored`] object is.
pub trait Kind: Send + Sync + 'static {
    const RESOURCE: Resource;
}

#[derive(Debug)]
pub struct Stored<K> {
    pub meta: Meta,
    /// Without managed fields, which nobody here reads.
    pub object: Value,
    kind: PhantomData<K>,
}

#[derive(Debug)]
pub struct CloneSetKind;

#[derive(Debug)]
pub struct StatefulSetKind;

pub type CloneSet = Stored<CloneSetKind>;
pub type StatefulSet = Stored<StatefulSetKind>;

impl Kind for CloneSetKind {
    const RESOURCE: Resource = Resource::namespaced(APPS_GROUP, "v1beta1", "clonesets", "CloneSet");
}

impl Kind for StatefulSetKind {
    const RESOURCE: Resource = Resource::namespaced(APPS_GROUP, "v1beta1", "statefulsets", "StatefulSet");
}

impl<'de, K> Deserialize<'de> for Stored<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
        }
        let meta = Meta::deserialize(object.get("metadata").unwrap_or(&Value::Null))
            .map_err(serde::de::Error::custom)?;
        Ok(Self { meta, object, kind: PhantomData })
    }
}

impl<K: Kind> Cached for Stored<K> {
    type Shared = ();
    const RESOURCE: Resource = K::RESOURCE;

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
