//! What the planner looks at.

use std::sync::Arc;

use kruise_api::conditions;
use kruise_api::finalizers::POD_PROBE_MARKER;

use super::object::PodProbeMarker;
use super::spec::Spec;
use crate::cluster::node::Node;
use crate::fault::Fault;
use crate::gates::Gate;
use crate::lookup::{Lookup, Slim};
use crate::nodepodprobe::{MARKER, NodePodProbe, marker_key};
use crate::object::{Key, ObjectRef};
use crate::pod::{NAMESPACE, PodView, Status};
use crate::workload::base::{Head, Sources};

/// Everything that one plan depends on.
#[derive(Debug, Clone)]
pub struct View {
    pub head: Arc<Head>,
    pub finalizers: Arc<[String]>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// Active ones that it selects, by name.
    pub pods: Vec<Member>,
    /// NodePodProbes that have a probe of it.
    pub listed_on: usize,
    /// Whether providers of virtual nodes probe.
    pub has_serverless: bool,
}

/// A pod that the marker selects, and how far it is.
#[derive(Debug, Clone)]
pub struct Member {
    pub pod: Arc<PodView>,
    pub stand: Stand,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    NotInitialized,
    /// Bound to no node yet.
    NoNode,
    NodeGone(Arc<str>),
    /// On a virtual node.
    Serverless,
    NoNodePodProbe(Arc<str>),
    /// The node has not been told yet.
    Pending(Arc<str>),
    Probed(Arc<str>),
}

impl Stand {
    /// PM-3, PM-9: normal and serverless pods on nodes that exist.
    pub fn is_matched(&self) -> bool {
        match self {
            Self::NotInitialized | Self::NoNode | Self::NodeGone(_) => false,
            Self::Serverless | Self::NoNodePodProbe(_) | Self::Pending(_) | Self::Probed(_) => true,
        }
    }
}

impl View {
    pub fn assemble(marker: &PodProbeMarker, from: Sources<'_>) -> Self {
        let head = &marker.head;
        let here = from.lookup.by::<PodView>(NAMESPACE, &head.namespace).into_iter();
        let selected = here.filter(|pod| pod.is_active() && marker.selects(pod));
        let member = |pod: Arc<PodView>| Member { stand: stand(&pod, head, from.lookup), pod };
        let key = marker_key(&head.namespace, &head.name);
        Self {
            head: Arc::clone(head),
            finalizers: Arc::clone(&marker.finalizers),
            spec: marker.spec.clone(),
            pods: selected.map(member).collect(),
            listed_on: from.lookup.by::<NodePodProbe>(MARKER, &key).len(),
            has_serverless: from.setup.gates.on(Gate::EnablePodProbeMarkerOnServerless),
        }
    }

    pub fn itself(&self) -> ObjectRef {
        let Head { namespace, name, .. } = self.head.as_ref();
        ObjectRef::new(PodProbeMarker::RESOURCE, Arc::clone(namespace), Arc::clone(name))
    }

    /// Where its finalizer stands.
    pub fn finalizer(&self) -> Option<usize> {
        self.finalizers.iter().position(|one| one == POD_PROBE_MARKER)
    }
}

/// One look-up of the node and one of its NodePodProbe.
fn stand(pod: &PodView, head: &Head, lookup: Lookup<'_>) -> Stand {
    if !pod.condition_is(conditions::POD_INITIALIZED, Status::True) {
        return Stand::NotInitialized;
    }
    let Some(name) = &pod.node else { return Stand::NoNode };
    let key = Key::cluster(Arc::clone(name));
    let Some(node) = lookup.get::<Node>(&key) else { return Stand::NodeGone(Arc::clone(name)) };
    if node.is_virtual() {
        return Stand::Serverless;
    }
    match lookup.get::<NodePodProbe>(&key) {
        None => Stand::NoNodePodProbe(Arc::clone(name)),
        Some(list) if list.has(pod.uid.as_str(), &head.name) => Stand::Probed(Arc::clone(name)),
        Some(_) => Stand::Pending(Arc::clone(name)),
    }
}
