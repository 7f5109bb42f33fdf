//! Why a node has no pod or an old one, and why a pod is left alone. The closed list of this kind.

use jiff::Timestamp;
use kruise_api::reasons::waiting as names;
use kruise_api::resource::NODES;

use crate::cluster::node::Node;
use crate::eligibility::Unfit;
use crate::object::ObjectRef;
use crate::pod::PodView;
use crate::reason::{KindReason, Reason};
use crate::time;

pub fn node(node: &Node) -> ObjectRef {
    ObjectRef::new(NODES, "", node.name().clone())
}

/// The node takes no pod: what the user asked for, as far as the manager can know.
pub fn unfit(unfit: &Unfit) -> Reason {
    of_kind(names::NODE_UNFIT, 0, unfit.to_string())
}

/// Its pod could not be made anew (B14).
pub fn not_remade(unfit: &Unfit) -> Reason {
    of_kind(
        names::NODE_UNFIT,
        1,
        format!("stays at its revision: it could not be created again, because {unfit}"),
    )
}

pub fn burst(limit: usize) -> Reason {
    of_kind(names::BURST_REPLICAS, 0, format!("waits for its turn: burstReplicas allows {limit} at once"))
}

pub fn back_off(until: Timestamp) -> Reason {
    let text = format!("failed again; it is replaced at {}", time::seconds(until));
    of_kind(names::BACK_OFF, 3, text)
}

pub fn not_selected() -> Reason {
    of_kind(
        names::NODE_NOT_SELECTED,
        0,
        "stays at its revision: spec.updateStrategy.rollingUpdate.selector does not match its node"
            .to_owned(),
    )
}

pub fn partitioned(keep: u32) -> Reason {
    let text = format!("gets no pod yet: partitionedScaling, and partition keeps {keep}");
    of_kind(names::PARTITIONED_SCALING, 0, text)
}

pub fn max_surge(surging: u32, limit: u32) -> Reason {
    of_kind(names::MAX_SURGE, 1, format!("{surging} nodes run two pods, at most {limit} may (maxSurge)"))
}

pub fn surging(new: &PodView) -> Reason {
    of_kind(names::SURGING, 1, format!("stays until pod {} on its node is available", new.name))
}

pub fn duplicate() -> Reason {
    of_kind(names::DUPLICATE, 2, "more than one pod is on its node; the others go first".to_owned())
}

/// A node whose pod is going.
pub fn leaving(pod: &PodView) -> Reason {
    of_kind(names::TERMINATING, 2, format!("gets its next pod when {} is gone", pod.name))
}

/// A pod of a node that does not exist.
pub fn no_node() -> Reason {
    of_kind(names::NODE_UNFIT, 0, "its node does not exist any more: Kubernetes deletes it".to_owned())
}

/// A pod that says nothing about its node (DS-10).
pub fn nowhere() -> Reason {
    of_kind(names::NODE_UNFIT, 4, "it neither runs on a node nor names one: delete it".to_owned())
}

fn of_kind(name: &'static str, weight: u8, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight, text })
}
