//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::{Kind, apps::cloneset::CloneSet, labels};
use serde_json::Value;

use super::spec::{PreparingDelete, Spec};
use crate::claim::Claim;
use crate::gates::Gates;
use crate::ids::{PodName, ResourceVersion, Uid};
use crate::inplace::Resize;
use crate::lifecycle::{State, is_normal};
use crate::pod::PodView;
use crate::reader::Fault;
use crate::revision::{Revision, sort};
use crate::workload::{Failures, PullJob, Workload};

/// Built once per reconcile and never changed.
#[derive(Debug, Clone)]
pub struct View {
    pub name: String,
    pub namespace: String,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub generation: i64,
    /// Copied onto new revisions (SM-4).
    pub annotations: BTreeMap<String, String>,
    /// Set while it is being deleted.
    pub deleted: Option<Timestamp>,
    /// Shared, so that it is read once per generation and not once per plan.
    pub spec: Result<Arc<Spec>, Fault>,
    /// As stored; what is already so is not written.
    pub status: Value,
    /// Matching the selector and owned by it or by nobody (SM-6), oldest first.
    pub revisions: Vec<Arc<Revision>>,
    /// All that its uid owns, also those being deleted and finished, sorted by name.
    pub pods: Vec<Arc<PodView>>,
    /// Pods of others that carry the name of one of our instances (B7).
    pub strangers: BTreeSet<PodName>,
    /// All claims of the namespace that carry an instance id and are ours or named like ours, and all that we own.
    pub claims: Vec<Arc<Claim>>,
    /// ImagePullJobs that it controls.
    pub pull_jobs: Vec<PullJob>,
    /// Node name → its labels, only for the topology keys of the template; empty without constraints.
    pub node_labels: BTreeMap<String, BTreeMap<String, String>>,
    /// Nodes without our daemon, where environment cannot be renewed (M5).
    pub virtual_nodes: BTreeSet<String>,
    pub gates: Gates,
    pub resize: Resize,
    /// What failed since the last plan that went through (B5).
    pub failures: Failures,
    /// Pods that a budget refused to have disturbed when it was asked last (B10).
    pub denied: BTreeSet<PodName>,
    /// For instance ids.
    pub seed: u64,
}

impl View {
    /// From the stored v1beta1 object; the rest is filled in by the caller.
    pub fn of(object: &Value, excluded: PreparingDelete) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        Self {
            name: text("/metadata/name").to_owned(),
            namespace: text("/metadata/namespace").to_owned(),
            uid: Uid::new(text("/metadata/uid")),
            version: ResourceVersion::new(text("/metadata/resourceVersion")),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            annotations: crate::pod::string_map(object.pointer("/metadata/annotations")),
            deleted: crate::time::read(text("/metadata/deletionTimestamp")),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null), excluded).map(Arc::new),
            status: object.get("status").cloned().unwrap_or(Value::Null),
            revisions: Vec::new(),
            pods: Vec::new(),
            strangers: BTreeSet::new(),
            claims: Vec::new(),
            pull_jobs: Vec::new(),
            node_labels: BTreeMap::new(),
            virtual_nodes: BTreeSet::new(),
            gates: Gates::default(),
            resize: Resize::Endpoint,
            failures: Failures::default(),
            denied: BTreeSet::new(),
            seed: 0,
        }
    }

    /// Sets pods and revisions (owned or shared) in the order that planning relies on.
    #[must_use]
    pub fn with<R: Into<Arc<Revision>>>(mut self, mut pods: Vec<Arc<PodView>>, revisions: Vec<R>) -> Self {
        let mut revisions: Vec<Arc<Revision>> = revisions.into_iter().map(Into::into).collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        sort(&mut revisions);
        self.pods = pods;
        self.revisions = revisions;
        self
    }

    /// Pods that count as replicas: active, and not about to be released because the selector lost them (CS-5, CS-6).
    pub fn active(&self) -> impl Iterator<Item = &PodView> {
        let selector = self.spec.as_ref().ok().map(|spec| &spec.selector);
        let is_selected = move |pod: &PodView| selector.is_none_or(|selector| selector.matches(&pod.labels));
        self.pods.iter().map(AsRef::as_ref).filter(move |pod| pod.is_active() && is_selected(pod))
    }

    /// Where our reference stands among the owners of a claim; `None` if it is somebody else's.
    pub fn owned(&self, claim: &Claim) -> Option<usize> {
        claim.owner_position(&self.uid)
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        Workload {
            kind: CloneSet::KIND,
            name: &self.name,
            namespace: &self.namespace,
            uid: &self.uid,
            generation: self.generation,
            annotations: &self.annotations,
            status: &self.status,
            revisions: &self.revisions,
            gates: &self.gates,
            resize: self.resize,
            virtual_nodes: &self.virtual_nodes,
        }
    }
}

impl Spec {
    /// CS-21.
    pub fn is_available(&self, pod: &PodView, now: Timestamp) -> bool {
        is_normal(pod) && pod.is_update_ready(self.min_ready_seconds, now)
    }

    /// CS-22.
    pub fn is_to_delete(&self, pod: &PodView) -> bool {
        pod.labels.has(labels::SPECIFIED_DELETE) || self.pods_to_delete.contains(&pod.name)
    }
}

/// Ready for the delete limits (CS-21): as available, without minReadySeconds.
pub fn is_ready(pod: &PodView, now: Timestamp) -> bool {
    is_normal(pod) && pod.is_update_ready(0, now)
}

pub fn is_pre_deleting(pod: &PodView) -> bool {
    State::of(pod) == State::PreparingDelete
}
