//! Puts sidecars into new pods, and decides the next writes for one SidecarSet. Specification: SS-1 … SS-90.
//!
//! New pods: matching (SS-21 … SS-25) → revision (SS-26 … SS-30) → containers (SS-31 … SS-47) → annotations (SS-40, SS-48).
//! Upgrades: view → revision (SS-54 … SS-57) → end of hot upgrades (SS-88) → next batch (SS-71 … SS-78) → status (SS-70).
//! Writes per pod: 1 that changes images and notes, and 1 for its condition where that changes.
//! Deviations from upstream: B1 … B23. Events about single pods are on the SidecarSet and name the pod. A pod of a set whose pinned
//! revision is lost is still refused (B5).
//! Never: a pod that a set selects without its sidecars while the webhook answers; more pods down than maxUnavailable at our hands; a
//! container that is not of the set changed.

pub mod admission;
mod canary;
mod census;
mod data;
mod formula;
mod hot_upgrade;
pub mod inject;
mod metadata;
mod missed;
mod object;
mod plan;
mod reason;
mod records;
mod resources;
mod revisions;
mod sidecar;
mod spec;
mod status;
mod stored;
#[cfg(test)]
mod tests;
mod update;
mod view;
mod wake;

pub use object::{EVERYWHERE, NAMESPACED, Selected, SidecarSet};
pub use plan::plan;
pub use records::list_of;
pub use spec::Spec;
pub use stored::{REVISIONS_OF, Stored};
pub use view::View;
pub use wake::{is_missed_differently, matters};
