//! What is known of the cluster: one watch per resource type for the whole process, decoded straight from the stream
//! into slim types, with indexes declared per type. A reconcile looks things up; it never scans.

mod pool;
mod set;
mod store;
mod stream;
mod watch;

pub use set::Caches;
#[cfg(test)]
pub(crate) use store::tests::Thing;
pub use store::{Change, Listed, Store};
pub use watch::{Watch, WatchSettings};

use serde::de::DeserializeOwned;

use crate::{Key, Resource};

/// A slim type that a cache holds. Deserializes from the wire object; everything it does not name is skipped.
pub trait Cached: DeserializeOwned + Send + Sync + 'static {
    const RESOURCE: Resource;

    fn key(&self) -> Key;

    fn uid(&self) -> &str;

    /// As the server gave it.
    fn resource_version(&self) -> &str;

    /// Calls `put` with every index entry that the object should be found under.
    fn index(&self, put: &mut dyn FnMut(Index, &str));

    /// What objects of this type have in common is kept here once; `()` if nothing is.
    type Shared: Default + Send + Sync;

    /// Replaces what it has in common with others by the common copies.
    fn share(&mut self, _shared: &mut Self::Shared) {}
}

/// A named way to look objects up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// By the uid of each owner.
    Owner,
    Namespace,
    Node,
    /// By what the type itself defines, for example the objects that a job belongs to.
    Other(&'static str),
}

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
