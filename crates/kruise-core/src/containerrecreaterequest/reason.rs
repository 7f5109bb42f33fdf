//! Why a request does not move. The closed list of this kind.

use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};

pub fn agent() -> Reason {
    of_kind(names::AGENT, "waits for the node agent (kruise-daemon) of the pod's node to begin")
}

pub fn turn() -> Reason {
    of_kind(names::QUEUED, "waits for an earlier request for the same pod to end")
}

pub fn recreating() -> Reason {
    of_kind(names::RECREATING, "the node agent is restarting the containers")
}

pub fn no_agents() -> Reason {
    of_kind(names::NO_AGENTS, "node agents are switched off: feature gate KruiseDaemon")
}

fn of_kind(name: &'static str, text: &str) -> Reason {
    Reason::OfKind(KindReason { name, weight: 0, text: text.to_owned() })
}
