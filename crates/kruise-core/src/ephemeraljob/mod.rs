//! Decides the next writes for one EphemeralJob: ephemeral containers in running pods that it selects. Specification: EJ-1 … EJ-28.
//!
//! view → end of a deleted or finished job (EJ-5, EJ-7) → census (EJ-10, EJ-12) → outcome (EJ-14 … EJ-18) → injection (EJ-19 … EJ-22) →
//! status. Writes per pod: 1 that adds all containers; per job: its finalizer, and a status write for many pods at a time.
//! Deviations from upstream: E1 … E16. A job ends when all its pods have ended (E1, E2). Slots are what is injected and has not ended (E3).
//! A pod that has containers of the job keeps its place among `replicas`, so that a pod of the same second that is seen later does not
//! take it. Partial injections are completed (E13). A job that is over injects nothing (E16).
//! E8 cannot happen: every server that Kruise runs on has ephemeral containers.
//! Never: a second injection into a pod; more unfinished pods than `parallelism` at our hands; a container in a pod that has another's
//! of the same name.

pub mod admission;
mod census;
mod inject;
mod object;
mod outcome;
mod plan;
mod reason;
mod spec;
mod status;
mod view;

pub use object::EphemeralJob;
pub use plan::plan;
pub use spec::Spec;
pub use view::View;

#[cfg(test)]
mod tests;
