//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::{Kind, apps::statefulset::StatefulSet, conditions};
use serde_json::Value;

use super::ordinals::Ordinal;
use super::spec::Spec;
use crate::claim::Claim;
use crate::gates::Gates;
use crate::ids::{ClaimName, PodName, ResourceVersion, RevisionName, Uid};
use crate::inplace::Resize;
use crate::lifecycle::is_normal;
use crate::pod::{Phase, PodView};
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
    /// Copied onto new revisions.
    pub annotations: BTreeMap<String, String>,
    /// Set while it is being deleted.
    pub deleted: Option<Timestamp>,
    /// Shared, so that it is read once per generation and not once per plan.
    pub spec: Result<Arc<Spec>, Fault>,
    /// As stored; what is already so is not written.
    pub status: Value,
    /// Matching the selector and owned by it or by nobody, oldest first.
    pub revisions: Vec<Arc<Revision>>,
    /// Those of them that nobody owns yet (AS-3).
    pub orphan_revisions: BTreeSet<RevisionName>,
    /// All that its uid owns, also those being deleted and finished, and orphans that selector and name make ours (AS-4);
    /// sorted by name.
    pub pods: Vec<Arc<PodView>>,
    /// Pods of others that carry a name of ours.
    pub strangers: BTreeSet<PodName>,
    /// Claims of the namespace by name, at least those that our pods have or will have.
    pub claims: BTreeMap<ClaimName, Arc<Claim>>,
    /// Storage classes by name.
    pub classes: BTreeMap<String, Expansion>,
    /// ImagePullJobs that it controls.
    pub pull_jobs: Vec<PullJob>,
    /// Nodes without our daemon, where environment cannot be renewed (M5).
    pub virtual_nodes: BTreeSet<String>,
    pub gates: Gates,
    pub resize: Resize,
    /// What failed since the last plan that went through.
    pub failures: Failures,
}

/// `allowVolumeExpansion` of a storage class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    Allowed,
    Refused,
}

impl View {
    /// From the stored v1beta1 object; the rest is filled in by the caller.
    pub fn of(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        Self {
            name: text("/metadata/name").to_owned(),
            namespace: text("/metadata/namespace").to_owned(),
            uid: Uid::new(text("/metadata/uid")),
            version: ResourceVersion::new(text("/metadata/resourceVersion")),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            annotations: crate::pod::string_map(object.pointer("/metadata/annotations")),
            deleted: crate::time::read(text("/metadata/deletionTimestamp")),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new),
            status: object.get("status").cloned().unwrap_or(Value::Null),
            revisions: Vec::new(),
            orphan_revisions: BTreeSet::new(),
            pods: Vec::new(),
            strangers: BTreeSet::new(),
            claims: BTreeMap::new(),
            classes: BTreeMap::new(),
            pull_jobs: Vec::new(),
            virtual_nodes: BTreeSet::new(),
            gates: Gates::default(),
            resize: Resize::Endpoint,
            failures: Failures::default(),
        }
    }

    /// Sets pods and revisions in the order that planning relies on.
    #[must_use]
    pub fn with<R: Into<Arc<Revision>>>(mut self, mut pods: Vec<Arc<PodView>>, revisions: Vec<R>) -> Self {
        let mut revisions: Vec<Arc<Revision>> = revisions.into_iter().map(Into::into).collect();
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        sort(&mut revisions);
        self.pods = pods;
        self.revisions = revisions;
        self
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        Workload {
            kind: StatefulSet::KIND,
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

    /// AS-4: whether selector and name make a pod ours.
    pub fn claims_pod(&self, pod: &PodView) -> bool {
        let is_selected = self.spec.as_ref().is_ok_and(|spec| spec.selector.matches(&pod.labels));
        is_selected && self.ordinal(pod).is_some()
    }

    /// AS-4: whether an orphan becomes ours.
    pub fn adopts(&self, pod: &PodView) -> bool {
        let is_free = pod.controller().is_none() && pod.deleted.is_none();
        is_free && self.deleted.is_none() && self.claims_pod(pod)
    }

    /// The claim of an ordinal, by the name of its template.
    pub fn claim_name(&self, template: &str, ordinal: Ordinal) -> ClaimName {
        ClaimName::new(format!("{template}-{}-{ordinal}", self.name))
    }

    pub fn ordinal(&self, pod: &PodView) -> Option<Ordinal> {
        Ordinal::of_pod(&self.name, pod.name.as_str())
    }

    pub fn pod_name(&self, ordinal: Ordinal) -> PodName {
        PodName::new(format!("{}-{ordinal}", self.name))
    }
}

impl Spec {
    /// AS-30; a pod that says since when it is ready only vaguely is not available while that matters.
    pub fn is_available(&self, pod: &PodView, now: Timestamp) -> bool {
        let seconds = self.rolling.min_ready_seconds;
        let is_dated = pod.condition(conditions::POD_READY).is_some_and(|one| one.since.is_some());
        is_normal(pod) && pod.is_update_ready(seconds, now) && (seconds == 0 || is_dated)
    }
}

/// AS-28.
pub fn is_ready(pod: &PodView) -> bool {
    pod.phase == Phase::Running && pod.is_ready()
}

/// AS-31.
pub fn is_failed(pod: &PodView) -> bool {
    matches!(pod.phase, Phase::Failed | Phase::Succeeded)
}
