//! Metadata that slim types keep.

use std::sync::Arc;

use serde::Deserialize;

use crate::object::Key;

/// Identity, owners and end of an object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    #[serde(default)]
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub resource_version: String,
    #[serde(default)]
    pub owner_references: Vec<OwnerReference>,
    pub deletion_timestamp: Option<jiff::Timestamp>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    #[serde(default)]
    pub api_version: String,
    pub uid: String,
    #[serde(default)]
    pub controller: bool,
}

impl Meta {
    pub fn key(&self) -> Key {
        Key { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    pub fn has_controller(&self) -> bool {
        self.owner_references.iter().any(|owner| owner.controller)
    }
}

/// Three methods of [`Slim`](crate::lookup::Slim) for a type whose [`Meta`] is that field.
macro_rules! identified_by {
    ($($field:ident).+) => {
        fn key(&self) -> crate::object::Key {
            self.$($field).+.key()
        }

        fn uid(&self) -> &str {
            &self.$($field).+.uid
        }

        fn resource_version(&self) -> &str {
            &self.$($field).+.resource_version
        }
    };
}

pub(crate) use identified_by;
