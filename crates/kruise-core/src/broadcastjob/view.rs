//! What the planner looks at.

use std::collections::BTreeSet;
use std::sync::Arc;

use kruise_api::annotations::BROADCASTJOB_PAUSED_FOR;
use kruise_api::labels::{BROADCASTJOB_CONTROLLER_UID, BROADCASTJOB_NAME};
use serde_json::Value;

use super::object::BroadcastJob;
use super::spec::Spec;
use crate::cluster::node::Node;
use crate::fault::Fault;
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::{Index, Slim};
use crate::pod::{Assign, PodView};
use crate::workload::Workload;
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// With its labels and owned by it (BJ-7), sorted by name.
    pub pods: Vec<Arc<PodView>>,
    /// All of them, sorted by name.
    pub nodes: Vec<Arc<Node>>,
    pub assign: Assign,
    pub seed: u64,
    gates: Gates,
    resize: Resize,
    no_nodes: BTreeSet<String>,
}

impl View {
    pub fn assemble(job: &BroadcastJob, assign: Assign, from: Sources<'_>) -> Self {
        let owned = from.lookup.by::<PodView>(Index::Owner, job.uid()).into_iter();
        // Caches have no order: nodes are served by name (B18).
        let mut nodes: Vec<Arc<Node>> = from.lookup.all();
        nodes.sort_by(|one, other| one.name().cmp(other.name()));
        Self {
            pods: owned.filter(|pod| is_its_own(pod, &job.head)).collect(),
            nodes,
            head: Arc::clone(&job.head),
            spec: job.spec.clone(),
            assign,
            seed: from.turn.seed,
            gates: from.setup.gates.clone(),
            resize: from.setup.resize,
            no_nodes: BTreeSet::new(),
        }
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        Workload {
            resource: BroadcastJob::RESOURCE,
            head: &self.head,
            revisions: &[],
            is_name_taken: false,
            gates: &self.gates,
            resize: self.resize,
            virtual_nodes: &self.no_nodes,
        }
    }

    /// A text in the stored status.
    pub fn stored(&self, field: &str) -> Option<&str> {
        self.head.status.get(field).and_then(Value::as_str)
    }

    /// For how many failed pods the job was paused by the Pause policy; `None` if it was not (B9).
    pub fn paused_for(&self) -> Option<usize> {
        self.head.annotations.get(BROADCASTJOB_PAUSED_FOR).map(|count| count.parse().unwrap_or(0))
    }
}

fn is_its_own(pod: &PodView, head: &Head) -> bool {
    let has = |key: &str, value: &str| pod.labels.get(key) == Some(value);
    has(BROADCASTJOB_NAME, &head.name)
        && has(BROADCASTJOB_CONTROLLER_UID, head.uid.as_str())
        && pod.controller().is_some_and(|owner| owner.uid == head.uid)
}
