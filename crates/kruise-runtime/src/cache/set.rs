//! All caches of the process, by resource type: the source that views are assembled from.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use kruise_core::lookup::{Found, Index, Source};
use kruise_core::object::resource::Detail;
use kube::Client;
use tokio::task::JoinSet;

use super::{Listed, Slim, Store, Version, Watch, WatchSettings};
use crate::barrier::Seen;
use crate::{Key, ObjectRef, Resource, Scope};

/// A store, whatever it holds.
trait AnyStore: Send + Sync {
    fn seen(&self) -> Version;
    fn object(&self, key: &Key) -> Option<(Version, String)>;
    fn refresh(&self, live: &str) -> Result<(), serde_json::Error>;
    fn lose(&self, key: &Key, uid: &str);
    fn listed(&self) -> Listed;
    fn len(&self) -> usize;
    fn get(&self, key: &Key) -> Option<Found>;
    fn by(&self, index: Index, value: &str) -> Vec<Found>;
    fn all(&self) -> Vec<Found>;
    fn watch(&self, client: Client, settings: WatchSettings) -> BoxFuture<'static, ()>;
    fn synced(&self) -> BoxFuture<'_, ()>;
    fn list_again(&self) -> BoxFuture<'_, ()>;
    fn on_change(&self, handler: Arc<dyn Fn() + Send + Sync>);
    fn as_any(&self) -> &dyn Any;
}

/// Filled at start, then only read. The second map has the types of which only one namespace is watched.
#[derive(Default)]
pub struct Caches(BTreeMap<Resource, Box<dyn AnyStore>>, BTreeMap<Resource, Arc<str>>);

impl Caches {
    /// Makes the store of a type, unless there is one: one watch per type serves the whole process.
    pub fn add<T: Slim>(&mut self) {
        self.0.entry(T::RESOURCE).or_insert_with(|| Box::new(Arc::new(Store::<T>::default())));
    }

    /// Of this type only objects of one namespace are watched, whatever the settings say.
    pub fn confine(&mut self, resource: Resource, namespace: Arc<str>) {
        self.1.insert(resource, namespace);
    }

    /// The store of a type, if anything reads that type.
    pub fn store<T: Slim>(&self) -> Option<&Arc<Store<T>>> {
        self.0.get(&T::RESOURCE)?.as_any().downcast_ref()
    }

    /// Tells the handler that some object of a type has changed. Must not block. Of a type that nothing reads it is never told.
    pub fn on_change(&self, resource: Resource, handler: Arc<dyn Fn() + Send + Sync>) {
        if let Some(store) = self.0.get(&resource) {
            store.on_change(handler);
        }
    }

    /// Starts all watches, of one namespace where the settings name one. Register what they wake before.
    pub fn watch(&self, client: &Client, settings: &WatchSettings) -> JoinSet<()> {
        let everywhere = WatchSettings { namespace: "".into(), ..settings.clone() };
        let mut tasks = JoinSet::new();
        for (resource, store) in &self.0 {
            let reach = match (resource.scope(), resource.detail(), self.1.get(resource)) {
                (_, _, Some(namespace)) => {
                    WatchSettings { namespace: Arc::clone(namespace), ..settings.clone() }
                }
                (Scope::Namespaced, Detail::Whole, None) => settings.clone(),
                // Metadata is watched for cluster-scoped objects, whose work is in all namespaces.
                (Scope::Cluster, _, None) | (Scope::Namespaced, Detail::Metadata, None) => everywhere.clone(),
            };
            tasks.spawn(store.watch(client.clone(), reach));
        }
        tasks
    }

    /// Resolves when the first lists are complete.
    pub async fn synced(&self) {
        join_all(self.0.values().map(|store| store.synced())).await;
    }

    /// Lists these types anew; resolves when everything that was written before is in the stores.
    pub async fn list_again(&self, written: &[Resource]) {
        let stores = written.iter().filter_map(|resource| self.0.get(resource));
        join_all(stores.map(|store| store.list_again())).await;
    }

    /// Brings an object that a live read found into its cache.
    pub fn refresh(&self, resource: Resource, live: &str) -> Result<(), serde_json::Error> {
        self.0.get(&resource).map_or(Ok(()), |store| store.refresh(live))
    }

    /// A live read found no such object, and this one was in the cache when it began. A namesake that came since stays.
    pub fn lose(&self, object: &ObjectRef, uid: &str) {
        if let Some(store) = self.0.get(&object.resource) {
            store.lose(&object.key, uid);
        }
    }

    /// Types whose list is so far.
    pub fn at(&self, listed: Listed) -> Vec<Resource> {
        self.0.iter().filter(|(_, store)| store.listed() == listed).map(|(resource, _)| *resource).collect()
    }

    /// How many objects of each type there are.
    pub fn counts(&self) -> impl Iterator<Item = (Resource, usize)> {
        self.0.iter().map(|(resource, store)| (*resource, store.len()))
    }
}

impl Source for Caches {
    fn get(&self, resource: Resource, key: &Key) -> Option<Found> {
        self.0.get(&resource)?.get(key)
    }

    fn by(&self, resource: Resource, index: Index, value: &str) -> Vec<Found> {
        self.0.get(&resource).map(|store| store.by(index, value)).unwrap_or_default()
    }

    fn all(&self, resource: Resource) -> Vec<Found> {
        self.0.get(&resource).map(|store| store.all()).unwrap_or_default()
    }

    fn is_complete(&self, resource: Resource) -> bool {
        self.0.get(&resource).is_some_and(|store| store.listed() == Listed::Complete)
    }

    fn is_settled(&self, resource: Resource) -> bool {
        self.0.get(&resource).is_some_and(|store| store.listed() != Listed::NotYet)
    }
}

impl Seen for Caches {
    fn watch(&self, resource: Resource) -> Option<Version> {
        self.0.get(&resource).map(|store| store.seen())
    }

    fn object(&self, object: &ObjectRef) -> Option<(Version, String)> {
        self.0.get(&object.resource)?.object(&object.key)
    }
}

impl<T: Slim> AnyStore for Arc<Store<T>> {
    fn seen(&self) -> Version {
        Store::seen(self)
    }

    fn object(&self, key: &Key) -> Option<(Version, String)> {
        let object = Store::get(self, key)?;
        Some((Version::read(object.resource_version()), object.uid().to_owned()))
    }

    fn refresh(&self, live: &str) -> Result<(), serde_json::Error> {
        self.put_ahead(serde_json::from_str(live)?);
        Ok(())
    }

    fn lose(&self, key: &Key, uid: &str) {
        Store::lose(self, key, uid);
    }

    fn listed(&self) -> Listed {
        Store::listed(self)
    }

    fn len(&self) -> usize {
        Store::len(self)
    }

    fn get(&self, key: &Key) -> Option<Found> {
        Store::get(self, key).map(|found| found as Found)
    }

    fn by(&self, index: Index, value: &str) -> Vec<Found> {
        Store::by(self, index, value).into_iter().map(|found| found as Found).collect()
    }

    fn all(&self) -> Vec<Found> {
        Store::all(self).into_iter().map(|found| found as Found).collect()
    }

    fn watch(&self, client: Client, settings: WatchSettings) -> BoxFuture<'static, ()> {
        Box::pin(Watch::new(client, Arc::clone(self), settings).run())
    }

    fn synced(&self) -> BoxFuture<'_, ()> {
        Box::pin(Store::synced(self))
    }

    fn list_again(&self) -> BoxFuture<'_, ()> {
        Box::pin(Store::list_again(self))
    }

    fn on_change(&self, handler: Arc<dyn Fn() + Send + Sync>) {
        Store::on_change(self, move |_| handler());
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
