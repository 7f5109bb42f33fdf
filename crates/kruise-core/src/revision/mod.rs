//! Revision history: what is stored of a template, under which name, and when two templates are the same.
//! Specification: SM-1 … SM-13, SM-33.
//!
//! template → canonical by the Go type table (SM-2) → Go JSON (SM-1) → hash (SM-3) → name (SM-4); equality by canonical
//! value (SM-10); history (SM-11).
//! Deviations from upstream: M15 and M16 (equality never looks at bytes or at the hash label).
//! Never: a new revision because of spelling; a revision deleted that a pod is at.

mod canonical;
pub mod gojson;
pub mod hash;
mod history;
mod same;
mod slim;
mod source;
mod stored;
mod types;
mod wanted;

pub use canonical::{Unreadable, canonical};
pub use history::{Choice, choose, sort, surplus};
pub use same::{Writer, same_template};
pub use slim::{Known, OfWorkload};
pub use stored::{Data, Revision};
pub use types::{Field, FieldType, Item, Merge, Table};
pub use wanted::{Found, Revisions, Stamp, find, find_stamped, truncate};

#[cfg(test)]
mod golden_test;
