//! One file per controller: what wakes it and how its view is assembled. Nothing here decides.

mod cloneset;
pub mod launch_priority;
mod persistentpodstate;
pub mod pod_readiness;
mod pods;
mod statefulset;
#[cfg(test)]
mod tests;
mod workload;

pub use cloneset::CloneSets;
pub use launch_priority::LaunchPriority;
pub use persistentpodstate::PodStates;
pub use pod_readiness::PodReadiness;
pub use statefulset::StatefulSets;
pub use workload::{Context, Planned, Workloads};
