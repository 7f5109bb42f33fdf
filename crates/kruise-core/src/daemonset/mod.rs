//! Decides the next writes for one Advanced DaemonSet: one pod on every node that fits. Specification: DS-1 … DS-49.
//!
//! view → revisions (DS-41 … DS-45) → owners (DS-9) → pre-download (DS-48, DS-49) → manage: one pod per node (DS-11 … DS-25) → update
//! (DS-26 … DS-34) → refresh of the rest (DS-6) → history (DS-44) → status (DS-38 … DS-40).
//! Writes per pod: create 2 (the pod and its readiness gates), in-place 3, recreate 3.
//! Deviations from upstream: B1 … B19, B21. One plan manages and updates: what is being created or deleted counts as down, so nothing has
//! to wait for the other. Nodes that get no pod and have none do not use up maxUnavailable. With maxSurge a failed pod keeps its place
//! until its back-off is over, so that no second one fails beside it.
//! Never: two pods of one revision at our hands on one node; a pod deleted for an update that cannot be made anew (B14).

pub mod admission;
mod back_off;
mod create;
mod download;
mod history;
mod manage;
mod object;
mod places;
mod plan;
mod reason;
mod remove;
mod spec;
mod status;
mod surge;
mod update;
mod view;

pub use back_off::BackOff;
pub use object::DaemonSet;
pub use plan::{Cx, plan};
pub use spec::{Limits, Rolling, Scaling, Spec};
pub use view::View;

#[cfg(test)]
mod tests;
