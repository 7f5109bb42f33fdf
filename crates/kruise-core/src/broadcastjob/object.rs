//! A BroadcastJob as caches hold it: read once when it arrives, not once per plan.

use std::sync::Arc;

use kruise_api::apps::broadcastjob::BroadcastJob as Wire;
use kruise_api::conditions::{JOB_COMPLETE, JOB_FAILED};
use kruise_api::kubernetes::status::TRUE;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::{Completion, Spec};
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::workload::base::{Head, identified_by_head};

#[derive(Debug)]
pub struct BroadcastJob {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
}

impl BroadcastJob {
    /// From the stored v1beta1 object.
    pub fn read(object: &Value) -> Self {
        let spec = Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new);
        Self { head: Arc::new(Head::of(object)), spec }
    }

    /// BJ-3: it has a result that stands.
    pub fn is_finished(&self) -> bool {
        let is_endless = self.spec.as_ref().is_ok_and(|spec| spec.completion == Completion::Never);
        !is_endless && has_ended(&self.head.status)
    }
}

/// Whether the status has a result.
pub(super) fn has_ended(status: &Value) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let text = |one: &Value, field: &str| one.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut results = conditions.filter(|one| {
        let kind = text(one, "type").unwrap_or_default();
        [JOB_COMPLETE, JOB_FAILED].contains(&kind.as_str())
    });
    results.any(|one| text(one, "status").as_deref() == Some(TRUE))
}

impl<'de> Deserialize<'de> for BroadcastJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for BroadcastJob {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
        if let Some(owner) = &self.head.controller {
            put(Index::Owner, owner.as_str());
        }
    }
}
