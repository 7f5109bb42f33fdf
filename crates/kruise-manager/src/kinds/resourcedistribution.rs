//! Registers ResourceDistribution: what it reads and writes, what wakes it, which planner it gets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kruise_api::names::{APPS_GROUP, component};
use kruise_core::admission::{Operation, Question};
use kruise_core::cluster::namespace::Namespace;
use kruise_core::gates::Gate;
use kruise_core::lookup::Lookup;
use kruise_core::plan::Plan;
use kruise_core::resourcedistribution::{
    Checked, Content, CopiedConfigMap, CopiedSecret, OF_RESOURCE, OF_TARGET, ResourceDistribution, View,
    admission, of_namespace, plan, to_read,
};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::{Slim, Store, Version};
use kruise_runtime::{Key, ObjectRef};

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, When, blocks_owner, live, manager, seen};
use crate::webhooks::entry::{Entry, Sort};

pub const REGISTRATION: Registration = Registration {
    name: "resourcedistribution",
    gate: Some(Gate::ResourceDistribution),
    workers: Workers::Flag("ResourceDistributions"),
    reads: &[
        Read::of::<ResourceDistribution>(),
        Read::of::<Namespace>(),
        // Metadata only: what Secrets and ConfigMaps contain is read by name, where a distribution controls them.
        Read::of::<CopiedSecret>(),
        Read::of::<CopiedConfigMap>(),
    ],
    writes: &[ResourceDistribution::RESOURCE, CopiedSecret::RESOURCE, CopiedConfigMap::RESOURCE],
    controller: |wiring| start(ResourceDistributions::new(wiring), wiring),
    entries,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: Some((ResourceDistribution::RESOURCE, "resourcedistributions")),
};

pub struct ResourceDistributions {
    known: Arc<Mutex<BTreeMap<Key, Known>>>,
}

/// What is known of the copies of one distribution.
#[derive(Default)]
struct Known {
    checked: Checked,
    /// What the last plan writes.
    planned: Option<Content>,
}

impl ResourceDistributions {
    fn new(wiring: &Wiring<'_>) -> Self {
        let known: Arc<Mutex<BTreeMap<Key, Known>>> = Arc::default();
        if let Some(objects) = wiring.store::<ResourceDistribution>() {
            let known = Arc::clone(&known);
            objects.on_change(move |change| {
                if let (Some(gone), None) = (change.old, change.new) {
                    known.lock().unwrap_or_else(PoisonError::into_inner).remove(&gone.key());
                }
            });
        }
        Self { known }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Key, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Planned for ResourceDistributions {
    type Object = ResourceDistribution;
    const CONTROLLER: &'static str = component::RESOURCEDISTRIBUTION;

    fn head(object: &ResourceDistribution) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &ResourceDistribution, from: Sources<'_>) -> Plan {
        let mut all = self.known();
        let known = all.entry(object.key()).or_default();
        let view = View::assemble(object, &known.checked, from);
        known.checked = view.checked();
        known.planned = view.spec.as_ref().ok().map(|spec| spec.resource.content.clone());
        plan(&view, from.turn.now)
    }

    fn uncached(&self, object: &ResourceDistribution, lookup: Lookup<'_>) -> Vec<ObjectRef> {
        let mut all = self.known();
        to_read(object, &all.entry(object.key()).or_default().checked, lookup)
    }

    fn goes_on_unread(&self) -> bool {
        true
    }

    /// What was just written need not be read.
    fn wrote(&self, key: &Key, object: &ObjectRef, version: Version) {
        if let Some(Known { checked, planned: Some(content) }) = self.known().get_mut(key) {
            checked.add(&object.key.namespace, &version.0.to_string(), content);
        }
    }

    /// RD-2, RD-3, RD-B4, RD-B5.
    fn wake_further(wiring: &Wiring<'_>) {
        let Some(objects) = wiring.store::<ResourceDistribution>() else { return };
        wake_by_copies::<CopiedSecret>(wiring, objects);
        wake_by_copies::<CopiedConfigMap>(wiring, objects);
        wake_by_namespaces(wiring, objects);
    }
}

/// Whatever has the name of a copy matters: a foreign object that goes makes room for one.
fn wake_by_copies<T: Slim>(wiring: &Wiring<'_>, objects: &Arc<Store<ResourceDistribution>>) {
    let Some(copies) = wiring.store::<T>() else { return };
    let (objects, queue) = (Arc::clone(objects), Arc::clone(wiring.queue()));
    copies.on_change(move |change| {
        let Some(copy) = change.new.or(change.old) else { return };
        let named = format!("{}/{}", T::RESOURCE.kind(), copy.key().name);
        objects.by(OF_RESOURCE, &named).iter().for_each(|one| queue.add(one.key()));
    });
}

/// Distributions that want a namespace that comes, goes or ends, or that want it for the labels it had or has now.
fn wake_by_namespaces(wiring: &Wiring<'_>, objects: &Arc<Store<ResourceDistribution>>) {
    let Some(namespaces) = wiring.store::<Namespace>() else { return };
    let (objects, queue) = (Arc::clone(objects), Arc::clone(wiring.queue()));
    namespaces.on_change(move |change| {
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let Some(name) = new.or(old).map(Namespace::name) else { return };
        let is_open = |one: Option<&Namespace>| one.is_some_and(|one| !one.is_terminating());
        let begins_or_ends = is_open(old) != is_open(new) || old.is_some() != new.is_some();
        let entries: BTreeSet<String> = old.into_iter().chain(new).flat_map(of_namespace).collect();
        for entry in entries {
            for one in objects.by(OF_TARGET, &entry) {
                let (wanted, wants) = (one.wants(name, old), one.wants(name, new));
                if wanted != wants || (begins_or_ends && (wanted || wants)) {
                    queue.add(one.key());
                }
            }
        }
    });
}

/// There is nothing to fill in, so it has no mutating entry, as upstream.
fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    let judge = Arc::new(admission::validate);
    let entry = Entry::of_kind(ResourceDistribution::RESOURCE, Sort::Validating, &written, judge);
    vec![entry.asking(&[Question::Resource])]
}

/// Whoever may create a distribution writes Secrets and ConfigMaps in all namespaces through it: that is what the gate is for.
fn permissions() -> Vec<Use> {
    const PART: &str = component::RESOURCEDISTRIBUTION;
    let gated = |group, resource, verbs| Use {
        when: When::Gate(Gate::ResourceDistribution),
        ..manager(PART, group, resource, verbs)
    };
    let copies = || {
        vec![
            seen("list", "fills its cache with metadata; contents are not listed"),
            seen("watch", "keeps its cache current with metadata; contents are not watched"),
            seen("get", "reads one copy by name to compare its content"),
            seen("create", "creates copies, and tries the distributed object by a dry run"),
            seen("patch", "brings copies in line with the distributed object"),
            seen("delete", "deletes copies in namespaces that are not selected any more"),
        ]
    };
    vec![
        gated(APPS_GROUP, "resourcedistributions", [CACHE.as_slice(), &[live()]].concat()),
        gated(
            APPS_GROUP,
            "resourcedistributions/status",
            vec![seen("patch", "reports which namespaces have their copy")],
        ),
        gated(APPS_GROUP, "resourcedistributions/finalizers", vec![blocks_owner()]),
        gated("", "secrets", copies()),
        gated("", "configmaps", copies()),
    ]
}
