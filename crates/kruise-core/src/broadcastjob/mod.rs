//! Decides the next writes for one BroadcastJob: a pod to its end on every node that fits. Specification: BJ-1 … BJ-28.
//!
//! view → census (BJ-7, BJ-8, BJ-10) → end of a finished job (BJ-3) → pause (BJ-12, BJ-13) → failure (BJ-13 … BJ-15) → work
//! (BJ-16, BJ-19 … BJ-21) → completion (BJ-17) → status (BJ-18). Writes per pod: 1 to create it, and a status write for many at a time.
//! Deviations from upstream: B1 … B20. Counts are of the pods that are there (B3, B10). A pod that ran is never deleted because its node
//! changed, and a node is done only with a pod that ended by itself (B6, B7). A pod over the restart limit is stopped by a
//! deadline of its own, so that it stays as a record of the failure (B8). The Pause policy pauses the job itself and remembers for how many
//! failures, so that the user's resume counts (B9). A template that names a node is a job for that node (B13).
//! Never: two pods for one node; a second run where one succeeded; more active pods than `parallelism` at our hands.

pub mod admission;
mod census;
mod create;
mod end;
mod object;
mod plan;
mod reason;
mod spec;
mod status;
mod view;

pub use object::BroadcastJob;
pub use plan::plan;
pub use spec::{Completion, OnFailure, Spec};
pub use view::View;

#[cfg(test)]
mod tests;
