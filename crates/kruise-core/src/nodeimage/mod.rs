//! Decides the next writes for the NodeImage of one node: the list of images that the node agent pulls. Specification: NI-1 … NI-12.
//!
//! view → existence (NI-1 … NI-3) → labels and tags of the spec (NI-4 … NI-7) → tags that no agent answers for (NI-8 … NI-10).
//! Writes: one to create, one per change of the node's labels, one per set of tags that are done with. `sync` is the other side: how an
//! ImagePullJob puts a tag into the list.
//! Deviations from upstream: a NodeImage is created with the labels of its node (one write instead of two); NodeImages are found by the
//! jobs in their tags, so that a restart forgets none (18); references to secrets that are gone leave with the next write (8).
//! Never: a tag, owner or secret that another job has put there is lost. Each patch either names the version that was seen, or tests the
//! very entry that it changes.

pub mod admission;
mod clean;
mod object;
mod overdue;
mod plan;
mod pool;
mod reason;
pub mod sync;
mod view;

pub use object::{Image, JOB, NodeImage, Phase, SecretRef, Tag, TagOwner, TagStatus};
pub use plan::plan;
pub use view::View;

#[cfg(test)]
mod tests;
