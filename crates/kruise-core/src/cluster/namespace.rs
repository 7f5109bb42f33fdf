//! Namespaces: their labels, which select the pods in them.

use std::collections::BTreeMap;

use kruise_api::labels::NAMESPACE_NAME;
use kruise_api::{Resource, resource::NAMESPACES};
use serde::Deserialize;

use crate::cluster::meta::{Meta, identified_by};
use crate::lookup::{Index, Slim};

#[derive(Debug, Deserialize)]
pub struct Namespace {
    metadata: Labelled,
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

    fn index(&self, _: &mut dyn FnMut(Index, &str)) {}
}
