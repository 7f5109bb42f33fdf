//! The in-place update engine: change a running pod instead of replacing it. Specification: SM-20 … SM-38.
//!
//! possible? (SM-20 … 24, `change.rs`) → batches by launch priority (SM-25, `batch.rs`) → writes (SM-26 … 30, `engine.rs`)
//! → complete? (SM-31 … 38, `complete.rs`). The record of a running update is an annotation (`state.rs`).
//! Writes per pod: drain (status), change (pod; one more for a resize), back into traffic (status).
//! Deviations from upstream: M1, M2, M4 … M8, M13, M14, M18.
//! Never: a container changed before the pod left traffic; an update declared complete that a node has not seen.

mod batch;
mod change;
mod complete;
mod engine;
mod image;
mod state;

pub use change::{Blocked, Change, RefMetadata, ResourceDelta};
pub use complete::{Incomplete, is_complete};
pub use engine::{Job, Refresh, Resize, States, drains, refresh, resize_of_server, start};
pub use image::same as same_image;
pub use state::{Grace, InPlaceState};

#[cfg(test)]
mod tests;
