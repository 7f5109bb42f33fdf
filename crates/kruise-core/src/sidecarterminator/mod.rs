//! SidecarTerminator: ends the marked sidecars of a job's pod when its main containers are done. Specification: ST-1 … ST-19.
//!
//! `classes.rs` which containers are sidecars and how each is ended; `requests.rs` the ContainerRecreateRequests that the node agent
//! carries out; `plan.rs` the order of the steps.
//! Writes per pod: one request, or one change of images, or one status and one request.
//! Deviations from upstream: T1 (a sidecar that is restarted is stopped again, and after the third time the pod is ended), T2, T3, T4, T5, T6,
//! T7 (see `requests.rs`), T9, T10.

mod classes;
mod plan;
mod reason;
mod requests;
#[cfg(test)]
mod tests;

pub use classes::is_due;
pub use plan::{View, plan};
pub use requests::requests;
