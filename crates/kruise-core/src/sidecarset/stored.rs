//! A ControllerRevision of a SidecarSet (3.5).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::annotations::{SIDECARSET_HASH, SIDECARSET_HASH_WITHOUT_IMAGE};
use kruise_api::labels::{SIDECARSET_CUSTOM_VERSION, SIDECARSET_NAME};
use serde_json::Value;

use super::data::{Data, Hashes};
use super::sidecar::Sidecars;
use crate::fault::Fault;
use crate::ids::{ResourceVersion, RevisionName, Uid};
use crate::lookup::{Index, Lookup};
use crate::pod::string_map;
use crate::revision::Known;
use crate::time;

/// Revisions by the SidecarSet that their label names.
pub const REVISIONS_OF: Index = Index::Other("sidecarset");

/// What planners and injection read of it.
#[derive(Debug, Clone)]
pub struct Stored {
    pub namespace: Arc<str>,
    pub name: RevisionName,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub number: i64,
    pub created: Option<Timestamp>,
    /// The SidecarSet, by name.
    pub set: Arc<str>,
    /// Uids of owners.
    pub owners: Vec<Uid>,
    pub labels: BTreeMap<String, String>,
    hashes: Option<Hashes>,
    spec: Arc<Value>,
    /// As this release would write it; absent where it cannot be read.
    pub data: Option<Data>,
}

impl Stored {
    /// Reads a ControllerRevision; `None` if it is not one of a SidecarSet.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let labels = string_map(object.pointer("/metadata/labels"));
        let set: Arc<str> = labels.get(SIDECARSET_NAME)?.as_str().into();
        let annotations = string_map(object.pointer("/metadata/annotations"));
        let noted = |key: &str| annotations.get(key).cloned().filter(|hash| !hash.is_empty());
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owners = owners.into_iter().flatten();
        let spec = object.pointer("/data/spec")?.clone();
        Some(Self {
            namespace: text("/metadata/namespace").unwrap_or_default().into(),
            name: RevisionName::new(text("/metadata/name")?),
            uid: Uid::new(text("/metadata/uid").unwrap_or_default()),
            version: ResourceVersion::new(text("/metadata/resourceVersion").unwrap_or_default()),
            number: object.get("revision").and_then(Value::as_i64).unwrap_or(0),
            created: text("/metadata/creationTimestamp").and_then(time::read),
            set,
            owners: owners.filter_map(|one| one.get("uid")?.as_str()).map(Uid::new).collect(),
            hashes: noted(SIDECARSET_HASH)
                .zip(noted(SIDECARSET_HASH_WITHOUT_IMAGE))
                .map(|(whole, without_image)| Hashes { whole, without_image }),
            data: Data::of(&spec).ok(),
            spec: Arc::new(spec),
            labels,
        })
    }

    /// SS-54: revisions of this very set, oldest first.
    pub fn of_set(lookup: Lookup<'_>, namespace: &str, set: &str, uid: &Uid) -> Vec<Arc<Self>> {
        let found = lookup.by::<Known>(REVISIONS_OF, set).into_iter().filter_map(|one| one.sidecars.clone());
        let is_its = |one: &Arc<Self>| {
            one.namespace.as_ref() == namespace && (one.owners.is_empty() || one.owners.contains(uid))
        };
        let mut all: Vec<Arc<Self>> = found.filter(is_its).collect();
        all.sort_by(|a, b| (a.number, a.created, &a.name).cmp(&(b.number, b.created, &b.name)));
        all
    }

    pub fn custom_version(&self) -> Option<&str> {
        self.labels.get(SIDECARSET_CUSTOM_VERSION).map(String::as_str)
    }

    /// SS-30: what it recorded.
    pub fn sidecars(&self) -> Result<Sidecars, Fault> {
        Sidecars::read(&self.spec)
    }

    /// SS-30: of its annotations, else computed.
    pub fn hashes(&self) -> Hashes {
        self.hashes.clone().or_else(|| Hashes::of(&self.spec).ok()).unwrap_or_default()
    }
}
