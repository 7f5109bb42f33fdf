//! What the planner looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::data::Hashes;
use super::missed::Missed;
use super::object::SidecarSet;
use super::sidecar::Sidecars;
use super::spec::{Pin, Spec};
use super::stored::Stored;
use super::{inject, records};
use crate::fault::Fault;
use crate::gates::Gates;
use crate::lookup::Slim;
use crate::object::{Item, Key, ObjectRef};
use crate::pod::{INJECTED, PodView};
use crate::revision::Known;
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub labels: Arc<BTreeMap<String, String>>,
    pub spec: Result<Arc<Spec>, Fault>,
    pub hashes: Hashes,
    /// SS-52, sorted by namespace and name.
    pub pods: Vec<Arc<PodView>>,
    /// Pods that have it in their list and are not managed.
    pub others: Vec<Arc<PodView>>,
    /// Pods that should have it and do not.
    pub missed: Vec<Missed>,
    /// Oldest first (SS-54).
    pub revisions: Vec<Arc<Stored>>,
    /// The name of the revision to be stored next belongs to another object (SS-55).
    pub is_name_taken: bool,
    /// B5: what new pods are pinned to is gone.
    pub is_pin_lost: bool,
    /// Of the installation.
    pub namespace: Arc<str>,
    pub gates: Gates,
    /// Pods that were denied an allowance when it was asked for last.
    pub denied: BTreeSet<Item>,
}

impl View {
    /// One indexed look-up per field.
    pub fn assemble(set: &SidecarSet, from: Sources<'_>) -> Self {
        let lookup = from.lookup;
        let namespace = &from.setup.namespace;
        let listed = lookup.by::<PodView>(INJECTED, set.name()).into_iter();
        let active = listed.filter(|pod| pod.is_active());
        let (pods, others) = active.partition(|pod| set.wants(lookup, pod) && has_all(set, pod));
        let spec = set.spec.as_ref().ok();
        let wanted = spec.map(|spec| spec.data.name(set.name(), set.head.collisions()));
        let is_taken = |name: &crate::ids::RevisionName| {
            lookup.get::<Known>(&Key::new(Arc::clone(namespace), name.shared())).is_some()
        };
        let is_lost = |pin: &Pin| {
            inject::pinned(set, pin, lookup, namespace).is_none() && lookup.is_complete::<Known>()
        };
        Self {
            head: Arc::clone(&set.head),
            labels: Arc::clone(&set.labels),
            spec: set.spec.clone(),
            hashes: set.hashes(),
            pods,
            others,
            missed: Missed::find(set, lookup),
            revisions: Stored::of_set(lookup, namespace, set.name(), &set.head.uid),
            is_name_taken: wanted.as_ref().is_some_and(is_taken),
            is_pin_lost: spec.and_then(|spec| spec.pin.as_ref()).is_some_and(is_lost),
            namespace: Arc::clone(namespace),
            gates: from.setup.gates.clone(),
            denied: from.turn.denied.clone(),
        }
    }

    pub fn itself(&self) -> ObjectRef {
        ObjectRef::new(SidecarSet::RESOURCE, "", Arc::clone(&self.head.name))
    }
}

/// SS-52: every container of it, of a hot one both twins and a note of which works.
fn has_all(set: &SidecarSet, pod: &PodView) -> bool {
    let Ok(spec) = &set.spec else { return false };
    has_containers(&spec.sidecars, pod)
}

fn has_containers(sidecars: &Sidecars, pod: &PodView) -> bool {
    let key = kruise_api::annotations::SIDECARSET_WORKING_HOTUPGRADE_CONTAINER;
    let working = if sidecars.has_hot() {
        records::working(pod.annotations.get(key)).unwrap_or_default()
    } else {
        records::Working::default()
    };
    sidecars.containers.iter().all(|one| {
        one.pod_names().iter().all(|name| pod.container(name).is_some())
            && (!one.is_hot() || working.contains_key(one.name.as_ref()))
    })
}
