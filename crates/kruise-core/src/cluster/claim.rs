//! PersistentVolumeClaims: as planners see them, and made from claim templates (CS-62, AS-81).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::kubernetes::{FILE_SYSTEM_RESIZE_PENDING, status};
use kruise_api::{Resource, annotations, labels, resource::CLAIMS};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::cluster::quantity::Quantity;
use crate::ids::{ClaimName, InstanceId, ResourceVersion, Uid};
use crate::lookup::{Index, Slim};
use crate::object::Key;

/// What the planners of all kinds read of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub namespace: Arc<str>,
    pub name: ClaimName,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub deleted: Option<Timestamp>,
    /// In wire order: changes address them by position.
    pub owners: Box<[ClaimOwner]>,
    /// The CloneSet instance that it belongs to.
    pub instance: Option<InstanceId>,
    /// Name of the StatefulSet that expands it.
    pub grown_by: Option<String>,
    pub class: Option<String>,
    pub modes: Box<[String]>,
    pub request: Option<Quantity>,
    pub capacity: Option<Quantity>,
    pub resize: FileSystem,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimOwner {
    pub kind: String,
    pub name: String,
    pub uid: Uid,
}

/// Whether the volume has grown and only its file system waits for the pod to restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    ResizePending,
    Settled,
}

impl Claim {
    /// Reads a wire object.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let list = |path: &str| object.pointer(path).and_then(Value::as_array).into_iter().flatten();
        let quantity = |path: &str| text(path).and_then(|text| Quantity::read(text).ok());
        let member = |map: &str, key: &str| object.pointer(map)?.get(key)?.as_str();
        let field =
            |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_pending = list("/status/conditions").any(|one| {
            field(one, "type") == FILE_SYSTEM_RESIZE_PENDING && field(one, "status") == status::TRUE
        });
        Some(Self {
            namespace: text("/metadata/namespace").unwrap_or_default().into(),
            name: ClaimName::new(text("/metadata/name")?),
            uid: Uid::new(text("/metadata/uid").unwrap_or_default()),
            version: ResourceVersion::new(text("/metadata/resourceVersion").unwrap_or_default()),
            deleted: text("/metadata/deletionTimestamp").and_then(crate::time::read),
            owners: list("/metadata/ownerReferences")
                .map(|one| ClaimOwner {
                    kind: field(one, "kind"),
                    name: field(one, "name"),
                    uid: Uid::new(field(one, "uid")),
                })
                .collect(),
            instance: member("/metadata/labels", labels::CLONESET_INSTANCE_ID).map(InstanceId::new),
            grown_by: member("/metadata/annotations", annotations::OWNED_BY_STATEFULSET).map(str::to_owned),
            class: text("/spec/storageClassName").map(str::to_owned),
            modes: list("/spec/accessModes").filter_map(Value::as_str).map(str::to_owned).collect(),
            request: quantity("/spec/resources/requests/storage"),
            capacity: quantity("/status/capacity/storage"),
            resize: if is_pending { FileSystem::ResizePending } else { FileSystem::Settled },
        })
    }

    /// Where the reference to this owner stands.
    pub fn owner_position(&self, uid: &Uid) -> Option<usize> {
        self.owners.iter().position(|owner| owner.uid == *uid)
    }
}

/// PVCs that carry a CloneSet instance id, by namespace.
pub const INSTANCE: Index = Index::Other("instance");

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        Self::read(&object).ok_or_else(|| serde::de::Error::custom("a PVC without a name"))
    }
}

impl Slim for Claim {
    type Shared = ();
    const RESOURCE: Resource = CLAIMS;

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
        for owner in &self.owners {
            put(Index::Owner, owner.uid.as_str());
        }
        if self.instance.is_some() {
            put(INSTANCE, &self.namespace);
        }
    }
}

pub fn template_name(template: &Value) -> &str {
    template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The object to create, with its labels and owner references.
pub fn body(
    namespace: &str,
    name: &ClaimName,
    template: &Value,
    (labels, owners): (&BTreeMap<String, String>, &[Value]),
) -> Value {
    let mut metadata = json!({"name": name.as_str(), "namespace": namespace, "labels": labels});
    if let Some(object) = metadata.as_object_mut() {
        if !owners.is_empty() {
            object.insert("ownerReferences".to_owned(), json!(owners));
        }
        if let Some(annotations) = template.pointer("/metadata/annotations").filter(|value| value.is_object())
        {
            object.insert("annotations".to_owned(), annotations.clone());
        }
    }
    let claim_spec = template.get("spec").cloned().unwrap_or_else(|| json!({}));
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim_spec})
}
