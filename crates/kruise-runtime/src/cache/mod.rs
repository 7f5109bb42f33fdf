//! What is known of the cluster: one watch per resource type for the whole process, decoded straight from the stream
//! into slim types, with indexes declared per type. A reconcile looks things up; it never scans.

mod pool;
mod set;
mod store;
mod stream;
mod watch;

pub use kruise_core::lookup::{Index, Slim};
pub use set::Caches;
#[cfg(test)]
pub(crate) use store::tests::{Thing, thing};
pub use store::{Change, Listed, Store};
pub use watch::{Watch, WatchSettings};

/// Resource versions of one resource type grow; the server promises that they compare as numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// An odd one counts as the oldest.
    pub fn read(text: &str) -> Self {
        Self(text.parse().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests;
