//! A CloneSet as caches hold it: read once when it arrives, not once per plan.

use std::sync::Arc;

use kruise_api::apps::cloneset::CloneSet as Wire;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::Spec;
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::workload::base::{Head, identified_by_head};

#[derive(Debug)]
pub struct CloneSet {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
}

impl CloneSet {
    /// From the stored v1beta1 object.
    pub fn read(object: &Value) -> Self {
        let spec = Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new);
        Self { head: Arc::new(Head::of(object)), spec }
    }
}

impl<'de> Deserialize<'de> for CloneSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for CloneSet {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
    }
}
