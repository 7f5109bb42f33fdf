//! StorageClasses: whether volumes of theirs can grow, and which one a claim without a class gets.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::annotations;
use kruise_core::statefulset::Expansion;
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Resource, Scope};
use serde::Deserialize;

use super::Meta;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageClass {
    metadata: ClassMeta,
    allow_volume_expansion: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClassMeta {
    #[serde(flatten)]
    meta: Meta,
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl StorageClass {
    pub fn name(&self) -> &str {
        &self.metadata.meta.name
    }

    /// What a class does not say is refused (AS-87, B12).
    pub fn expansion(&self) -> Expansion {
        if self.allow_volume_expansion == Some(true) { Expansion::Allowed } else { Expansion::Refused }
    }

    /// When it was made, if it is a default class: of several the newest counts.
    pub fn default_since(&self) -> Option<Timestamp> {
        let is_default = self.metadata.annotations.get(annotations::DEFAULT_STORAGE_CLASS)?;
        (is_default == "true").then(|| self.metadata.creation_timestamp.unwrap_or(Timestamp::MIN))
    }
}

impl Cached for StorageClass {
    type Shared = ();
    const RESOURCE: Resource = Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "storageclasses",
        kind: "StorageClass",
        scope: Scope::Cluster,
    };

    identified_by!(metadata.meta);

    fn index(&self, _put: &mut dyn FnMut(Index, &str)) {}
}
