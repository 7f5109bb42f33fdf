//! Namespaces: their labels, which select them and the pods in them, and their end.

use std::collections::BTreeMap;

use kruise_api::labels::NAMESPACE_NAME;
use kruise_api::{Resource, resource::NAMESPACES};
use serde::Deserialize;

use crate::cluster::meta::{Meta, identified_by};
use crate::lookup::{Index, Slim};

/// By each label, as `key=value`, and by its key alone.
pub const BY_LABEL: Index = Index::Other("label");

#[derive(Debug, Deserialize)]
pub struct Namespace {
    metadata: Labelled,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
}

#[derive(Debug, Deserialize)]
struct Labelled {
    #[serde(flatten)]
    meta: Meta,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl Namespace {
    pub fn name(&self) -> &str {
        &self.metadata.meta.name
    }

    /// Nothing can be created in it any more.
    pub fn is_terminating(&self) -> bool {
        self.metadata.meta.deletion_timestamp.is_some() || self.status.phase == "Terminating"
    }

    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.metadata.labels
    }
}

/// The label that every namespace has, whether it is known or not.
pub fn name_label(namespace: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(NAMESPACE_NAME.to_owned(), namespace.to_owned())])
}

impl Slim for Namespace {
    type Shared = ();
    const RESOURCE: Resource = NAMESPACES;

    identified_by!(metadata.meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for (key, value) in &self.metadata.labels {
            put(BY_LABEL, key);
            put(BY_LABEL, &format!("{key}={value}"));
        }
    }
}
