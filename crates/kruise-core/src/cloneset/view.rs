//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::{Kind, apps::cloneset::CloneSet, labels};
use serde_json::Value;

use super::spec::{PreparingDelete, Spec};
use crate::base::Base;
use crate::claim::Claim;
use crate::ids::{ClaimName, PodName};
use crate::lifecycle::{State, is_normal};
use crate::pod::PodView;
use crate::reader::Fault;
use crate::revision::Revision;
use crate::workload::Workload;

/// Built once per reconcile and never changed.
#[derive(Debug, Clone)]
pub struct View {
    pub base: Base,
    /// Shared, so that it is read once per generation and not once per plan.
    pub spec: Result<Arc<Spec>, Fault>,
    /// All claims of the namespace that carry an instance id and are ours or named like ours, and all that we own.
    pub claims: BTreeMap<ClaimName, Arc<Claim>>,
    /// Node name → its labels, only for the topology keys of the template; empty without constraints.
    pub node_labels: BTreeMap<String, BTreeMap<String, String>>,
    /// Pods that a budget refused to have disturbed when it was asked last (B10).
    pub denied: BTreeSet<PodName>,
    /// For instance ids.
    pub seed: u64,
}

/// What it has in common with other kinds is part of it.
impl Deref for View {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl DerefMut for View {
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

impl View {
    /// From the stored v1beta1 object; the rest is filled in by the caller.
    pub fn of(object: &Value, excluded: PreparingDelete) -> Self {
        Self {
            base: Base::of(object),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null), excluded).map(Arc::new),
            claims: BTreeMap::new(),
            node_labels: BTreeMap::new(),
            denied: BTreeSet::new(),
            seed: 0,
        }
    }

    /// Sets pods and revisions (owned or shared) in the order that planning relies on.
    #[must_use]
    pub fn with<R: Into<Arc<Revision>>>(mut self, pods: Vec<Arc<PodView>>, revisions: Vec<R>) -> Self {
        self.base.set(pods, revisions);
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
        self.base.workload(CloneSet::KIND)
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
