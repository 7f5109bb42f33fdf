//! What a template asks of a node, read once.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::affinity::Term;
use super::requests::{self, Amounts};
use super::taint::{Taint, Toleration};
use crate::cluster::node::Node;
use crate::pod::string_map;

const REQUIRED: &str =
    "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
/// Every node has a limit of pods, and a pod takes one.
const PODS: &str = "pods";

/// What a pod asks of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Needs {
    /// The node that the template names.
    pub node: Option<String>,
    labels: BTreeMap<String, String>,
    /// `None`: every node; an empty list: none.
    terms: Option<Vec<Term>>,
    pub tolerations: Vec<Toleration>,
    requests: Amounts,
}

/// Why a pod could not run on a node. The first that applies, in the order of BJ-4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    OtherNode,
    Labels,
    Taint(Taint),
    Unschedulable,
    Pods,
    Resource(String),
}

impl Needs {
    /// Of the pods of a template. What cannot be read is left to the API server, which refuses such pods.
    pub fn of(template: &Value) -> Self {
        let spec = template.get("spec").unwrap_or(&Value::Null);
        let node = spec.get("nodeName").and_then(Value::as_str).filter(|name| !name.is_empty());
        Self {
            node: node.map(str::to_owned),
            labels: string_map(spec.get("nodeSelector")),
            terms: spec.pointer(REQUIRED).filter(|terms| !terms.is_null()).map(list),
            tolerations: spec.get("tolerations").map(list).unwrap_or_default(),
            requests: requests::of_pod(spec),
        }
    }

    /// Whether a pod made for this node could run there (BJ-4). A template that names a node fits no other one (B13).
    pub fn fits(&self, node: &Node) -> Result<(), Unfit> {
        if self.node.as_deref().is_some_and(|name| name != &**node.name()) {
            return Err(Unfit::OtherNode);
        }
        if !self.selects(node) {
            return Err(Unfit::Labels);
        }
        if let Some(taint) =
            node.taints().iter().find(|taint| taint.effect.repels() && !self.tolerates(taint))
        {
            return Err(Unfit::Taint(taint.clone()));
        }
        if node.is_unschedulable() && !self.tolerates(&Taint::unschedulable()) {
            return Err(Unfit::Unschedulable);
        }
        self.has_room(node)
    }

    /// Node selector and required affinity.
    pub fn selects(&self, node: &Node) -> bool {
        let has = |(key, value): (&String, &String)| node.labels().get(key) == Some(value);
        let matches = |term: &Term| term.matches(node.name(), node.labels());
        self.labels.iter().all(has) && self.terms.as_ref().is_none_or(|terms| terms.iter().any(matches))
    }

    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }

    fn has_room(&self, node: &Node) -> Result<(), Unfit> {
        let allocatable = node.allocatable();
        if allocatable.get(PODS).is_some_and(|pods| !pods.is_positive()) {
            return Err(Unfit::Pods);
        }
        let wanted = self.requests.iter().filter(|(_, amount)| amount.is_positive());
        for (name, amount) in wanted {
            if allocatable.get(name).is_none_or(|there| there < amount) {
                return Err(Unfit::Resource(name.clone()));
            }
        }
        Ok(())
    }
}

/// The entries of a list that can be read.
fn list<T: DeserializeOwned>(value: &Value) -> Vec<T> {
    value.as_array().into_iter().flatten().filter_map(|one| T::deserialize(one).ok()).collect()
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherNode => out.write_str("the template names another node"),
            Self::Labels => out.write_str("node selector or required affinity does not match"),
            Self::Taint(taint) => write!(out, "taint {taint} is not tolerated"),
            Self::Unschedulable => out.write_str("the node is cordoned"),
            Self::Pods => out.write_str("the node takes no pods"),
            Self::Resource(name) => write!(out, "the node has less {name} than the pod requests"),
        }
    }
}
