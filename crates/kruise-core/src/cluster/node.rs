//! Nodes, as far as planners read them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::conditions::POD_READY as NODE_READY;
use kruise_api::kubernetes::status::TRUE;
use kruise_api::labels::{NODE_TYPE, NODE_TYPE_VIRTUAL_KUBELET};
use kruise_api::{Resource, resource::NODES};
use serde::{Deserialize, Deserializer};

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
    conditions: Ready,
}

/// The condition Ready, as far as it holds; heartbeats in it are not kept.
#[derive(Debug, Default, PartialEq)]
struct Ready(Option<Timestamp>);

impl<'de> Deserialize<'de> for Ready {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Condition {
            r#type: String,
            status: String,
            last_transition_time: Option<Timestamp>,
        }
        let all: Option<Vec<Condition>> = Option::deserialize(deserializer)?;
        let mut holding = all.into_iter().flatten().filter(|one| one.status == TRUE);
        let ready = holding.find(|one| one.r#type == NODE_READY);
        Ok(Self(ready.map(|one| one.last_transition_time.unwrap_or(Timestamp::UNIX_EPOCH))))
    }
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

    /// Since when it is Ready; `None` if it is not.
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.status.conditions.0
    }

    /// Whether the same pods could run there: heartbeats and addresses do not matter.
    pub fn takes_the_same_pods_as(&self, other: &Self) -> bool {
        self.labels() == other.labels()
            && self.spec == other.spec
            && self.status.allocatable == other.status.allocatable
    }

    /// Whether its kubelet says so.
    pub fn is_ready(&self) -> bool {
        self.ready_since().is_some()
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
