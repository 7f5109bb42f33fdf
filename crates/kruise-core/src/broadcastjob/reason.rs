//! Why a node has no pod, and why a pod is left alone. The closed list of this kind.

use kruise_api::reasons::waiting as names;
use kruise_api::resource::NODES;

use crate::cluster::node::Node;
use crate::eligibility::Unfit;
use crate::object::ObjectRef;
use crate::reason::{KindReason, Reason};

pub fn node(node: &Node) -> ObjectRef {
    ObjectRef::new(NODES, "", node.name().clone())
}

/// The node takes no pod of this job: what the user asked for, as far as the manager can know.
pub fn unfit(unfit: &Unfit) -> Reason {
    of_kind(names::NODE_UNFIT, 0, unfit.to_string())
}

/// That only so many run at once is what the user asked for.
pub fn parallelism(active: usize, limit: usize) -> Reason {
    let text = format!("waits for a slot: parallelism {active} of {limit} in use");
    of_kind(names::PARALLELISM, 0, text)
}

pub fn running() -> Reason {
    of_kind(names::RUNNING, 0, "runs".to_owned())
}

pub fn finished() -> Reason {
    of_kind(names::FINISHED, 0, "the job is over: it creates no more pods".to_owned())
}

fn of_kind(name: &'static str, weight: u8, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight, text })
}
