//! NodePodProbe: what the agent of one node probes. Specification: NC-1 and PB-1 and following. One version only.

pub mod v1alpha1;

pub use v1alpha1::{
    ContainerProbe, ContainerProbeState, NodePodProbe, NodePodProbeSpec, NodePodProbeStatus, PodProbe,
    PodProbeStatus,
};
