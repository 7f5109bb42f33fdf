//! The store as admission reads it: slim types, made when they are asked for.

use std::any::Any;
use std::sync::Arc;

use kruise_api::Resource;
use kruise_core::cluster::namespace::Namespace;
use kruise_core::cluster::node::Node;
use kruise_core::cluster::storage_class::StorageClass;
use kruise_core::lookup::{Found, Index, Slim, Source};
use kruise_core::object::Key;
use kruise_core::persistentpodstate::PersistentPodState;
use kruise_core::pod::PodView;
use kruise_core::revision::Known;
use kruise_core::sidecarset::SidecarSet;

use super::resources;
use super::store::{Object, Store};

/// Everything that is stored, as it is now.
pub(super) struct Objects<'a>(pub &'a Store);

/// A slim type that webhooks read.
struct Type {
    resource: Resource,
    read: fn(&Object) -> Option<Read>,
}

/// An object and what it is found under.
struct Read {
    found: Found,
    indexed: Vec<(Index, String)>,
}

const TYPES: [Type; 7] = [
    of::<PodView>(),
    of::<Node>(),
    of::<StorageClass>(),
    of::<PersistentPodState>(),
    of::<SidecarSet>(),
    of::<Namespace>(),
    of::<Known>(),
];

const fn of<T: Slim>() -> Type {
    Type { resource: T::RESOURCE, read: read::<T> }
}

fn read<T: Slim>(object: &Object) -> Option<Read> {
    let slim: T = serde_json::from_value(object.value.clone()).ok()?;
    let mut indexed = Vec::new();
    slim.index(&mut |index, value| indexed.push((index, value.to_owned())));
    Some(Read { found: Arc::new(slim) as Arc<dyn Any + Send + Sync>, indexed })
}

impl Objects<'_> {
    fn all(&self, resource: Resource) -> impl Iterator<Item = Read> {
        let kind = resources::of(resource);
        let objects = kind.into_iter().flat_map(|kind| self.0.list(kind.id, ""));
        let known = TYPES.into_iter().find(|one| one.resource == resource);
        objects.filter_map(move |(_, object)| (known.as_ref()?.read)(object))
    }
}

impl Source for Objects<'_> {
    fn get(&self, resource: Resource, key: &Key) -> Option<Found> {
        let kind = resources::of(resource)?;
        let known = TYPES.into_iter().find(|one| one.resource == resource)?;
        let object = self.0.get(kind.id, &(Arc::clone(&key.namespace), Arc::clone(&key.name)))?;
        (known.read)(object).map(|read| read.found)
    }

    fn by(&self, resource: Resource, index: Index, value: &str) -> Vec<Found> {
        let is_under = |read: &Read| read.indexed.iter().any(|(one, text)| *one == index && text == value);
        self.all(resource).filter(is_under).map(|read| read.found).collect()
    }

    fn all(&self, resource: Resource) -> Vec<Found> {
        Self::all(self, resource).map(|read| read.found).collect()
    }

    fn is_complete(&self, resource: Resource) -> bool {
        TYPES.iter().any(|one| one.resource == resource)
    }
}
