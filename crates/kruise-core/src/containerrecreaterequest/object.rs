//! A ContainerRecreateRequest as caches hold it, found by the uid of its pod.

use std::sync::Arc;

use kruise_api::apps::containerrecreaterequest::ContainerRecreateRequest as Wire;
use kruise_api::{Kind, Resource, labels};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::Spec;
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::pod::PodView;
use crate::workload::base::{Head, identified_by_head};

/// Requests that are not over, by the uid of their pod (CR-1).
pub const OF_POD: Index = Index::Other("pod");

#[derive(Debug)]
pub struct ContainerRecreateRequest {
    pub head: Arc<Head>,
    /// In wire order: one is removed by position.
    pub finalizers: Arc<[String]>,
    /// Of the pod that admission saw; empty if it did not see the request.
    pub pod_uid: Arc<str>,
    /// Whether the agent's watch still shows it.
    pub is_marked_active: bool,
    pub spec: Result<Arc<Spec>, Fault>,
}

impl ContainerRecreateRequest {
    pub fn read(object: &Value) -> Self {
        let label = |key: &str| object.pointer("/metadata/labels").and_then(|all| all.get(key)?.as_str());
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        Self {
            head: Arc::new(Head::of(object)),
            finalizers: finalizers.collect(),
            pod_uid: label(labels::CRR_POD_UID).unwrap_or_default().into(),
            is_marked_active: label(labels::CRR_ACTIVE).is_some(),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new),
        }
    }

    pub fn is_completed(&self) -> bool {
        self.head.status.get("completionTime").is_some_and(Value::is_string)
    }
}

/// CR-1: whether a change of its pod can change a plan.
pub fn is_woken_by(old: Option<&PodView>, new: Option<&PodView>) -> bool {
    match (old, new) {
        (Some(was), Some(is)) => {
            was.deleted != is.deleted
                || was.phase != is.phase
                || was.statuses != is.statuses
                || was.sidecar_statuses != is.sidecar_statuses
        }
        (_, _) => true,
    }
}

impl<'de> Deserialize<'de> for ContainerRecreateRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for ContainerRecreateRequest {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
        if !self.is_completed() {
            put(OF_POD, &self.pod_uid);
        }
    }
}
