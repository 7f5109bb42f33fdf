//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::annotations;

use super::object::DaemonSet;
use super::spec::Spec;
use crate::cluster::node::Node;
use crate::fault::Fault;
use crate::ids::RevisionName;
use crate::lookup::{Index, Lookup, Slim};
use crate::pod::{Assign, LOOSE, PodView};
use crate::revision::OfWorkload;
use crate::workload::Workload;
use crate::workload::base::{Base, Dependents, Sources};

/// Built once per reconcile and never changed.
#[derive(Debug, Clone)]
pub struct View {
    /// Its pods are those that it controls, whatever version their reference names (B1), and the orphans that become its own (DS-9).
    pub base: Base,
    /// Shared, so that it is read once per generation and not once per plan.
    pub spec: Result<Arc<Spec>, Fault>,
    /// All of them, sorted by name.
    pub nodes: Vec<Arc<Node>>,
    /// Those of the revisions that nobody owns yet.
    pub orphan_revisions: BTreeSet<RevisionName>,
    /// Nodes whose failed pod is left where it is until then (DS-13).
    pub back_off: BTreeMap<Arc<str>, Timestamp>,
    pub assign: Assign,
    /// For names of pods.
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
    /// One indexed look-up per field (B19).
    pub fn assemble(
        object: &DaemonSet,
        assign: Assign,
        back_off: BTreeMap<Arc<str>, Timestamp>,
        from: Sources<'_>,
    ) -> Self {
        let (head, lookup) = (&object.head, from.lookup);
        let spec = object.spec.as_ref().ok();
        let selector = spec.map(|spec| &spec.selector);
        let revisions = OfWorkload::find(lookup, &head.namespace, &head.uid, selector);
        let orphan_revisions = revisions.orphans.iter().map(|one| one.name.clone()).collect();
        let found = Dependents { pods: pods(object, lookup), revisions };
        let mut nodes: Vec<Arc<Node>> = lookup.all();
        nodes.sort_by(|one, other| one.name().cmp(other.name()));
        Self {
            base: Base::assemble(head, spec.map(|spec| &spec.base), found, from),
            spec: object.spec.clone(),
            nodes,
            orphan_revisions,
            back_off,
            assign,
            seed: from.turn.seed,
        }
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        self.base.workload(<DaemonSet as Slim>::RESOURCE)
    }

    /// An orphan that becomes its own (DS-9).
    pub fn adopts(&self, pod: &PodView) -> bool {
        pod.controller().is_none() && pod.deleted.is_none() && self.selects(pod)
    }

    pub fn selects(&self, pod: &PodView) -> bool {
        self.spec.as_ref().is_ok_and(|spec| spec.selector.matches(&pod.labels))
    }

    /// The number that old tools give templates (DS-26).
    pub fn template_generation(&self) -> Option<&str> {
        let text = self.annotations.get(annotations::DAEMONSET_TEMPLATE_GENERATION)?;
        text.parse::<i64>().is_ok().then_some(text.as_str())
    }

    /// B3: outdated pods that are down count against maxUnavailable, too.
    pub fn is_strict(&self) -> bool {
        self.annotations.get(annotations::DAEMONSET_STRICT_MAX_UNAVAILABLE).is_some_and(|text| text == "true")
    }
}

/// Those that it controls, and orphans that the selector makes its own (DS-9).
fn pods(object: &DaemonSet, lookup: Lookup<'_>) -> Vec<Arc<PodView>> {
    let head = &object.head;
    let owned = lookup.by::<PodView>(Index::Owner, head.uid.as_str()).into_iter();
    let is_controlled = |pod: &Arc<PodView>| pod.controller().is_some_and(|owner| owner.uid == head.uid);
    let mut pods: Vec<Arc<PodView>> = owned.filter(is_controlled).collect();
    // A selector that says nothing selects nobody's pods (DS-6).
    let spec = object.spec.as_ref().ok().filter(|spec| !spec.selector.is_empty());
    if let (Some(spec), None) = (spec, head.deleted) {
        let loose = lookup.by::<PodView>(LOOSE, &head.namespace).into_iter();
        pods.extend(loose.filter(|pod| pod.deleted.is_none() && spec.selector.matches(&pod.labels)));
    }
    pods
}
