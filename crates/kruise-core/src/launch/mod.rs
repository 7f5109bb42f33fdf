//! Container launch priority: containers of one pod start level by level. Specification: SM-95 … SM-99.
//!
//! admission gives each container a barrier (SM-95, SM-96): a variable from a key of a ConfigMap that does not exist yet, so
//! that the kubelet waits. The plan opens the barriers from the highest level down (SM-97, SM-98).
//! Writes per pod: one per level (the first creates the ConfigMap), one that marks the pod as done.
//! Deviations from upstream: M9 (a malformed barrier is ignored), M10 (a ConfigMap of another pod is never trusted, and a
//! completed pod is looked at again), the ConfigMap is created with its first level open.

mod admission;
mod plan;
#[cfg(test)]
mod tests;

pub use admission::{Refusal, admit, generated_name, inject, pod_step, priorities};
pub use plan::{Barrier, Last, Level, Step, config_map_name, is_waiting, key, plan, step};
