//! PersistentVolumeClaims.

use std::sync::Arc;

use kruise_core::claim::Claim as View;
use kruise_runtime::cache::{Cached, Index};
use kruise_runtime::{Key, Resource, Scope};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::index;

#[derive(Debug)]
pub struct Claim {
    namespace: Arc<str>,
    pub view: Arc<View>,
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let view = View::read(&object).ok_or_else(|| serde::de::Error::custom("a claim without a name"))?;
        Ok(Self { namespace: namespace.into(), view: Arc::new(view) })
    }
}

impl Cached for Claim {
    type Shared = ();
    const RESOURCE: Resource =
        Resource::core("persistentvolumeclaims", "PersistentVolumeClaim", Scope::Namespaced);

    fn key(&self) -> Key {
        Key::new(Arc::clone(&self.namespace), self.view.name.as_str())
    }

    fn uid(&self) -> &str {
        self.view.uid.as_str()
    }

    fn resource_version(&self) -> &str {
        self.view.version.as_str()
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        for owner in &self.view.owners {
            put(Index::Owner, owner.uid.as_str());
        }
        if self.view.instance.is_some() {
            put(index::INSTANCE, &self.namespace);
        }
    }
}
