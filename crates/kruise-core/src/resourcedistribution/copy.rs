//! A Secret or ConfigMap as caches hold it: who controls it, and its metadata if a distribution does. What it contains is not watched.

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::resource::{CONFIG_MAP_METADATA, SECRET_METADATA};
use kruise_api::{Kind, Resource, apps::resourcedistribution::ResourceDistribution as Wire};
use serde::{Deserialize, Deserializer};

use super::content::Sort;
use crate::lookup::{Index, Lookup, Slim};
use crate::object::{Key, ObjectRef};
use crate::workload::base::Head;

/// One object, whoever it belongs to.
#[derive(Debug, PartialEq)]
pub struct Copy {
    pub key: Key,
    pub uid: String,
    pub version: String,
    /// Of those that a distribution controls; nothing else is kept of the others.
    pub owned: Option<Owned>,
}

/// What a distribution controls.
#[derive(Debug, PartialEq)]
pub struct Owned {
    /// Uid and name of the distribution.
    pub by: (String, String),
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    pub is_deleted: bool,
}

/// A Secret of any namespace.
#[derive(Debug)]
pub struct CopiedSecret(pub Arc<Copy>);

/// A ConfigMap of any namespace.
#[derive(Debug)]
pub struct CopiedConfigMap(pub Arc<Copy>);

impl Copy {
    /// RD-10.
    pub fn is_controlled_by(&self, head: &Head) -> bool {
        self.owned.as_ref().is_some_and(|owned| {
            let (uid, name) = &owned.by;
            if uid.is_empty() || head.uid.as_str().is_empty() {
                **name == *head.name
            } else {
                uid == head.uid.as_str()
            }
        })
    }

    pub fn find(sort: Sort, key: &Key, lookup: Lookup<'_>) -> Option<Arc<Self>> {
        match sort {
            Sort::Secret => lookup.get::<CopiedSecret>(key).map(|one| Arc::clone(&one.0)),
            Sort::ConfigMap => lookup.get::<CopiedConfigMap>(key).map(|one| Arc::clone(&one.0)),
        }
    }

    /// Everything that a distribution controls, sorted by namespace.
    pub fn of_owner(sort: Sort, uid: &str, lookup: Lookup<'_>) -> Vec<Arc<Self>> {
        match sort {
            Sort::Secret => {
                lookup.by::<CopiedSecret>(Index::Owner, uid).iter().map(|one| Arc::clone(&one.0)).collect()
            }
            Sort::ConfigMap => {
                lookup.by::<CopiedConfigMap>(Index::Owner, uid).iter().map(|one| Arc::clone(&one.0)).collect()
            }
        }
    }

    pub fn object(&self, sort: Sort) -> ObjectRef {
        ObjectRef { resource: sort.resource(), key: self.key.clone() }
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        if let Some(owned) = &self.owned {
            put(Index::Owner, &owned.by.0);
        }
    }
}

impl<'de> Deserialize<'de> for Copy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            metadata: Meta,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Meta {
            #[serde(default)]
            namespace: Arc<str>,
            name: Arc<str>,
            #[serde(default)]
            uid: String,
            #[serde(default)]
            resource_version: String,
            owner_references: Option<Vec<Owner>>,
            labels: Option<BTreeMap<String, String>>,
            annotations: Option<BTreeMap<String, String>>,
            finalizers: Option<Vec<String>>,
            deletion_timestamp: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Owner {
            #[serde(default)]
            api_version: String,
            #[serde(default)]
            kind: String,
            #[serde(default)]
            name: String,
            #[serde(default)]
            uid: String,
            #[serde(default)]
            controller: Option<bool>,
        }
        let Stored { metadata } = Stored::deserialize(deserializer)?;
        let group = |version: &str| version.split('/').next().unwrap_or_default() == Wire::RESOURCE.group();
        let controller = metadata.owner_references.into_iter().flatten().find(|one| {
            one.controller == Some(true) && one.kind == Wire::RESOURCE.kind() && group(&one.api_version)
        });
        let owned = controller.map(|owner| Owned {
            by: (owner.uid, owner.name),
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            is_deleted: metadata.deletion_timestamp.is_some(),
        });
        let key = Key { namespace: metadata.namespace, name: metadata.name };
        Ok(Self { key, uid: metadata.uid, version: metadata.resource_version, owned })
    }
}

/// Both kinds are kept alike.
macro_rules! slim {
    ($name:ident, $resource:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Copy::deserialize(deserializer).map(|copy| Self(Arc::new(copy)))
            }
        }

        impl Slim for $name {
            type Shared = ();
            const RESOURCE: Resource = $resource;

            fn key(&self) -> Key {
                self.0.key.clone()
            }

            fn uid(&self) -> &str {
                &self.0.uid
            }

            fn resource_version(&self) -> &str {
                &self.0.version
            }

            fn index(&self, put: &mut dyn FnMut(Index, &str)) {
                self.0.index(put);
            }
        }
    };
}

slim!(CopiedSecret, SECRET_METADATA);
slim!(CopiedConfigMap, CONFIG_MAP_METADATA);
