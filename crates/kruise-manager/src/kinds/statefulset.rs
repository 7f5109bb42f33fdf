//! Registers Advanced StatefulSet: what it reads and writes, what wakes it, which planner it gets.

use std::sync::Arc;

use kruise_api::Kind;
use kruise_api::names::{APPS_GROUP, component};
use kruise_api::policy::podunavailablebudget::PodUnavailableBudget;
use kruise_api::resource::{CLAIMS, PODS, REVISIONS};
use kruise_core::cluster::claim::Claim;
use kruise_core::cluster::node::Node;
use kruise_core::cluster::storage_class::StorageClass;
use kruise_core::gates::Gate;
use kruise_core::lookup::Index;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::predownload::PullJob;
use kruise_core::revision::Known;
use kruise_core::statefulset::{Ordinal, StatefulSet, View, plan, sets_of_claim};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::Key;
use kruise_runtime::cache::{Change, Slim, Store};
use kruise_runtime::queue::Queue;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, When, blocks_owner, live, manager, seen};
use crate::webhooks::entry::Entry;

pub const REGISTRATION: Registration = Registration {
    name: "statefulset",
    gate: None,
    workers: Workers::Flag("StatefulSets"),
    reads: &[
        Read::of::<StatefulSet>(),
        Read::of::<PodView>(),
        Read::of::<Claim>(),
        Read::of::<Known>(),
        Read::of::<Node>(),
        Read::of::<PullJob>().when(Gate::ImagePullJob),
        Read::of::<StorageClass>().when(Gate::StatefulSetAutoResizePvc),
    ],
    writes: &[
        StatefulSet::RESOURCE,
        PODS,
        CLAIMS,
        REVISIONS,
        PullJob::RESOURCE,
        PodUnavailableBudget::RESOURCE,
    ],
    controller: |wiring| start(StatefulSets, wiring),
    entries: Entry::of_workload::<StatefulSet>,
    pod_step: None,
    cares_for: Some(|lookup, uid| !lookup.by::<StatefulSet>(Index::Uid, uid).is_empty()),
    permissions,
    blocks_uninstall: Some((StatefulSet::RESOURCE, "advanced statefulsets")),
};

pub struct StatefulSets;

impl Planned for StatefulSets {
    type Object = StatefulSet;
    const CONTROLLER: &'static str = component::STATEFULSET;

    fn head(object: &StatefulSet) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &StatefulSet, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, from), from.turn.now)
    }

    /// Orphans, strangers and claims belong to a set by their name (AS-1, AS-4, AS-35).
    fn wake_further(wiring: &Wiring<'_>) {
        let (Some(sets), Some(pods), Some(claims)) =
            (wiring.store::<StatefulSet>(), wiring.store::<PodView>(), wiring.store::<Claim>())
        else {
            return;
        };
        let woken = Woken { sets: Arc::clone(sets), queue: Arc::clone(wiring.queue()) };
        let by_pod = woken.clone();
        if let Some(classes) = wiring.store::<StorageClass>() {
            let (by_class, all) = (woken.clone(), Arc::clone(claims));
            classes.on_change(move |change| by_class.wake_by_class(change, &all));
        }
        pods.on_change(move |change| {
            let Some(pod) = change.new.or(change.old) else { return };
            if let Some((set, _)) = Ordinal::split(pod.name.as_str()) {
                by_pod.wake(&pod.namespace, set);
            }
        });
        claims.on_change(move |change: &Change<'_, Claim>| {
            let Some(claim) = change.new.or(change.old) else { return };
            woken.wake_by_claim(claim);
        });
    }
}

/// Sets that are woken by name.
#[derive(Clone)]
struct Woken {
    sets: Arc<Store<StatefulSet>>,
    queue: Arc<Queue>,
}

impl Woken {
    fn wake(&self, namespace: &Arc<str>, set: &str) {
        let key = Key::new(Arc::clone(namespace), set);
        if self.sets.get(&key).is_some() {
            self.queue.add(key);
        }
    }

    fn wake_by_claim(&self, claim: &Claim) {
        let named = sets_of_claim(claim.name.as_str());
        for set in named.into_iter().chain(claim.grown_by.as_deref()) {
            self.wake(&claim.namespace, set);
        }
    }

    /// What waits for a class that lets volumes grow (AS-87). Classes change so rarely that all claims may be looked at then.
    fn wake_by_class(&self, change: &Change<'_, StorageClass>, claims: &Store<Claim>) {
        let Some(class) = change.new else { return };
        if change.old.map(|old| old.expansion()) == Some(class.expansion()) {
            return;
        }
        let is_of_class = |claim: &Claim| claim.class.as_deref() == Some(class.name());
        claims.all().iter().filter(|claim| is_of_class(claim)).for_each(|claim| self.wake_by_claim(claim));
    }
}

fn permissions() -> Vec<Use> {
    vec![
        manager(component::STATEFULSET, APPS_GROUP, "statefulsets", [CACHE.as_slice(), &[live()]].concat()),
        manager(
            component::STATEFULSET,
            APPS_GROUP,
            "statefulsets/status",
            vec![seen("patch", "reports replicas, revisions and conditions")],
        ),
        manager(component::STATEFULSET, APPS_GROUP, "statefulsets/finalizers", vec![blocks_owner()]),
        Use {
            when: When::Gate(Gate::StatefulSetAutoResizePvc),
            ..manager(component::STATEFULSET, "storage.k8s.io", "storageclasses", CACHE.to_vec())
        },
    ]
}
