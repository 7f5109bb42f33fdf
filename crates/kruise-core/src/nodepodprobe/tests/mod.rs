//! Uses the fixtures of PodProbeMarker.

mod plan;
mod properties;
mod result;
