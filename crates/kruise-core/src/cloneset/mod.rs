//! Decides the next writes for one CloneSet. Specification: CS-1 … CS-106.
//!
//! view → revisions (CS-10 … 12) → claims (CS-60) → scale (CS-40 … 48) → update (CS-70 … 79) → refresh of the rest
//! (CS-70, SM-30, SM-44) → status (CS-90 … 93); scaling and updating never share a plan (CS-3).
//! Writes per pod: create 2 (+1 per claim), delete 1 (+1 per claim), in-place 3, recreate 3.
//! Deviations from upstream: B1 … B5, B7 … B11, B14 … B18, B20 … B22; a recreated pod is deleted at once when the limits allow
//! it, and gets the specified-delete label only when a preDelete hook holds it (CS-77: upstream labels first, one write
//! more); refreshing pods does not end a plan (CS-70: every count is taken before it, so nothing is decided on stale facts).
//! A marked pod that is down uses up the delete limit (CS-38 leaves it out, so that upstream takes a ready one on top of it).
//! While marked pods wait and nothing else moves, broken outdated pods beyond the partition are recreated (upstream: deadlock).
//! Never: more pods down at our hands than the limit; more pods than replicas plus surge; a claim deleted while its pod exists.

pub mod admission;
mod claims;
mod create;
mod numbers;
mod object;
mod plan;
mod revisions;
mod scale;
mod spec;
mod status;
mod strategy;
mod update;
mod view;
mod wake;

pub use numbers::{Counts, Direction, Group, Numbers, Update};
pub use object::CloneSet;
pub use plan::{Cx, plan};
pub use spec::{ClaimReuse, PreparingDelete, Rolling, Spec};
pub use view::View;
pub use wake::matters;

#[cfg(test)]
pub(crate) mod tests;
