//! StorageClasses: whether their volumes can grow, and which class a PVC without one gets.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::annotations;
use kruise_api::{Resource, resource::STORAGE_CLASSES};
use serde::Deserialize;

use crate::cluster::meta::{Meta, identified_by};
use crate::lookup::{Index, Slim};

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

/// `allowVolumeExpansion` of a storage class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    Allowed,
    Refused,
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

impl Slim for StorageClass {
    type Shared = ();
    const RESOURCE: Resource = STORAGE_CLASSES;

    identified_by!(metadata.meta);

    fn index(&self, _put: &mut dyn FnMut(Index, &str)) {}
}
