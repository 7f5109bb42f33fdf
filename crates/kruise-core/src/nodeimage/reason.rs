//! Why a node has no NodeImage. The closed list of this kind.

use jiff::Timestamp;
use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};
use crate::time;

pub fn virtual_node() -> Reason {
    none(0, "it is a virtual node, which has no node agent")
}

pub fn not_ready() -> Reason {
    none(2, "the node is not ready")
}

pub fn ready_since_too_short(seconds: i64, until: Timestamp) -> Reason {
    let text = format!("the node must be ready for {seconds} s, which is at {}", time::seconds(until));
    none(0, &text)
}

fn none(weight: u8, why: &str) -> Reason {
    let text = format!("no NodeImage yet: {why}");
    Reason::OfKind(KindReason { name: names::NO_NODE_IMAGE, weight, text })
}
