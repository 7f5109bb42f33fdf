//! One file per controller: what wakes it and how its view is assembled. Nothing here decides.

mod cloneset;
mod persistentpodstate;
mod statefulset;
#[cfg(test)]
mod tests;
mod workload;

pub use cloneset::CloneSets;
pub use persistentpodstate::PodStates;
pub use statefulset::StatefulSets;
pub use workload::{Context, Planned, Workloads};
