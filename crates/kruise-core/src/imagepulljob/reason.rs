//! Why a node is not asked, and why a job is left alone. The closed list of this kind.

use std::sync::Arc;

use kruise_api::reasons::waiting as names;
use kruise_api::resource::NODES;

use crate::nodeimage::sync::Progress;
use crate::object::ObjectRef;
use crate::reason::{KindReason, Reason};

pub fn node(name: &Arc<str>) -> ObjectRef {
    ObjectRef::new(NODES, "", Arc::clone(name))
}

/// That only so many pull at once is what the user asked for.
pub fn parallelism(active: usize, limit: usize) -> Reason {
    let text = if limit == 0 {
        "paused: parallelism is 0".to_owned()
    } else {
        format!("waiting for a slot: parallelism {active} of {limit} in use")
    };
    of_kind(names::PARALLELISM, 0, text)
}

/// Of a node that no step of the plan has said anything about.
pub fn of(progress: Progress) -> Reason {
    match progress {
        Progress::NotAsked => {
            of_kind(names::FINISHED, 0, "the job is over: no more nodes are asked".to_owned())
        }
        Progress::Active => of_kind(names::PULLING, 1, "the node is pulling the image".to_owned()),
        Progress::Succeeded => Reason::Done,
        Progress::Failed => {
            let text = "the node could not pull the image: its NodeImage and events say why".to_owned();
            of_kind(names::PULL_FAILED, 3, text)
        }
    }
}

pub fn no_node_image() -> Reason {
    let text = "no NodeImage yet: the node must exist and be ready, see --nodeimage-creation-delay";
    of_kind(names::NO_NODE_IMAGE, 2, text.to_owned())
}

pub fn secret(name: &str) -> Reason {
    of_kind(names::PULL_SECRET, 1, format!("waiting until pull secret {name} is copied for the node agents"))
}

pub fn finished() -> Reason {
    of_kind(names::FINISHED, 0, "the job is over".to_owned())
}

pub fn list_runs() -> Reason {
    let text = "its time to live is over, but the ImageListPullJob that it belongs to still runs".to_owned();
    of_kind(names::LIST_RUNS, 0, text)
}

fn of_kind(name: &'static str, weight: u8, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight, text })
}
