//! What the planner looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::object::NodePodProbe;
use crate::cluster::node::Node;
use crate::lookup::Lookup;
use crate::object::Key;
use crate::pod::{NAMESPACE, NODE, PodView};
use crate::podprobemarker::{PodProbeMarker, is_probed};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub name: Arc<str>,
    pub node: Option<Arc<Node>>,
    pub list: Option<Arc<NodePodProbe>>,
    /// On the node and in a namespace with markers: active, initialized; by name.
    pub pods: Vec<Arc<PodView>>,
    /// By namespace, for the namespaces of these pods; by name.
    pub markers: BTreeMap<Arc<str>, Vec<Arc<PodProbeMarker>>>,
}

impl View {
    /// One look-up of the pods of the node, and one of markers per namespace.
    pub fn assemble(name: &Arc<str>, lookup: Lookup<'_>) -> Self {
        let key = Key::cluster(Arc::clone(name));
        let mut view = Self {
            name: Arc::clone(name),
            node: lookup.get(&key),
            list: lookup.get(&key),
            pods: Vec::new(),
            markers: BTreeMap::new(),
        };
        for pod in lookup.by::<PodView>(NODE, name).into_iter().filter(|pod| is_probed(pod)) {
            let find = || lookup.by::<PodProbeMarker>(NAMESPACE, &pod.namespace);
            let markers = view.markers.entry(Arc::clone(&pod.namespace)).or_insert_with(find);
            if !markers.is_empty() {
                view.pods.push(pod);
            }
        }
        view.pods.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        view
    }

    /// Those that a pod may have probes of; a deleted one has none (PM-4).
    pub fn markers_of(&self, pod: &PodView) -> impl Iterator<Item = &Arc<PodProbeMarker>> {
        let all = self.markers.get(&pod.namespace).into_iter().flatten();
        all.filter(|marker| !marker.is_deleted())
    }
}

/// NC-1, PM-1, 3, 9: whether a change of a pod can change what its node has to do for these markers of its namespace.
pub fn matters(old: Option<&PodView>, new: Option<&PodView>, markers: &[Arc<PodProbeMarker>]) -> bool {
    let selects = |pod: Option<&PodView>, marker: &PodProbeMarker| {
        pod.is_some_and(|pod| is_probed(pod) && (marker.spec.is_err() || marker.selects(pod)))
    };
    let is_moved = || match (old, new) {
        (Some(was), Some(is)) => was.uid != is.uid || was.node != is.node || was.ip != is.ip,
        (_, _) => true,
    };
    markers.iter().any(|marker| {
        let (before, after) = (selects(old, marker), selects(new, marker));
        before != after || (before && is_moved())
    })
}

/// NC-1: heartbeats wake no node.
pub fn is_woken_by_node(old: Option<&Node>, new: Option<&Node>) -> bool {
    let facts =
        |node: Option<&Node>| node.map(|node| (node.is_ready(), node.is_virtual(), node.deleted().is_some()));
    facts(old) != facts(new)
}
