//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::labels;
#[cfg(test)]
use serde_json::Value;

use super::object::CloneSet;
use super::spec::{PreparingDelete, Spec};
use crate::cluster::claim::{Claim, INSTANCE};
use crate::cluster::node::Node;
use crate::fault::Fault;
use crate::ids::{ClaimName, PodName};
use crate::lifecycle::{LifecycleState, is_normal};
use crate::lookup::{Index, Lookup, Slim};
use crate::object::Key;
use crate::pod::PodView;
use crate::revision::OfWorkload;
#[cfg(test)]
use crate::revision::Revision;
use crate::workload::Workload;
use crate::workload::base::{Base, Dependents, Head, Sources};

/// Built once per reconcile and never changed.
#[derive(Debug, Clone)]
pub struct View {
    pub base: Base,
    /// Shared, so that it is read once per generation and not once per plan.
    pub spec: Result<Arc<Spec>, Fault>,
    /// The manager's flag for CS-35.
    pub excluded: PreparingDelete,
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

#[cfg(test)]
impl std::ops::DerefMut for View {
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

impl View {
    /// One indexed look-up per field. `excluded` is the manager's flag for CS-35.
    pub fn assemble(object: &CloneSet, excluded: PreparingDelete, from: Sources<'_>) -> Self {
        let (head, lookup) = (&object.head, from.lookup);
        let spec = object.spec.as_ref().ok();
        let selector = spec.map(|spec| &spec.selector);
        let found = Dependents {
            pods: lookup.by(Index::Owner, head.uid.as_str()),
            revisions: OfWorkload::find(lookup, &head.namespace, &head.uid, selector),
        };
        let mut base = Base::assemble(head, spec.map(|spec| &spec.base), found, from);
        let claims = claims(head, spec.map(AsRef::as_ref), lookup);
        base.strangers = strangers(head, &claims, lookup);
        let node_labels = spec.map(|spec| node_labels(&base, spec, lookup)).unwrap_or_default();
        let denied = from.turn.denied.iter().map(|item| PodName::new(item.name())).collect();
        Self { base, spec: object.spec.clone(), excluded, claims, node_labels, denied, seed: from.turn.seed }
    }

    #[cfg(test)]
    #[must_use]
    pub fn with(mut self, pods: Vec<Arc<PodView>>, revisions: Vec<Arc<Revision>>) -> Self {
        self.base.set(pods, revisions);
        self
    }

    /// The object with pods and revisions that a test hands in.
    #[cfg(test)]
    pub fn alone(object: &Value, pods: Vec<Arc<PodView>>, revisions: Vec<Arc<Revision>>) -> Self {
        let mut base = Base::alone(object);
        base.set(pods, revisions);
        Self {
            base,
            spec: CloneSet::read(object).spec,
            excluded: PreparingDelete::Counted,
            claims: BTreeMap::new(),
            node_labels: BTreeMap::new(),
            denied: BTreeSet::new(),
            seed: 0,
        }
    }

    /// CS-35: the spec decides, or else the manager's flag.
    pub fn preparing_delete(&self, spec: &Spec) -> PreparingDelete {
        match spec.preparing_delete {
            PreparingDelete::Excluded => PreparingDelete::Excluded,
            PreparingDelete::Counted => self.excluded,
        }
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
        self.base.workload(<CloneSet as Slim>::RESOURCE)
    }
}

impl Spec {
    /// CS-21.
    pub fn is_available(&self, pod: &PodView, now: Timestamp) -> bool {
        is_normal(pod) && pod.is_update_ready(self.min_ready_seconds, now)
    }

    /// CS-22.
    pub fn is_to_delete(&self, pod: &PodView) -> bool {
        pod.labels.has(labels::SPECIFIED_DELETE) || self.named_to_delete.contains(&pod.name)
    }
}

/// Ready for the delete limits (CS-21): as available, without minReadySeconds.
pub fn is_ready(pod: &PodView, now: Timestamp) -> bool {
    is_normal(pod) && pod.is_update_ready(0, now)
}

pub fn is_pre_deleting(pod: &PodView) -> bool {
    LifecycleState::of(pod) == LifecycleState::PreparingDelete
}

/// Its own, and with claim templates all of the namespace that are named like its own.
fn claims(head: &Head, spec: Option<&Spec>, lookup: Lookup<'_>) -> BTreeMap<ClaimName, Arc<Claim>> {
    let mut found: Vec<Arc<Claim>> = lookup.by(Index::Owner, head.uid.as_str());
    if spec.is_some_and(|spec| !spec.claim_templates.is_empty()) {
        let middle = format!("-{}-", head.name);
        let named = lookup.by::<Claim>(INSTANCE, &head.namespace).into_iter();
        found.extend(named.filter(|claim| claim.name.as_str().contains(&middle)));
    }
    found.into_iter().map(|claim| (claim.name.clone(), claim)).collect()
}

/// Pods of other owners that have the name of one of its instances (B7).
fn strangers(head: &Head, claims: &BTreeMap<ClaimName, Arc<Claim>>, lookup: Lookup<'_>) -> BTreeSet<PodName> {
    let instances = claims.values().filter_map(|claim| claim.instance.as_ref());
    let pods = instances.filter_map(|id| {
        let name = format!("{}-{id}", head.name);
        lookup.get::<PodView>(&Key::new(Arc::clone(&head.namespace), name))
    });
    let is_strange = |pod: &Arc<PodView>| pod.owners.iter().all(|owner| owner.uid != head.uid);
    pods.filter(is_strange).map(|pod| pod.name.clone()).collect()
}

/// Only the labels that the template spreads by.
fn node_labels(base: &Base, spec: &Spec, lookup: Lookup<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let keys = spec.topology_keys();
    if keys.is_empty() {
        return BTreeMap::new();
    }
    let names: BTreeSet<Arc<str>> = base.pods.iter().filter_map(|pod| pod.node.clone()).collect();
    let labels = |name: Arc<str>| {
        let node = lookup.get::<Node>(&Key::cluster(Arc::clone(&name)))?;
        let labels = node.labels().iter().filter(|(key, _)| keys.contains(key.as_str()));
        Some((name.to_string(), labels.map(|(key, value)| (key.clone(), value.clone())).collect()))
    };
    names.into_iter().filter_map(labels).collect()
}
