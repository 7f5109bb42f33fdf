//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::{Kind, apps::statefulset::StatefulSet, conditions};
use serde_json::Value;

use super::ordinals::Ordinal;
use super::spec::Spec;
use crate::base::Base;
use crate::claim::Claim;
use crate::ids::{ClaimName, PodName, RevisionName};
use crate::lifecycle::is_normal;
use crate::pod::{Phase, PodView};
use crate::reader::Fault;
use crate::revision::Revision;
use crate::workload::Workload;

/// Built once per reconcile and never changed.
#[derive(Debug, Clone)]
pub struct View {
    /// Its pods are also the orphans that selector and name make ours (AS-4).
    pub base: Base,
    /// Shared, so that it is read once per generation and not once per plan.
    pub spec: Result<Arc<Spec>, Fault>,
    /// Those of the revisions that nobody owns yet (AS-3).
    pub orphan_revisions: BTreeSet<RevisionName>,
    /// Claims of the namespace by name, at least those that our pods have or will have.
    pub claims: BTreeMap<ClaimName, Arc<Claim>>,
    /// Storage classes by name.
    pub classes: BTreeMap<String, Expansion>,
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

/// `allowVolumeExpansion` of a storage class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    Allowed,
    Refused,
}

impl View {
    /// From the stored v1beta1 object; the rest is filled in by the caller.
    pub fn of(object: &Value) -> Self {
        Self {
            base: Base::of(object),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new),
            orphan_revisions: BTreeSet::new(),
            claims: BTreeMap::new(),
            classes: BTreeMap::new(),
        }
    }

    /// Sets pods and revisions in the order that planning relies on.
    #[must_use]
    pub fn with<R: Into<Arc<Revision>>>(mut self, pods: Vec<Arc<PodView>>, revisions: Vec<R>) -> Self {
        self.base.set(pods, revisions);
        self
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        self.base.workload(StatefulSet::KIND)
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
