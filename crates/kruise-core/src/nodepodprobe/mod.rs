//! Decides the next writes for one node: what its agent probes, and what the results do to pods. Specification: NC-1 … NC-7, PM-6 … PM-8.
//!
//! view → the object comes and goes with its node (NC-2) → the full set of probes of the node (PM-6, PM-7, NC-3) → results (NC-4 … NC-7).
//! Writes: at most one of the object per plan, whatever the number of markers and pods; one per pod whose condition or marks change.
//! Deviations from upstream: the whole set of probes is computed, so that nothing is left behind (3), and a node that gets its object
//! late gets its probes, too (4); it is written only on the spec that was seen, so that no probe is lost (6), and only if it differs (11);
//! addresses are renewed (9); conditions of Kubernetes are refused (5); pods are patched, never replaced (12, 13); the size is bounded (18).
//! Never: a result of a probe that is not wanted any more, or of another pod of the same name.

mod object;
mod plan;
mod result;
mod view;
mod wanted;

pub use object::{Listed, MARKER, NodePodProbe, marker_key};
pub use plan::plan;
pub use view::{View, is_woken_by_node, matters};

#[cfg(test)]
mod tests;
