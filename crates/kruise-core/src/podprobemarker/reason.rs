//! Why a pod is not probed, or why a marker does not go. The closed list of this kind and of NodePodProbe.

use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};

/// A person has to act.
const WRONG: u8 = 4;

pub fn probed(node: &str) -> Reason {
    of_kind(names::PROBED, 0, format!("is probed by the agent of node {node}"))
}

pub fn not_initialized() -> Reason {
    of_kind(names::NOT_INITIALIZED, 0, "is probed when its init containers have finished".to_owned())
}

pub fn node_gone(node: &str) -> Reason {
    of_kind(names::NODE_GONE, 2, format!("its node {node} does not exist"))
}

pub fn no_node_pod_probe(node: &str) -> Reason {
    let text = format!("node {node} has no NodePodProbe yet: it gets one when it is Ready");
    of_kind(names::NO_NODE_POD_PROBE, 2, text)
}

pub fn pending(node: &str) -> Reason {
    of_kind(names::PROBES_PENDING, 0, format!("its probes are on their way to node {node}"))
}

pub fn provider() -> Reason {
    of_kind(names::SERVERLESS, 0, "is on a virtual node, whose provider probes it".to_owned())
}

pub fn serverless() -> Reason {
    let text = "is on a virtual node, where no probe runs: switch on feature gate EnablePodProbeMarkerOnServerless if its provider supports it";
    of_kind(names::SERVERLESS, 2, text.to_owned())
}

pub fn probes_left(count: usize) -> Reason {
    of_kind(names::PROBES_LEFT, 1, format!("its probes have not left {count} NodePodProbes yet"))
}

pub fn unknown_port(marker: &str, port: &str) -> Reason {
    let text = format!(
        "probe {marker} names port {port:?}, which its container does not have: name a port of the container or give a number"
    );
    of_kind(names::UNKNOWN_PORT, WRONG, text)
}

pub fn full(limit: usize) -> Reason {
    let text = format!(
        "the NodePodProbe of its node holds {limit} bytes of probes, and no more fit: select fewer pods, or use fewer probes"
    );
    of_kind(names::PROBES_FULL, WRONG, text)
}

pub fn condition_conflict(probe: &str, condition: &str) -> Reason {
    let text = format!(
        "probe {probe} does not write condition {condition}: another probe writes it; give it another podConditionType"
    );
    of_kind(names::CONDITION_CONFLICT, WRONG, text)
}

pub fn reserved_condition(probe: &str, condition: &str) -> Reason {
    let text = format!(
        "probe {probe} does not write condition {condition}, which belongs to Kubernetes or Kruise; give it another podConditionType"
    );
    of_kind(names::RESERVED_CONDITION, WRONG, text)
}

pub fn no_result(node: &str) -> Reason {
    let text = format!("waits for the agent (kruise-daemon) of node {node} to say something");
    of_kind(names::NO_RESULT, 2, text)
}

pub fn node_not_ready() -> Reason {
    of_kind(names::NODE_NOT_READY, 2, "gets its NodePodProbe when it is Ready".to_owned())
}

fn of_kind(name: &'static str, weight: u8, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight, text })
}
