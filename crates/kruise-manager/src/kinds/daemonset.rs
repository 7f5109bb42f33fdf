//! Registers Advanced DaemonSet: what it reads and writes, what wakes it, which planner it gets.

use std::sync::{Arc, Mutex, PoisonError};

use kruise_api::Kind;
use kruise_api::names::{APPS_GROUP, component};
use kruise_api::policy::podunavailablebudget::PodUnavailableBudget;
use kruise_api::resource::{PODS, REVISIONS};
use kruise_core::cluster::node::Node;
use kruise_core::daemonset::{BackOff, DaemonSet, View, plan};
use kruise_core::gates::Gate;
use kruise_core::lookup::Index;
use kruise_core::plan::Plan;
use kruise_core::pod::{Assign, Phase, PodView};
use kruise_core::predownload::PullJob;
use kruise_core::revision::Known;
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::{Change, Slim, Store};
use kruise_runtime::controller::Start;
use kruise_runtime::queue::Queue;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, blocks_owner, live, manager, seen};
use crate::webhooks::entry::Entry;

pub const REGISTRATION: Registration = Registration {
    name: "daemonset",
    gate: None,
    workers: Workers::Flag("DaemonSets"),
    reads: &[
        Read::of::<DaemonSet>(),
        Read::of::<PodView>(),
        Read::of::<Known>(),
        Read::of::<Node>(),
        Read::of::<PullJob>().when(Gate::ImagePullJob),
    ],
    writes: &[DaemonSet::RESOURCE, PODS, REVISIONS, PullJob::RESOURCE, PodUnavailableBudget::RESOURCE],
    controller,
    entries: Entry::of_template::<DaemonSet>,
    pod_step: None,
    cares_for: Some(|lookup, uid| !lookup.by::<DaemonSet>(Index::Uid, uid).is_empty()),
    permissions,
    blocks_uninstall: Some((DaemonSet::RESOURCE, "advanced daemonsets")),
};

/// What is remembered of failed pods, shared with what watches them go.
type Memory = Arc<Mutex<BackOff>>;

pub struct DaemonSets {
    assign: Assign,
    back_off: Memory,
}

fn controller(wiring: &Wiring<'_>) -> Start {
    let back_off = Memory::default();
    remember(wiring, &back_off);
    start(DaemonSets { assign: wiring.flags.kinds.daemon_assign(), back_off }, wiring)
}

impl Planned for DaemonSets {
    type Object = DaemonSet;
    const CONTROLLER: &'static str = component::DAEMONSET;

    fn head(object: &DaemonSet) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &DaemonSet, from: Sources<'_>) -> Plan {
        let now = from.turn.now;
        let waits = locked(&self.back_off, |memory| memory.of(&object.head.uid, observed(&object.head), now));
        plan(&View::assemble(object, self.assign, waits, from), now)
    }

    /// DS-46, DS-47: nodes that begin or cease to take pods or to be selected, or are gone (B13), and orphans that it selects.
    fn wake_further(wiring: &Wiring<'_>) {
        let (Some(sets), Some(nodes), Some(pods)) =
            (wiring.store::<DaemonSet>(), wiring.store::<Node>(), wiring.store::<PodView>())
        else {
            return;
        };
        let (by_node, of_nodes) = (Arc::clone(sets), Arc::clone(wiring.queue()));
        nodes.on_change(move |change| wake_by_node(change, &by_node, &of_nodes));
        let (by_orphan, of_orphans) = (Arc::clone(sets), Arc::clone(wiring.queue()));
        pods.on_change(move |change| wake_by_orphan(change, &by_orphan, &of_orphans));
    }
}

/// Heartbeats wake nobody, and a node that changes wakes only those to whom it now means something else (DS-47, B19).
fn wake_by_node(change: &Change<'_, Node>, sets: &Store<DaemonSet>, queue: &Queue) {
    let is_same = |(old, new): (&Arc<Node>, &Arc<Node>)| old.takes_the_same_pods_as(new);
    if change.old.zip(change.new).is_some_and(is_same) {
        return;
    }
    for set in &sets.all() {
        let Ok(spec) = &set.spec else { continue };
        let meaning = |node: &Arc<Node>| {
            let selector = spec.rolling.selector.as_ref();
            (spec.needs.verdict(node), selector.is_some_and(|selector| selector.matches_map(node.labels())))
        };
        let concerns = match (change.old, change.new) {
            (Some(old), Some(new)) => meaning(old) != meaning(new),
            // A node that can have no pod of the set means as much to it as none.
            (Some(one), None) | (None, Some(one)) => meaning(one).0.should_continue(),
            (None, None) => false,
        };
        if concerns {
            queue.add(set.key());
        }
    }
}

/// DS-46: a pod without controller that came, changed its labels or lost its controller.
fn wake_by_orphan(change: &Change<'_, PodView>, sets: &Store<DaemonSet>, queue: &Queue) {
    let Some(pod) = change.new.filter(|pod| pod.controller().is_none()) else { return };
    let is_same = |old: &Arc<PodView>| old.labels == pod.labels && old.controller().is_none();
    if change.old.is_some_and(is_same) {
        return;
    }
    for set in &sets.all() {
        let selects = set
            .spec
            .as_ref()
            .is_ok_and(|spec| !spec.selector.is_empty() && spec.selector.matches(&pod.labels));
        if selects && set.head.namespace == pod.namespace {
            queue.add(set.key());
        }
    }
}

/// A failed pod that is deleted counts for the back-off of its node (DS-13, B16).
fn remember(wiring: &Wiring<'_>, memory: &Memory) {
    let (Some(sets), Some(pods)) = (wiring.store::<DaemonSet>(), wiring.store::<PodView>()) else { return };
    let (owners, of_pods, of_sets) = (Arc::clone(sets), Arc::clone(memory), Arc::clone(memory));
    pods.on_change(move |change: &Change<'_, PodView>| {
        let Some(pod) = change.old.filter(|pod| pod.phase == Phase::Failed && pod.deleted.is_none()) else {
            return;
        };
        let is_going = change.new.is_none_or(|new| new.deleted.is_some() || new.uid != pod.uid);
        let (Some(owner), Some(node), true) = (pod.controller(), &pod.node, is_going) else { return };
        for set in owners.by(Index::Uid, owner.uid.as_str()) {
            locked(&of_pods, |failures| failures.deleted(&set.head.uid, observed(&set.head), node));
        }
    });
    sets.on_change(move |change: &Change<'_, DaemonSet>| {
        if let (Some(old), None) = (change.old, change.new) {
            locked(&of_sets, |failures| failures.forget(&old.head.uid));
        }
    });
}

/// The generation that the status speaks of: a new one starts afresh (DS-13).
fn observed(head: &Head) -> i64 {
    head.status.get("observedGeneration").and_then(serde_json::Value::as_i64).unwrap_or(0)
}

fn locked<T>(memory: &Memory, act: impl FnOnce(&mut BackOff) -> T) -> T {
    // Whoever panicked meanwhile left at worst one wait out.
    act(&mut memory.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Pods, revisions and ImagePullJobs, which it writes as CloneSet does, are in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::DAEMONSET;
    vec![
        manager(PART, APPS_GROUP, "daemonsets", [CACHE.as_slice(), &[live()]].concat()),
        manager(PART, APPS_GROUP, "daemonsets/status", vec![seen("patch", "reports counts and revision")]),
        manager(PART, APPS_GROUP, "daemonsets/finalizers", vec![blocks_owner()]),
    ]
}
