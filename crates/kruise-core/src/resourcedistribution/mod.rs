//! Decides the next writes for one ResourceDistribution: which namespaces get, keep or lose a copy. Specification: RD-1 … RD-24.
//!
//! view (targets RD-5 … RD-7) → distribution (RD-8 … RD-13) → clean-up (RD-14, RD-15) → status (RD-17 … RD-19).
//! Writes: one per namespace whose copy is missing, wrong or left over, one status when all have been tried.
//! Reads: the metadata of copies is watched, their content is not. A copy is read by name when its version is neither one that was written
//! nor one that was read before.
//! Deviations from upstream: labels and annotations follow the spec (RD-B1); Secrets are compared as the server stores them (RD-B2); conditions
//! are found by type (RD-B3); a conflict ends when the foreign object goes (RD-B4); namespaces that end count at once (RD-B5); nothing is
//! written for an object that is being deleted (RD-B6); an object that is already there is looked at before it is called a conflict (RD-B7);
//! reasons and lists are sorted (RD-B8); a write names the version that was seen and leaves other owners alone (RD-B9); writes at once are
//! bounded, and a failure holds up no other namespace, so there is no slow start (RD-8, RD-B10); what can never be updated is reported and
//! not tried (RD-B13).
//! Never: an object that this distribution does not control is written or deleted; a copy in `kube-system` or `kube-public`.

pub mod admission;
mod content;
mod copy;
mod object;
mod plan;
mod reason;
mod spec;
mod status;
mod update;
mod view;

pub use content::{Content, Distributed};
pub use copy::{CopiedConfigMap, CopiedSecret, Copy};
pub use object::{OF_RESOURCE, OF_TARGET, ResourceDistribution, of_namespace, of_resource};
pub use plan::plan;
pub use spec::{PROTECTED, Spec, Targets};
pub use view::{Checked, View, to_read};

#[cfg(test)]
mod tests;
