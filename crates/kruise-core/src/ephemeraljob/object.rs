//! An EphemeralJob as caches hold it: read once when it arrives, with its selector ready for every pod event (E14).

use std::sync::Arc;

use kruise_api::apps::ephemeraljob::EphemeralJob as Wire;
use kruise_api::{Kind, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::Spec;
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::pod::{NAMESPACE, PodView};
use crate::workload::base::{Head, identified_by_head};

#[derive(Debug)]
pub struct EphemeralJob {
    pub head: Arc<Head>,
    /// In wire order: one is removed by position.
    pub finalizers: Arc<[String]>,
    pub spec: Result<Arc<Spec>, Fault>,
}

impl EphemeralJob {
    pub fn read(object: &Value) -> Self {
        let spec = Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new);
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        Self { head: Arc::new(Head::of(object)), finalizers: finalizers.collect(), spec }
    }

    /// EJ-7: only its time to live counts any more.
    pub fn is_finished(&self) -> bool {
        self.head.status.get("completionTime").is_some_and(Value::is_string)
    }

    pub fn selects(&self, pod: &PodView) -> bool {
        self.spec.as_ref().is_ok_and(|spec| spec.selects(pod))
    }

    /// EJ-2: whether a change of a pod can change a plan.
    pub fn is_woken_by(&self, old: Option<&PodView>, new: Option<&PodView>) -> bool {
        if self.is_finished() {
            return false;
        }
        let counts = |pod: Option<&PodView>| pod.is_some_and(|pod| pod.is_active() && self.selects(pod));
        match (old, new) {
            (Some(was), Some(is)) if counts(old) && counts(new) => was.ephemeral != is.ephemeral,
            (_, _) => counts(old) || counts(new),
        }
    }
}

impl<'de> Deserialize<'de> for EphemeralJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for EphemeralJob {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
        put(NAMESPACE, &self.head.namespace);
    }
}
