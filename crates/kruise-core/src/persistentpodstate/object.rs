//! PersistentPodStates and the workloads they point to, as caches hold them.

use std::sync::Arc;

use kruise_api::apps::persistentpodstate::PersistentPodState as Wire;
use kruise_api::resource::NATIVE_STATEFULSETS;
use kruise_api::{Kind, Resource, resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::target::Target;
use super::view::Workload;
use crate::cluster::meta::{Meta, identified_by};
use crate::lookup::{Index, Slim};
use crate::object::Key;
use crate::workload::base::Head;

/// Objects that point to a workload, by that workload; see [`target_entry`].
pub const TARGET: Index = Index::Other("target");

/// Under which entry an object is found that points to this workload.
pub fn target_entry(namespace: &str, target: &Target) -> String {
    format!("{namespace}/{}/{}/{}", target.group, target.kind, target.name)
}

#[derive(Debug)]
pub struct PersistentPodState {
    pub meta: Meta,
    /// Without managed fields, which no rule reads.
    pub object: Value,
}

/// The StatefulSet of Kubernetes itself.
#[derive(Debug)]
pub struct NativeStatefulSet {
    pub head: Arc<Head>,
    /// `None` while it is being deleted.
    pub workload: Option<Workload>,
}

/// A workload of a kind that the administrator lists.
#[derive(Debug)]
pub struct CustomWorkload {
    pub head: Arc<Head>,
    /// `None` while it is being deleted.
    pub workload: Option<Workload>,
}

impl PersistentPodState {
    pub fn target(&self) -> Target {
        Target::read(self.object.pointer("/spec/targetRef").unwrap_or(&Value::Null))
    }
}

impl<'de> Deserialize<'de> for PersistentPodState {
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

impl Slim for PersistentPodState {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by!(meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, &self.meta.uid);
        put(TARGET, &target_entry(&self.meta.namespace, &self.target()));
    }
}

/// Whom it is, what it asks for by annotations, and its size; not its status.
fn reduced(mut object: Value) -> (Arc<Head>, Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    (Arc::new(Head::of(&object)), object)
}

macro_rules! of_head {
    () => {
        fn key(&self) -> Key {
            self.head.key()
        }

        fn uid(&self) -> &str {
            self.head.uid.as_str()
        }

        fn resource_version(&self) -> &str {
            self.head.version.as_str()
        }

        fn index(&self, put: &mut dyn FnMut(Index, &str)) {
            put(Index::Uid, self.uid());
        }
    };
}

impl<'de> Deserialize<'de> for NativeStatefulSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (head, object) = reduced(Value::deserialize(deserializer)?);
        Ok(Self { workload: Workload::of_statefulset(&object), head })
    }
}

impl Slim for NativeStatefulSet {
    type Shared = ();
    const RESOURCE: Resource = NATIVE_STATEFULSETS;

    of_head!();
}

impl<'de> Deserialize<'de> for CustomWorkload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (head, object) = reduced(Value::deserialize(deserializer)?);
        Ok(Self { workload: Workload::of_custom(&object), head })
    }
}

impl Slim for CustomWorkload {
    type Shared = ();
    /// Of no type that is known here: its watch says where it is.
    const RESOURCE: Resource = resource!("", "", "", "workload of a listed kind", Namespaced);

    of_head!();
}
