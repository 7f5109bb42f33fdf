//! Decides the next writes for one PodProbeMarker, and what its probes and results mean for one pod.
//! Specification: PM-1 … PM-9, SL-1 … SL-3. What the node agents are told, and what becomes of their results, is decided per node in
//! [`nodepodprobe`](crate::nodepodprobe), so that many markers and pods of one node cost one write.
//!
//! view → end of a deleted marker (PM-4) → finalizer (PM-5) → marks of serverless pods (SL-3) → status (PM-9).
//! Writes: the finalizer once, the status when the number of pods changes, one patch per serverless pod whose marks change.
//! Deviations from upstream: pods that come, go or change their labels wake it (3, 20); it lets go of its finalizer when no node has one
//! of its probes any more, wherever its pods are (2, 3); a marker that cannot be read leaves everything as it is.
//! Marks and conditions stay when the marker is deleted, as upstream (21).
//! Never: a write of a condition that Kubernetes or Kruise owns.

pub mod admission;
mod check;
mod mark;
mod object;
mod plan;
pub(crate) mod reason;
mod serverless;
mod spec;
mod status;
mod view;

pub use check::{Check, UnknownPort};
pub use mark::{Marks, NoCondition, Said, Unknowns, is_reserved};
pub use object::{PodProbeMarker, is_probed, listed};
pub use plan::plan;
pub use serverless::pod_step;
pub use spec::{Policy, Probe, Spec, State};
pub use view::View;

#[cfg(test)]
pub(crate) mod tests;
