//! Differences between JSON values, and patches of pod metadata out of them. Specification: SM-20, SM-23.

mod diff;
mod metadata;

pub use diff::{Change, Difference, differences};
pub use metadata::MetadataPatch;
