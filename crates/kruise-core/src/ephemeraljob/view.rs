//! What the planner looks at.

use std::sync::Arc;

use kruise_api::finalizers::EPHEMERAL_JOB;
use serde_json::Value;

use super::object::EphemeralJob;
use super::spec::Spec;
use crate::fault::Fault;
use crate::lookup::Slim;
use crate::object::ObjectRef;
use crate::pod::{NAMESPACE, PodView};
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub finalizers: Arc<[String]>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// Active ones that it selects, the oldest first, then by name (EJ-10).
    pub pods: Vec<Arc<PodView>>,
}

impl View {
    pub fn assemble(job: &EphemeralJob, from: Sources<'_>) -> Self {
        let here = from.lookup.by::<PodView>(NAMESPACE, &job.head.namespace).into_iter();
        let mut pods: Vec<Arc<PodView>> = here.filter(|pod| pod.is_active() && job.selects(pod)).collect();
        pods.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
        Self {
            head: Arc::clone(&job.head),
            finalizers: Arc::clone(&job.finalizers),
            spec: job.spec.clone(),
            pods,
        }
    }

    pub fn itself(&self) -> ObjectRef {
        let Head { namespace, name, .. } = self.head.as_ref();
        ObjectRef::new(EphemeralJob::RESOURCE, Arc::clone(namespace), Arc::clone(name))
    }

    /// A text in the stored status.
    pub fn stored(&self, field: &str) -> Option<&str> {
        self.head.status.get(field).and_then(Value::as_str)
    }

    /// Where its finalizer stands.
    pub fn finalizer(&self) -> Option<usize> {
        self.finalizers.iter().position(|one| one == EPHEMERAL_JOB)
    }
}
