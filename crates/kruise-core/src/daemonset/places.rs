//! Nodes and the pods on them (DS-1, DS-10, DS-14, DS-26).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::view::View;
use crate::cluster::node::Node;
use crate::eligibility::Verdict;
use crate::lifecycle::LifecycleState;
use crate::pod::PodView;

/// One node, and what is there.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    pub node: &'a Arc<Node>,
    pub verdict: Verdict,
    /// Also those that are going; the first one decides the status (DS-38).
    pub pods: Vec<&'a PodView>,
}

/// The pods of a node that are not going.
#[derive(Debug, Clone, Copy)]
pub enum Pair<'a> {
    /// At most one of each.
    Of { new: Option<&'a PodView>, old: Option<&'a PodView> },
    /// Two of one revision.
    Duplicates,
}

/// Pods by node, and pods that no node is for.
#[derive(Debug, Clone, Default)]
pub struct Places<'a> {
    /// Sorted by name.
    pub all: Vec<Place<'a>>,
    /// Made for, or bound to, a node that does not exist.
    pub stranded: Vec<&'a PodView>,
    /// Without any node (DS-10).
    pub nowhere: Vec<&'a PodView>,
}

impl<'a> Places<'a> {
    /// Of these pods.
    pub fn of(view: &'a View, verdict: impl Fn(&Node) -> Verdict) -> Self {
        let mut places = Self::default();
        let mut by_node: BTreeMap<&str, Vec<&PodView>> = BTreeMap::new();
        for pod in view.pods.iter().filter(|pod| view.selects(pod)) {
            match node_of(pod) {
                Some(node) => by_node.entry(node).or_default().push(pod),
                None => places.nowhere.push(pod),
            }
        }
        for node in &view.nodes {
            let mut pods = by_node.remove(&**node.name()).unwrap_or_default();
            pods.sort_by_key(|pod| (pod.node.is_none(), pod.created, &pod.name)); // DS-14
            places.all.push(Place { node, verdict: verdict(node), pods });
        }
        places.stranded = by_node.into_values().flatten().collect();
        places
    }

    /// By name downward, as updates proceed (DS-29).
    pub fn downward(&self) -> Vec<&Place<'a>> {
        let mut all: Vec<&Place<'a>> = self.all.iter().collect();
        all.sort_by_key(|place| Reverse(place.node.name()));
        all
    }

    /// Nodes that should have a pod.
    pub fn desired(&self) -> u32 {
        let count = self.all.iter().filter(|place| place.verdict.should_run()).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl<'a> Place<'a> {
    /// Pods that are not going.
    pub fn live(&self) -> impl Iterator<Item = &'a PodView> {
        self.pods.iter().copied().filter(|pod| pod.deleted.is_none())
    }

    pub fn pair(&self, is_new: impl Fn(&PodView) -> bool) -> Pair<'a> {
        let (mut new, mut old) = (None, None);
        for pod in self.live() {
            let side = if is_new(pod) { &mut new } else { &mut old };
            if side.replace(pod).is_some() {
                return Pair::Duplicates;
            }
        }
        Pair::Of { new, old }
    }
}

/// The node that a pod is on, or is made for.
pub fn node_of(pod: &PodView) -> Option<&str> {
    pod.node.as_deref().or(pod.wanted_node.as_deref())
}

/// A hook holds, or held, its deletion.
pub fn is_pre_deleting(pod: &PodView) -> bool {
    LifecycleState::of(pod) == LifecycleState::PreparingDelete
}
