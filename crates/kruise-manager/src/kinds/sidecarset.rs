//! Registers SidecarSet: what it reads and writes, what wakes it, which planner it gets.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use kruise_api::names::{self, APPS_GROUP, component};
use kruise_api::resource::{PODS, REVISIONS};
use kruise_core::admission::{self as asked, Operation, Question, Request};
use kruise_core::cluster::namespace::Namespace;
use kruise_core::lookup::Lookup;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::revision::Known as Revision;
use kruise_core::sidecarset::{
    EVERYWHERE, NAMESPACED, SidecarSet, View, admission, inject, is_missed_differently, list_of, matters,
    plan,
};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::Key;
use kruise_runtime::cache::{Change, Slim};
use kruise_runtime::queue::Queue;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Names, Role, Use, blocks_owner, live, manager, seen};
use crate::stores::Stores;
use crate::webhooks::entry::{Entry, Sort};

pub const REGISTRATION: Registration = Registration {
    name: "sidecarset",
    gate: None,
    workers: Workers::Flag("SidecarSets"),
    reads: &[
        Read::of::<SidecarSet>(),
        Read::of::<PodView>(),
        Read::of::<Revision>(),
        Read::of::<Namespace>(),
    ],
    writes: &[SidecarSet::RESOURCE, PODS, REVISIONS],
    controller: |wiring| start(SidecarSets, wiring),
    entries,
    pod_step: Some(inject::pod_step),
    cares_for: None,
    permissions,
    blocks_uninstall: Some((SidecarSet::RESOURCE, "sidecarsets")),
};

pub struct SidecarSets;

impl Planned for SidecarSets {
    type Object = SidecarSet;
    const CONTROLLER: &'static str = component::SIDECARSET;

    fn head(object: &SidecarSet) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &SidecarSet, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, from), from.turn.now)
    }

    /// SS-50, B11: pods that have it, pods that should have it, and namespaces whose labels it selects by.
    fn wake_further(wiring: &Wiring<'_>) {
        let waker = Waker { stores: Arc::downgrade(wiring.stores), queue: Arc::clone(wiring.queue()) };
        if let Some(pods) = wiring.store::<PodView>() {
            let waker = waker.clone();
            pods.on_change(move |change| waker.wake_by_pod(change));
        }
        if let Some(namespaces) = wiring.store::<Namespace>() {
            namespaces.on_change(move |change| waker.wake_by_namespace(change));
        }
    }
}

/// Holds the stores only for as long as waking takes, because they hold it.
#[derive(Clone)]
struct Waker {
    stores: Weak<Stores>,
    queue: Arc<Queue>,
}

impl Waker {
    fn wake_by_pod(&self, change: &Change<'_, PodView>) {
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let Some(pod) = new.or(old) else { return };
        let listed = |one: Option<&PodView>| -> BTreeSet<String> {
            one.map(|one| list_of(&one.annotations).map(str::to_owned).collect()).unwrap_or_default()
        };
        let is_news = match (old, new) {
            (Some(old), Some(new)) => matters(old, new),
            (_, _) => true,
        };
        if is_news {
            for name in listed(old).union(&listed(new)) {
                self.queue.add(Key::cluster(name.as_str()));
            }
        }
        if !Self::may_be_missed_differently(old, new) {
            return;
        }
        let Some(stores) = self.stores.upgrade() else { return };
        let lookup = stores.lookup();
        for set in candidates(lookup, &pod.namespace) {
            if is_missed_differently(&set, old, new, lookup) {
                self.queue.add(set.key());
            }
        }
    }

    /// Labels, the list and the end of a pod decide; most changes are of its status.
    fn may_be_missed_differently(old: Option<&PodView>, new: Option<&PodView>) -> bool {
        let (Some(old), Some(new)) = (old, new) else { return true };
        old.labels != new.labels
            || old.is_active() != new.is_active()
            || !list_of(&old.annotations).eq(list_of(&new.annotations))
    }

    /// Only its labels matter.
    fn wake_by_namespace(&self, change: &Change<'_, Namespace>) {
        if change.old.map(|one| one.labels()) == change.new.map(|one| one.labels()) {
            return;
        }
        let Some(namespace) = change.new.or(change.old) else { return };
        let Some(stores) = self.stores.upgrade() else { return };
        for set in candidates(stores.lookup(), namespace.name()) {
            if set.spec.as_ref().is_ok_and(|spec| spec.namespaces.is_some()) {
                self.queue.add(set.key());
            }
        }
    }
}

/// Sets that can be for pods of a namespace.
fn candidates(lookup: Lookup<'_>, namespace: &str) -> impl Iterator<Item = Arc<SidecarSet>> {
    let here = lookup.by::<SidecarSet>(NAMESPACED, namespace).into_iter();
    here.chain(lookup.by(NAMESPACED, EVERYWHERE))
}

/// The list of allowed annotations is asked for at each object, so that a change counts at once (6.3).
fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    let resource = SidecarSet::RESOURCE;
    let mutating = Entry::of_kind(
        resource,
        Sort::Mutating,
        &written,
        Arc::new(|request: Request, _: &asked::Known<'_>| admission::mutate(&request)),
    );
    let validating = Entry::of_kind(
        resource,
        Sort::Validating,
        &written,
        Arc::new(|request: Request, known: &asked::Known<'_>| admission::admit(&request, known)),
    );
    vec![mutating, validating.asking(&[Question::Configuration, Question::Sidecars]).widening()]
}

/// Writing pods and revisions is in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::SIDECARSET;
    let note = |names, verbs| Use { role: Role::Webhook, names, ..manager(PART, "", "configmaps", verbs) };
    vec![
        manager(PART, APPS_GROUP, "sidecarsets", [CACHE.as_slice(), &[live()]].concat()),
        manager(
            PART,
            APPS_GROUP,
            "sidecarsets/status",
            vec![seen("patch", "reports pods, the newest revision and conditions")],
        ),
        manager(PART, APPS_GROUP, "sidecarsets/finalizers", vec![blocks_owner()]),
        manager(PART, "", "namespaces", CACHE.to_vec()),
        note(
            Names::Only(&[names::SIDECARSET_ADMISSIONS]),
            vec![
                seen(
                    "get",
                    "looks for SidecarSets that its watch has not brought yet, before a pod is created",
                ),
                seen("patch", "notes a SidecarSet that is about to be stored"),
            ],
        ),
        note(Names::Any, vec![seen("create", "creates the note of SidecarSets that are about to be stored")]),
    ]
}
