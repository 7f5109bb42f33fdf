//! What the planner looks at.

use std::sync::Arc;

use super::object::{ImageListPullJob, Spec};
use crate::fault::Fault;
use crate::imagepulljob::ImagePullJob;
use crate::lookup::{Index, Slim};
use crate::object::ObjectRef;
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
    pub label: Option<Arc<str>>,
    /// Jobs that it controls and that are not being deleted, the oldest first.
    pub children: Vec<Arc<ImagePullJob>>,
    pub seed: u64,
}

impl View {
    pub fn assemble(list: &ImageListPullJob, from: Sources<'_>) -> Self {
        let mut children: Vec<Arc<ImagePullJob>> = from.lookup.by(Index::Owner, list.uid());
        children.retain(|child| !child.is_deleted());
        children.sort_by(|a, b| (a.head.created, a.name()).cmp(&(b.head.created, b.name())));
        Self {
            head: Arc::clone(&list.head),
            spec: list.spec.clone(),
            label: list.label.clone(),
            children,
            seed: from.turn.seed,
        }
    }

    pub fn itself(&self) -> ObjectRef {
        let Head { namespace, name, .. } = self.head.as_ref();
        ObjectRef::new(ImageListPullJob::RESOURCE, Arc::clone(namespace), Arc::clone(name))
    }

    pub fn time(&self, field: &str) -> Option<jiff::Timestamp> {
        let stored = self.head.status.get(field).and_then(serde_json::Value::as_str);
        stored.and_then(crate::time::read)
    }
}
