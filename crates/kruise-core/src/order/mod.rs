//! Which pod comes first. Specification: SM-60 … SM-65, CS-50 … CS-52, CS-74. Ties always end at the name.

mod delete;
mod scatter;
mod selector;
mod update;

pub use delete::{Constraint, DeleteOrder};
pub use scatter::{ScatterTerm, scatter};
pub use selector::{Requirement, Selector};
pub use update::{Priority, by_default, by_priority};
