//! Nodes, as far as planners read them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::labels::{NODE_TYPE, NODE_TYPE_VIRTUAL_KUBELET};
use kruise_api::{Resource, resource::NODES};
use serde::Deserialize;

use crate::cluster::meta::{Meta, identified_by};
use crate::cluster::quantity::Quantity;
use crate::eligibility::Taint;
use crate::lookup::{Index, Slim};

#[derive(Debug, Deserialize)]
pub struct Node {
    metadata: NodeMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Deserialize)]
struct NodeMeta {
    #[serde(flatten)]
    meta: Meta,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: bool,
    taints: Option<Vec<Taint>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Status {
    allocatable: BTreeMap<String, Quantity>,
}

impl Node {
    pub fn name(&self) -> &Arc<str> {
        &self.metadata.meta.name
    }

    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.metadata.labels
    }

    /// Set while it is being deleted.
    pub fn deleted(&self) -> Option<jiff::Timestamp> {
        self.metadata.meta.deletion_timestamp
    }

    /// Cordoned.
    pub fn is_unschedulable(&self) -> bool {
        self.spec.unschedulable
    }

    pub fn taints(&self) -> &[Taint] {
        self.spec.taints.as_deref().unwrap_or_default()
    }

    pub fn allocatable(&self) -> &BTreeMap<String, Quantity> {
        &self.status.allocatable
    }

    /// Whether the same pods could run there: heartbeats and addresses do not matter.
    pub fn takes_the_same_pods_as(&self, other: &Self) -> bool {
        self.labels() == other.labels() && self.spec == other.spec && self.status == other.status
    }

    /// A virtual node has no container runtime of its own, so the node agent is not there.
    pub fn is_virtual(&self) -> bool {
        self.labels().get(NODE_TYPE).is_some_and(|kind| kind == NODE_TYPE_VIRTUAL_KUBELET)
    }
}

impl Slim for Node {
    type Shared = ();
    const RESOURCE: Resource = NODES;

    identified_by!(metadata.meta);

    fn index(&self, _put: &mut dyn FnMut(Index, &str)) {}
}
