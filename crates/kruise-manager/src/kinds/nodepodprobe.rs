//! Registers NodePodProbe: one object per node, planned by the name of the node, whether there is an object or not.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use kruise_api::names::{APPS_GROUP, component};
use kruise_api::resource::PODS;
use kruise_core::cluster::node::Node;
use kruise_core::gates::Gate;
use kruise_core::lookup::Lookup;
use kruise_core::nodepodprobe::{MARKER, NodePodProbe, View, is_woken_by_node, marker_key, matters, plan};
use kruise_core::plan::Plan;
use kruise_core::pod::{NAMESPACE, PodView};
use kruise_core::podprobemarker::PodProbeMarker;
use kruise_core::turn::Turn;
use kruise_runtime::Key;
use kruise_runtime::cache::{Change, Slim};
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;
use kruise_runtime::queue::Queue;

use super::{Declared, Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Proof, Use, Verb, When, live, manager, seen};
use crate::stores::Stores;

/// Its gate is off without KruiseDaemon.
pub const REGISTRATION: Registration = Registration {
    name: "nodepodprobe",
    gate: Some(Gate::PodProbeMarker),
    workers: Workers::Flag("NodePodProbes"),
    reads: &[
        Read::of::<NodePodProbe>(),
        Read::of::<PodProbeMarker>(),
        Read::of::<PodView>(),
        Read::of::<Node>(),
    ],
    writes: &[NodePodProbe::RESOURCE, PODS],
    controller: start,
    entries: Vec::new,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

/// NC-1, and 3, 4: whatever changes what a node probes.
fn start(wiring: &Wiring<'_>) -> Start {
    let waker = Waker { stores: Arc::downgrade(wiring.stores), queue: Arc::clone(wiring.queue()) };
    if let Some(lists) = wiring.store::<NodePodProbe>() {
        let queue = Arc::clone(wiring.queue());
        lists.on_change(move |change| {
            if let Some(list) = change.new.or(change.old) {
                queue.add(list.key());
            }
        });
    }
    if let Some(nodes) = wiring.store::<Node>() {
        let queue = Arc::clone(wiring.queue());
        nodes.on_change(move |change| {
            let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
            if let Some(node) = new.or(old).filter(|_| is_woken_by_node(old, new)) {
                queue.add(node.key());
            }
        });
    }
    if let Some(pods) = wiring.store::<PodView>() {
        let waker = waker.clone();
        pods.on_change(move |change| waker.wake_by_pod(change));
    }
    if let Some(markers) = wiring.store::<PodProbeMarker>() {
        markers.on_change(move |change| waker.wake_by_marker(change));
    }
    wiring.start(NodePodProbes { source: wiring.declared() })
}

/// Holds the stores only for as long as waking takes, because they hold it.
#[derive(Clone)]
struct Waker {
    stores: Weak<Stores>,
    queue: Arc<Queue>,
}

impl Waker {
    /// This runs for every event of every pod: one look-up ends it where no marker is.
    fn wake_by_pod(&self, change: &Change<'_, PodView>) {
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let Some(pod) = new.or(old).filter(|pod| pod.node.is_some()) else { return };
        let Some(stores) = self.stores.upgrade() else { return };
        let markers = stores.lookup().by::<PodProbeMarker>(NAMESPACE, &pod.namespace);
        if markers.is_empty() || !matters(old, new, &markers) {
            return;
        }
        for node in [old, new].into_iter().flatten().filter_map(|one| one.node.as_ref()) {
            self.queue.add(Key::cluster(Arc::clone(node)));
        }
    }

    /// The nodes of the pods that it selects, and those that have its probes.
    fn wake_by_marker(&self, change: &Change<'_, PodProbeMarker>) {
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let Some(marker) = new.or(old).filter(|_| PodProbeMarker::matters(old, new)) else { return };
        let Some(stores) = self.stores.upgrade() else { return };
        let (lookup, head) = (stores.lookup(), &marker.head);
        let mut nodes: BTreeSet<Key> = BTreeSet::new();
        let is_selected = |pod: &&Arc<PodView>| [old, new].into_iter().flatten().any(|one| one.selects(pod));
        let pods = lookup.by::<PodView>(NAMESPACE, &head.namespace);
        let selected = pods.iter().filter(is_selected).filter_map(|pod| pod.node.as_ref());
        nodes.extend(selected.map(|node| Key::cluster(Arc::clone(node))));
        let lists = lookup.by::<NodePodProbe>(MARKER, &marker_key(&head.namespace, &head.name));
        nodes.extend(lists.iter().map(|list| list.key()));
        for node in nodes {
            self.queue.add(node);
        }
    }
}

struct NodePodProbes {
    source: Declared,
}

impl Planner for NodePodProbes {
    fn name(&self) -> &'static str {
        component::NODEPODPROBE
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        Some(plan(&View::assemble(&key.name, Lookup::new(&self.source)), turn.now))
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let list = Lookup::new(&self.source).get::<NodePodProbe>(key)?;
        Some(Subject::new(NodePodProbe::RESOURCE, key.clone(), list.uid.as_str()))
    }
}

/// Writing pods and their status, and reading all nodes, is in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::NODEPODPROBE;
    const GONE: Proof = Proof::Test(
        "kruise-core/src/nodepodprobe/tests/plan.rs::nc_2_list_of_a_node_that_is_gone_is_deleted_unless_a_live_read_finds_the_node",
    );
    let when = When::Gate(Gate::PodProbeMarker);
    let rarely = |name, why| Verb { name, why, proof: GONE };
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "gives every Ready node its object"),
            seen("patch", "tells node agents what to probe"),
            rarely("delete", "deletes the object of a node that is gone"),
        ],
    ];
    let node = vec![rarely("get", "makes sure that a node is gone before its NodePodProbe is deleted")];
    vec![
        Use { when, ..manager(PART, APPS_GROUP, "nodepodprobes", verbs.concat()) },
        Use { when, ..manager(PART, "", "nodes", node) },
    ]
}
