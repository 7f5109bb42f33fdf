//! Registers PodProbeMarker: what it reads and writes, what wakes it, which planner it gets.

use std::sync::{Arc, Weak};

use kruise_api::names::{APPS_GROUP, component};
use kruise_api::resource::PODS;
use kruise_core::admission::Operation;
use kruise_core::cluster::node::Node;
use kruise_core::gates::Gate;
use kruise_core::nodepodprobe::{NodePodProbe, is_woken_by_node};
use kruise_core::plan::Plan;
use kruise_core::pod::{NAMESPACE, NODE, PodView};
use kruise_core::podprobemarker::{PodProbeMarker, View, admission, listed, plan, pod_step};
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::Key;
use kruise_runtime::cache::{Change, Slim};
use kruise_runtime::queue::Queue;

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, When, live, manager, seen};
use crate::stores::Stores;
use crate::webhooks::entry::{Entry, Rule, Sort};

pub const REGISTRATION: Registration = Registration {
    name: "podprobemarker",
    gate: Some(Gate::PodProbeMarker),
    workers: Workers::Flag("PodProbeMarkers"),
    reads: &[
        Read::of::<PodProbeMarker>(),
        Read::of::<PodView>(),
        Read::of::<Node>(),
        Read::of::<NodePodProbe>(),
    ],
    writes: &[PodProbeMarker::RESOURCE, PODS],
    controller: |wiring| start(PodProbeMarkers, wiring),
    entries,
    pod_step: Some(pod_step),
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

pub struct PodProbeMarkers;

impl Planned for PodProbeMarkers {
    type Object = PodProbeMarker;
    const CONTROLLER: &'static str = component::PODPROBEMARKER;

    fn head(object: &PodProbeMarker) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &PodProbeMarker, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, from), from.turn.now)
    }

    /// PM-1, 3, 20: pods that it selects, their nodes, and lists that its probes have left.
    fn wake_further(wiring: &Wiring<'_>) {
        let waker = Waker { stores: Arc::downgrade(wiring.stores), queue: Arc::clone(wiring.queue()) };
        if let Some(pods) = wiring.store::<PodView>() {
            let waker = waker.clone();
            pods.on_change(move |change| waker.wake_by_pod(change));
        }
        if let Some(nodes) = wiring.store::<Node>() {
            let waker = waker.clone();
            nodes.on_change(move |change| waker.wake_by_node(change));
        }
        if let Some(lists) = wiring.store::<NodePodProbe>() {
            lists.on_change(move |change| waker.wake_by_list(change));
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
    /// PM-2: the markers that admission wrote onto the pod, else those of its namespace.
    fn wake_by_pod(&self, change: &Change<'_, PodView>) {
        let Some(pod) = change.new.or(change.old) else { return };
        let Some(stores) = self.stores.upgrade() else { return };
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let names: Vec<&str> = listed(&pod.annotations).collect();
        for marker in stores.lookup().by::<PodProbeMarker>(NAMESPACE, &pod.namespace) {
            let is_named = names.is_empty() || names.contains(&&*marker.head.name);
            if is_named && marker.is_woken_by(old, new) {
                self.queue.add(marker.key());
            }
        }
    }

    /// A node that comes, goes or turns virtual changes which pods count (PM-3).
    fn wake_by_node(&self, change: &Change<'_, Node>) {
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let Some(node) = new.or(old).filter(|_| is_woken_by_node(old, new)) else { return };
        let Some(stores) = self.stores.upgrade() else { return };
        let lookup = stores.lookup();
        for pod in lookup.by::<PodView>(NODE, node.name()) {
            let markers = lookup.by::<PodProbeMarker>(NAMESPACE, &pod.namespace);
            for marker in markers.iter().filter(|marker| marker.selects(&pod)) {
                self.queue.add(marker.key());
            }
        }
    }

    /// PM-4: only a marker that is being deleted waits for its probes to leave.
    fn wake_by_list(&self, change: &Change<'_, NodePodProbe>) {
        let of = |list: Option<&Arc<NodePodProbe>>| list.map(|list| list.markers()).unwrap_or_default();
        let Some(stores) = self.stores.upgrade() else { return };
        for left in of(change.old).difference(&of(change.new)) {
            let Some((namespace, name)) = left.split_once('/') else { continue };
            let marker = stores.lookup().get::<PodProbeMarker>(&Key::new(namespace, name));
            if let Some(marker) = marker.filter(|marker| marker.is_deleted()) {
                self.queue.add(marker.key());
            }
        }
    }
}

/// There are no defaults, and one version.
fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    let judge = Arc::new(admission::admit);
    let entry = Entry::of_kind(PodProbeMarker::RESOURCE, Sort::Validating, &written, judge);
    let rule = Rule { versions: &["v1alpha1"], ..entry.rule.clone() };
    vec![Entry { rule, ..entry }.widening()]
}

/// Reading pods and nodes, and writing labels of pods, is in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::PODPROBEMARKER;
    let when = When::Gate(Gate::PodProbeMarker);
    let verbs = [
        CACHE.as_slice(),
        &[live(), seen("patch", "adds its finalizer, and removes it when no node has its probes any more")],
    ];
    let status = vec![seen("patch", "reports how many pods match")];
    vec![
        Use { when, ..manager(PART, APPS_GROUP, "podprobemarkers", verbs.concat()) },
        Use { when, ..manager(PART, APPS_GROUP, "podprobemarkers/status", status) },
    ]
}
