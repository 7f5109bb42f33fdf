//! All caches of the process, by resource type.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Cached, Listed, Store, Version};
use crate::barrier::Seen;
use crate::{Key, Resource};

/// What the barrier and live reads need of a store, whatever it holds.
trait AnyStore: Send + Sync {
    fn seen(&self) -> Version;
    fn object(&self, key: &Key) -> Option<(Version, String)>;
    fn refresh(&self, live: &str) -> Result<(), serde_json::Error>;
    fn lose(&self, key: &Key, uid: &str);
    fn listed(&self) -> Listed;
}

/// Filled at start, then only read.
#[derive(Default)]
pub struct Caches(BTreeMap<Resource, Box<dyn AnyStore>>);

impl Caches {
    /// Adds the store of one type; there is one per type.
    pub fn add<T: Cached>(&mut self, store: &Arc<Store<T>>) {
        self.0.insert(T::RESOURCE, Box::new(Arc::clone(store)));
    }

    /// Brings an object that a live read found into its cache.
    pub fn refresh(&self, resource: Resource, live: &str) -> Result<(), serde_json::Error> {
        self.0.get(&resource).map_or(Ok(()), |store| store.refresh(live))
    }

    /// A live read found no such object, and this one was in the cache when it began. A namesake that came since stays.
    pub fn lose(&self, resource: Resource, key: &Key, uid: &str) {
        if let Some(store) = self.0.get(&resource) {
            store.lose(key, uid);
        }
    }

    /// Types whose list is so far.
    pub fn at(&self, listed: Listed) -> Vec<Resource> {
        self.0.iter().filter(|(_, store)| store.listed() == listed).map(|(resource, _)| *resource).collect()
    }
}

impl Seen for Caches {
    fn watch(&self, resource: Resource) -> Option<Version> {
        self.0.get(&resource).map(|store| store.seen())
    }

    fn object(&self, resource: Resource, key: &Key) -> Option<(Version, String)> {
        self.0.get(&resource)?.object(key)
    }
}

impl<T: Cached> AnyStore for Arc<Store<T>> {
    fn seen(&self) -> Version {
        Store::seen(self)
    }

    fn object(&self, key: &Key) -> Option<(Version, String)> {
        let object = self.get(key)?;
        Some((Version::read(object.resource_version()), object.uid().to_owned()))
    }

    fn refresh(&self, live: &str) -> Result<(), serde_json::Error> {
        self.put_ahead(serde_json::from_str(live)?);
        Ok(())
    }

    fn lose(&self, key: &Key, uid: &str) {
        self.remove(key, uid, Version::default());
    }

    fn listed(&self) -> Listed {
        Store::listed(self)
    }
}
