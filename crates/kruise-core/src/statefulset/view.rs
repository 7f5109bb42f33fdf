//! Everything the planner may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::conditions;
use kruise_api::resource::PODS;
#[cfg(test)]
use serde_json::Value;

use super::object::StatefulSet;
use super::ordinals::Ordinal;
use super::spec::Spec;
use crate::cluster::claim::{Claim, template_name};
use crate::cluster::storage_class::{Expansion, StorageClass};
use crate::fault::Fault;
use crate::ids::{ClaimName, PodName, RevisionName};
use crate::lifecycle::is_normal;
use crate::lookup::{Index, Lookup, Slim};
use crate::object::{Key, ObjectRef};
use crate::plan::CREATIONS_MAX;
use crate::pod::{ORPHAN, Phase, PodView, orphan_of};
use crate::revision::OfWorkload;
#[cfg(test)]
use crate::revision::Revision;
use crate::workload::Workload;
use crate::workload::base::{Base, Dependents, Head, Sources};

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

#[cfg(test)]
impl std::ops::DerefMut for View {
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

impl View {
    /// One indexed look-up per field.
    pub fn assemble(object: &StatefulSet, from: Sources<'_>) -> Self {
        let (head, lookup) = (&object.head, from.lookup);
        let spec = object.spec.as_ref().ok();
        let selector = spec.map(|spec| &spec.selector);
        let revisions = OfWorkload::find(lookup, &head.namespace, &head.uid, selector);
        let orphan_revisions = revisions.orphans.iter().map(|one| one.name.clone()).collect();
        let found = Dependents { pods: pods(object, lookup), revisions };
        let base = Base::assemble(head, spec.map(|spec| &spec.base), found, from);
        let classes = lookup.all::<StorageClass>();
        let classes = classes.iter().map(|one| (one.name().to_owned(), one.expansion())).collect();
        let mut view =
            Self { base, spec: object.spec.clone(), orphan_revisions, claims: BTreeMap::new(), classes };
        view.add_ordinals(lookup);
        view
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
            spec: StatefulSet::read(object).spec,
            orphan_revisions: BTreeSet::new(),
            claims: BTreeMap::new(),
            classes: BTreeMap::new(),
        }
    }

    /// What is looked up by the names of pods that exist or are wanted: strangers and PVCs.
    fn add_ordinals(&mut self, lookup: Lookup<'_>) {
        let Ok(spec) = self.spec.clone() else { return };
        let there: BTreeSet<PodName> = self.pods.iter().map(|pod| pod.name.clone()).collect();
        let mut ordinals: BTreeSet<Ordinal> = self.pods.iter().filter_map(|pod| self.ordinal(pod)).collect();
        let mut strangers = BTreeSet::new();
        let key = |name: Arc<str>| Key::new(Arc::clone(&self.namespace), name);
        // No more missing ones than one plan creates: a user may ask for any number.
        let mut missing = 0;
        for ordinal in spec.slots(&self.gates).iter() {
            ordinals.insert(ordinal);
            let name = self.pod_name(ordinal);
            if there.contains(&name) {
                continue;
            }
            if lookup.get::<PodView>(&key(name.shared())).is_some() {
                strangers.insert(name);
                continue;
            }
            missing += 1;
            if missing == CREATIONS_MAX {
                break;
            }
        }
        let templates = || spec.claim_templates.iter().map(template_name);
        let names = ordinals.iter().flat_map(|ordinal| templates().map(|one| self.claim_name(one, *ordinal)));
        let claims =
            names.filter_map(|name| Some((name.clone(), lookup.get(&key(name.shared()))?))).collect();
        self.claims = claims;
        self.base.strangers = strangers;
    }

    /// For what it shares with other kinds.
    pub fn workload(&self) -> Workload<'_> {
        self.base.workload(<StatefulSet as Slim>::RESOURCE)
    }

    /// AS-4: whether selector and name make a pod ours.
    pub fn claims_pod(&self, pod: &PodView) -> bool {
        claims_pod(&self.name, self.spec.as_ref().ok().map(AsRef::as_ref), pod)
    }

    /// AS-4: whether an orphan becomes ours.
    pub fn adopts(&self, pod: &PodView) -> bool {
        adopts(&self.base, self.spec.as_ref().ok().map(AsRef::as_ref), pod)
    }

    /// The claim of an ordinal, by the name of its template.
    pub fn claim_name(&self, template: &str, ordinal: Ordinal) -> ClaimName {
        ClaimName::new(format!("{template}-{}-{ordinal}", self.name))
    }

    pub fn ordinal(&self, pod: &PodView) -> Option<Ordinal> {
        Ordinal::of_pod(&self.name, pod.name.as_str())
    }

    pub fn pod_object(&self, ordinal: Ordinal) -> ObjectRef {
        self.workload().object(PODS, self.pod_name(ordinal).shared())
    }

    pub fn pod_name(&self, ordinal: Ordinal) -> PodName {
        PodName::new(format!("{}-{ordinal}", self.name))
    }
}

impl Spec {
    /// AS-30; a pod that says since when it is ready only vaguely is not available while that matters.
    pub fn is_available(&self, pod: &PodView, now: Timestamp) -> bool {
        let seconds = self.rolling.min_ready_seconds;
        let is_dated = pod.condition(conditions::POD_READY).is_some_and(|one| one.since().is_some());
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

/// AS-4: whether selector and name make a pod the set's.
fn claims_pod(set: &str, spec: Option<&Spec>, pod: &PodView) -> bool {
    let is_selected = spec.is_some_and(|spec| spec.selector.matches(&pod.labels));
    is_selected && Ordinal::of_pod(set, pod.name.as_str()).is_some()
}

fn adopts(set: &Head, spec: Option<&Spec>, pod: &PodView) -> bool {
    let is_free = pod.controller().is_none() && pod.deleted.is_none();
    is_free && set.deleted.is_none() && claims_pod(&set.name, spec, pod)
}

/// Its own, and orphans that selector and name make its own.
fn pods(object: &StatefulSet, lookup: Lookup<'_>) -> Vec<Arc<PodView>> {
    let (head, spec) = (&object.head, object.spec.as_ref().ok().map(AsRef::as_ref));
    let mut pods: Vec<Arc<PodView>> = lookup.by(Index::Owner, head.uid.as_str());
    let orphans = lookup.by::<PodView>(ORPHAN, &orphan_of(&head.namespace, &head.name));
    let is_new = |pod: &PodView| pod.owners.iter().all(|owner| owner.uid != head.uid);
    pods.extend(orphans.into_iter().filter(|pod| adopts(head, spec, pod) && is_new(pod)));
    pods
}
