//! Decides the next writes for one ImagePullJob: which nodes are asked for its image now. Specification: PJ-1 … PJ-16.
//!
//! view → end of a deleted or completed job (PJ-2, PJ-3) → finalizer (PJ-4) → copies of pull secrets (PJ-11 … PJ-14) → census of nodes
//! (PJ-8) → completion (PJ-9) → nodes to ask (PJ-10) → status (PJ-15).
//! Writes: one per node, one per pull secret and job, one for the finalizer if admission has not set it, one per change of the status.
//! Deviations from upstream: nodes are asked in the update order of the workload (3); a node whose image lacks a secret is counted once, by
//! how far its pull is (5); `selector: {}` is woken by NodeImages, too (6); without a namespace for copies there is nothing to release (7); a
//! finished job of a list stays until the list is over (11); secrets are read by name, at most every few seconds, and are not watched
//! (14); names of copies are fixed by their source and fit (16); a copy does not carry the annotation of `kubectl apply`, which holds the
//! secret a second time.
//! Never: more nodes pull for a job than `parallelism` says; a tag gets a new version because a manager was replaced.

pub mod admission;
mod ask;
mod census;
mod end;
mod object;
mod order;
mod plan;
mod reason;
mod secret;
mod secrets;
mod spec;
mod status;
mod view;

pub use object::{ImagePullJob, OF_IMAGE, OF_NODE, OF_PODS, OF_TAG, is_pod_news, of_node, of_tag};
pub use plan::{SECRETS_EVERY_SECONDS, plan};
pub use secret::{REFERENCE, SOURCE, SecretCopy};
pub use spec::{Completion, Nodes, Spec};
pub use view::{Settings, View, sources};

#[cfg(test)]
mod tests;
