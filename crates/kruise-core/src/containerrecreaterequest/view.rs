//! What the planner looks at.

use std::sync::Arc;

use kruise_api::finalizers::CONTAINER_RECREATE_REQUEST;
use kruise_api::{conditions, kubernetes::status};
use serde_json::Value;

use super::object::ContainerRecreateRequest;
use super::spec::Spec;
use crate::fault::Fault;
use crate::gates::Gate;
use crate::lookup::Slim;
use crate::object::{Key, ObjectRef};
use crate::pod::PodView;
use crate::readiness;
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub finalizers: Arc<[String]>,
    pub is_marked_active: bool,
    pub spec: Result<Arc<Spec>, Fault>,
    /// The pod that admission saw, and none that came later under its name (CR-3).
    pub pod: Option<Arc<PodView>>,
    /// Whether restarts are carried out in this cluster at all.
    pub has_agents: bool,
}

impl View {
    pub fn assemble(request: &ContainerRecreateRequest, from: Sources<'_>) -> Self {
        let named = request.spec.as_ref().ok().and_then(|spec| {
            let key = Key::new(Arc::clone(&request.head.namespace), Arc::clone(&spec.pod));
            from.lookup.get::<PodView>(&key)
        });
        Self {
            head: Arc::clone(&request.head),
            finalizers: Arc::clone(&request.finalizers),
            is_marked_active: request.is_marked_active,
            spec: request.spec.clone(),
            pod: named.filter(|pod| *pod.uid.as_str() == *request.pod_uid),
            has_agents: from.setup.gates.on(Gate::KruiseDaemon),
        }
    }

    pub fn itself(&self) -> ObjectRef {
        let Head { namespace, name, .. } = self.head.as_ref();
        ObjectRef::new(ContainerRecreateRequest::RESOURCE, Arc::clone(namespace), Arc::clone(name))
    }

    /// A text in the stored status.
    pub fn stored(&self, field: &str) -> Option<&str> {
        self.head.status.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Where its finalizer stands.
    pub fn finalizer(&self) -> Option<usize> {
        self.finalizers.iter().position(|one| one == CONTAINER_RECREATE_REQUEST)
    }

    /// Whether the pod has been out of service since the condition says so (CR-8).
    pub fn has_grace(&self) -> bool {
        let all = self.head.status.get("conditions").and_then(Value::as_array).into_iter().flatten();
        let is = |one: &Value, field: &str, text: &str| one.get(field).is_some_and(|value| value == text);
        all.into_iter()
            .any(|one| is(one, "type", conditions::PRE_RECREATE_GRACE) && is(one, "status", status::TRUE))
    }

    /// The entry that it holds in the readiness of its pod.
    pub fn readiness_key(&self) -> readiness::Key {
        readiness::Key {
            user_agent: conditions::NOT_READY_CRR.to_owned(),
            key: format!("{}/{}", self.head.namespace, self.head.name),
        }
    }
}
