//! NodePodProbe: what the agent of one node probes. Specification: NC-1 and PB-1 and following. One version only.

/// What a probe says. Written by the node agent; read by the NodePodProbe controller.
pub mod state {
    /// It succeeded.
    pub const SUCCEEDED: &str = "Succeeded";
    /// It failed, or its container does not run.
    pub const FAILED: &str = "Failed";
    /// Its container or check is new.
    pub const UNKNOWN: &str = "Unknown";
}
pub mod v1alpha1;

pub use v1alpha1::{
    ContainerProbe, ContainerProbeState, NodePodProbe, NodePodProbeSpec, NodePodProbeStatus, PodProbe,
    PodProbeStatus,
};
