//! Workloads of ours, whole: their planners read spec and status from the stored object.

use std::marker::PhantomData;

use kruise_api::names::APPS_GROUP;
use kruise_core::persistentpodstate::{NATIVE_GROUP, Target};
use kruise_runtime::Resource;
use kruise_runtime::cache::{Cached, Index};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Meta, index};

/// Says of which kind a [`Stored`] object is.
pub trait Kind: Send + Sync + 'static {
    const RESOURCE: Resource;

    /// Entries besides its uid.
    fn index(_object: &Value, _put: &mut dyn FnMut(Index, &str)) {}
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

/// The StatefulSet of Kubernetes itself.
#[derive(Debug)]
pub struct NativeStatefulSetKind;

#[derive(Debug)]
pub struct PersistentPodStateKind;

pub type CloneSet = Stored<CloneSetKind>;
pub type StatefulSet = Stored<StatefulSetKind>;
pub type NativeStatefulSet = Stored<NativeStatefulSetKind>;
pub type PersistentPodState = Stored<PersistentPodStateKind>;

impl Kind for CloneSetKind {
    const RESOURCE: Resource = Resource::namespaced(APPS_GROUP, "v1beta1", "clonesets", "CloneSet");
}

impl Kind for StatefulSetKind {
    const RESOURCE: Resource = Resource::namespaced(APPS_GROUP, "v1beta1", "statefulsets", "StatefulSet");
}

impl Kind for NativeStatefulSetKind {
    const RESOURCE: Resource = Resource::namespaced(NATIVE_GROUP, "v1", "statefulsets", "StatefulSet");
}

impl Kind for PersistentPodStateKind {
    const RESOURCE: Resource =
        Resource::namespaced(APPS_GROUP, "v1beta1", "persistentpodstates", "PersistentPodState");

    fn index(object: &Value, put: &mut dyn FnMut(Index, &str)) {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let target = Target::read(object.pointer("/spec/targetRef").unwrap_or(&Value::Null));
        put(index::TARGET, &target_entry(namespace, &target));
    }
}

/// Under which entry an object is found that points to this workload.
pub fn target_entry(namespace: &str, target: &Target) -> String {
    format!("{namespace}/{}/{}/{}", target.group, target.kind, target.name)
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

    identified_by!(meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(index::UID, &self.meta.uid);
        K::index(&self.object, put);
    }
}
