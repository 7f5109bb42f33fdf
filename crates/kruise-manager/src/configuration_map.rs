//! The ConfigMap in which the administrator lists kinds.

use std::collections::BTreeMap;

use kruise_api::resource::CONFIG_MAPS;
use kruise_core::cluster::meta::Meta;
use kruise_core::lookup::{Index, Slim};
use kruise_runtime::{Key, Resource};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Configuration {
    metadata: Meta,
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}

impl Slim for Configuration {
    type Shared = ();
    const RESOURCE: Resource = CONFIG_MAPS;

    fn key(&self) -> Key {
        self.metadata.key()
    }

    fn uid(&self) -> &str {
        &self.metadata.uid
    }

    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }

    fn index(&self, _put: &mut dyn FnMut(Index, &str)) {}
}
