//! PodProbeMarker: probes pods and marks them with the results. Specification: PM-1 and following. One version only.

pub mod v1alpha1;

pub use v1alpha1::{
    PodContainerProbe, PodProbeMarker, PodProbeMarkerSpec, PodProbeMarkerStatus, ProbeMarkerPolicy,
    ProbeState,
};
