//! Workloads of kinds that the administrator lists, and the object that lists them. Of a workload only what PersistentPodState
//! reads is kept: whose it is, what it asks for, and its size.

use std::collections::BTreeMap;

use kruise_runtime::Resource;
use kruise_runtime::cache::{Cached, Index};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Meta, index};

/// A ConfigMap.
#[derive(Debug, Deserialize)]
pub struct Configuration {
    metadata: Meta,
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}

#[derive(Debug)]
pub struct CustomWorkload {
    pub meta: Meta,
    /// Identity, annotations and `spec.replicas`.
    pub object: Value,
}

impl<'de> Deserialize<'de> for CustomWorkload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Value::deserialize(deserializer)?;
        let metadata = whole.get("metadata").unwrap_or(&Value::Null);
        let meta = Meta::deserialize(metadata).map_err(serde::de::Error::custom)?;
        let kept = ["namespace", "name", "uid", "creationTimestamp", "deletionTimestamp", "annotations"];
        let kept =
            kept.into_iter().filter_map(|field| Some((field.to_owned(), metadata.get(field)?.clone())));
        let replicas = whole.pointer("/spec/replicas");
        let object = json!({
            "metadata": kept.collect::<serde_json::Map<_, _>>(), "spec": {"replicas": replicas},
        });
        Ok(Self { meta, object })
    }
}

impl Cached for CustomWorkload {
    type Shared = ();
    /// Of no type that is known here: its watch says where it is.
    const RESOURCE: Resource = Resource::namespaced("", "", "", "workload of a listed kind");

    identified_by!(meta);

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(index::UID, &self.meta.uid);
    }
}

impl Cached for Configuration {
    type Shared = ();
    const RESOURCE: Resource = super::CONFIG_MAP;

    identified_by!(metadata);

    fn index(&self, _put: &mut dyn FnMut(Index, &str)) {}
}
