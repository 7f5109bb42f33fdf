//! How views and admission learn about other objects: one read interface over slim types.
//!
//! The manager's caches, the simulator, test fixtures and the command line are the sources; whoever assembles a view cannot tell
//! which of them it reads. That is why `plan` and `why` are the same code everywhere.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::Resource;
use serde::de::DeserializeOwned;

use crate::object::Key;

/// A resource type as planners read it. Deserializes from the wire object; everything it does not name is skipped.
pub trait Slim: DeserializeOwned + Send + Sync + 'static {
    const RESOURCE: Resource;

    fn key(&self) -> Key;

    fn uid(&self) -> &str;

    /// As the server gave it.
    fn resource_version(&self) -> &str;

    /// Calls `put` with every index entry that the object is found under.
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
    /// A workload by its own uid: dependents know only that.
    Uid,
    /// By what the type itself defines.
    Other(&'static str),
}

/// Some object of a type that the asker knows.
pub type Found = Arc<dyn Any + Send + Sync>;

/// Where objects are read from. Implemented over caches, over the store of the simulator and over fixtures.
pub trait Source {
    fn get(&self, resource: Resource, key: &Key) -> Option<Found>;

    /// All objects under one index entry, sorted by key.
    fn by(&self, resource: Resource, index: Index, value: &str) -> Vec<Found>;

    /// All objects of a type, for types of which there are few.
    fn all(&self, resource: Resource) -> Vec<Found>;

    /// Whether what is not found is known not to exist.
    fn is_complete(&self, resource: Resource) -> bool;

    /// Whether that much is known: either all objects, or that the server has no such type.
    fn is_settled(&self, resource: Resource) -> bool {
        self.is_complete(resource)
    }
}

/// Typed access to a [`Source`].
#[derive(Clone, Copy)]
pub struct Lookup<'a>(&'a dyn Source);

impl<'a> Lookup<'a> {
    pub fn new(source: &'a dyn Source) -> Self {
        Self(source)
    }

    pub fn get<T: Slim>(&self, key: &Key) -> Option<Arc<T>> {
        self.0.get(T::RESOURCE, key)?.downcast().ok()
    }

    /// All objects under one index entry, sorted by key.
    pub fn by<T: Slim>(&self, index: Index, value: &str) -> Vec<Arc<T>> {
        typed(self.0.by(T::RESOURCE, index, value))
    }

    /// All objects of a type of which there are few.
    pub fn all<T: Slim>(&self) -> Vec<Arc<T>> {
        typed(self.0.all(T::RESOURCE))
    }

    /// Whether what is not found is known not to exist.
    pub fn is_complete<T: Slim>(&self) -> bool {
        self.0.is_complete(T::RESOURCE)
    }

    /// Whether all objects are known, or that the server has no such type.
    pub fn is_settled<T: Slim>(&self) -> bool {
        self.0.is_settled(T::RESOURCE)
    }
}

fn typed<T: Slim>(found: Vec<Found>) -> Vec<Arc<T>> {
    found.into_iter().filter_map(|one| one.downcast().ok()).collect()
}

/// Objects in memory: a source for tests, for the simulator's models and for whoever has read a few objects from a server.
#[derive(Default)]
pub struct Memory(BTreeMap<Resource, BTreeMap<Key, Entry>>);

struct Entry {
    found: Found,
    indexed: Vec<(Index, String)>,
}

impl Memory {
    pub fn put<T: Slim>(&mut self, object: Arc<T>) {
        let mut indexed = Vec::new();
        object.index(&mut |index, value| indexed.push((index, value.to_owned())));
        self.0.entry(T::RESOURCE).or_default().insert(object.key(), Entry { found: object, indexed });
    }

    fn entries(&self, resource: Resource) -> impl Iterator<Item = &Entry> {
        self.0.get(&resource).into_iter().flat_map(BTreeMap::values)
    }
}

impl Source for Memory {
    fn get(&self, resource: Resource, key: &Key) -> Option<Found> {
        self.0.get(&resource)?.get(key).map(|entry| Arc::clone(&entry.found))
    }

    fn by(&self, resource: Resource, index: Index, value: &str) -> Vec<Found> {
        let is_under =
            |entry: &&Entry| entry.indexed.iter().any(|(one, text)| *one == index && text == value);
        self.entries(resource).filter(is_under).map(|entry| Arc::clone(&entry.found)).collect()
    }

    fn all(&self, resource: Resource) -> Vec<Found> {
        self.entries(resource).map(|entry| Arc::clone(&entry.found)).collect()
    }

    fn is_complete(&self, _resource: Resource) -> bool {
        true
    }
}
