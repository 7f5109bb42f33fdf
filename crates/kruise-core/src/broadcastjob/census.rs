//! Pods by what became of them, and nodes by what they still need (BJ-7, BJ-8, BJ-10).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::spec::Spec;
use super::view::View;
use crate::cluster::node::Node;
use crate::eligibility::Unfit;
use crate::pod::{Phase, PodView, RestartPolicy};

/// What became of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Succeeded,
    Failed,
    /// It counts as failed and still runs (B8).
    OverLimit,
    Active,
    /// Going before it came to an end: not done (B7).
    Terminating,
}

/// Everything that was counted.
#[derive(Debug)]
pub struct Census<'a> {
    pub pods: Vec<(Fate, &'a PodView)>,
    /// Nodes with more than one pod.
    pub crowded: Vec<&'a str>,
    /// Nodes that should have a pod, sorted by name.
    pub desired: Vec<Place<'a>>,
    /// Pods that wait for a node which does not take them (any more).
    pub misplaced: Vec<&'a PodView>,
    pub unfit: Vec<(&'a Node, Unfit)>,
}

/// A node that should have a pod, and the pod that counts.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub node: &'a Node,
    pub pod: Option<Fate>,
}

impl Fate {
    pub fn of(pod: &PodView, spec: &Spec) -> Self {
        let restarts =
            pod.statuses.iter().map(|one| one.restarts).fold(pod.init_restarts, u32::saturating_add);
        match pod.phase {
            Phase::Succeeded => Self::Succeeded,
            Phase::Failed => Self::Failed,
            Phase::Pending | Phase::Running | Phase::Unknown if pod.deleted.is_some() => Self::Terminating,
            Phase::Pending | Phase::Running | Phase::Unknown
                if pod.restart_policy == RestartPolicy::OnFailure && spec.restart_limit < restarts =>
            {
                Self::OverLimit
            }
            Phase::Pending | Phase::Running | Phase::Unknown => Self::Active,
        }
    }

    /// The node needs no pod any more.
    pub fn is_done(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::OverLimit | Self::Active | Self::Terminating => false,
        }
    }
}

/// The node that a pod is on, or is made for.
pub fn node_of(pod: &PodView) -> Option<&str> {
    pod.node.as_deref().or(pod.wanted_node.as_deref())
}

impl<'a> Census<'a> {
    pub fn of(view: &'a View, spec: &Spec) -> Self {
        let pods: Vec<(Fate, &PodView)> =
            view.pods.iter().map(|pod| (Fate::of(pod, spec), pod.as_ref())).collect();
        let mut by_node: BTreeMap<&str, Vec<(Fate, &PodView)>> = BTreeMap::new();
        for (fate, pod) in &pods {
            by_node.entry(node_of(pod).unwrap_or_default()).or_default().push((*fate, pod));
        }
        let mut census =
            Self { pods, crowded: Vec::new(), desired: Vec::new(), misplaced: Vec::new(), unfit: Vec::new() };
        for node in &view.nodes {
            let here = by_node.remove(&**node.name()).unwrap_or_default();
            census.look(node, &here, spec);
        }
        // A pod that was made for a node that is gone can never run; one that ran there is left to the garbage collector.
        let stranded = by_node.into_values().flatten().filter(|(fate, pod)| cannot_start(*fate, pod));
        census.misplaced.extend(stranded.map(|(_, pod)| pod));
        census
    }

    fn look(&mut self, node: &'a Arc<Node>, here: &[(Fate, &'a PodView)], spec: &Spec) {
        if 1 < here.iter().filter(|(fate, _)| *fate != Fate::Terminating).count() {
            self.crowded.push(node.name());
        }
        let fit = spec.needs.fits(node);
        // Of several the best one counts: a run that succeeded is not repeated.
        let Some((fate, pod)) = here.iter().min_by_key(|(fate, pod)| (*fate, &pod.name)).copied() else {
            match fit {
                Ok(()) => self.desired.push(Place { node, pod: None }),
                Err(unfit) => self.unfit.push((node, unfit)),
            }
            return;
        };
        match fit {
            Err(unfit) if cannot_start(fate, pod) => {
                self.misplaced.push(pod);
                self.unfit.push((node, unfit));
            }
            Err(_) | Ok(()) => self.desired.push(Place { node, pod: Some(fate) }),
        }
    }

    pub fn count(&self, fates: &[Fate]) -> usize {
        self.pods.iter().filter(|(fate, _)| fates.contains(fate)).count()
    }

    pub fn active(&self) -> impl Iterator<Item = &'a PodView> {
        self.of_fate(Fate::Active)
    }

    pub fn of_fate(&self, wanted: Fate) -> impl Iterator<Item = &'a PodView> {
        self.pods.iter().filter(move |(fate, _)| *fate == wanted).map(|(_, pod)| *pod)
    }

    /// Pods that failed, in one way or the other.
    pub fn failed(&self) -> usize {
        self.count(&[Fate::Failed, Fate::OverLimit])
    }

    pub fn succeeded(&self) -> usize {
        self.count(&[Fate::Succeeded])
    }
}

/// Not bound to its node yet: it can still be taken back without having run (B6).
fn cannot_start(fate: Fate, pod: &PodView) -> bool {
    fate == Fate::Active && pod.node.is_none()
}
