//! Objects by key and by index. An index entry holds places of four bytes instead of keys: a pod has half a dozen entries, and a key
//! in a tree takes fifty bytes.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::super::pool::Pool;
use super::super::{Index, Slim};
use crate::Key;

/// Where an object is; taken again when the object is gone.
type Place = u32;

pub struct Table<T: Slim> {
    places: HashMap<Key, Place>,
    objects: Vec<Option<Arc<T>>>,
    free: Vec<Place>,
    /// Each entry is sorted by the keys of its objects. Lists come in that order, so most of them are added at the end.
    index: HashMap<Index, HashMap<Arc<str>, Vec<Place>>>,
    /// Values of index entries.
    pool: Pool,
}

impl<T: Slim> Default for Table<T> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            objects: Vec::new(),
            free: Vec::new(),
            index: HashMap::new(),
            pool: Pool::default(),
        }
    }
}

impl<T: Slim> Table<T> {
    pub fn get(&self, key: &Key) -> Option<&Arc<T>> {
        at(&self.objects, *self.places.get(key)?)
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.iter().flatten()
    }

    /// Sorted by key.
    pub fn by(&self, index: Index, value: &str) -> Vec<Arc<T>> {
        let places = self.index.get(&index).and_then(|entries| entries.get(value));
        places.into_iter().flatten().filter_map(|place| at(&self.objects, *place).cloned()).collect()
    }

    /// Puts a new state in the place of the old one.
    pub fn insert(&mut self, key: &Key, new: &Arc<T>) {
        let old = self.get(key).cloned();
        let (before, after) = (entries(old.as_ref()), entries(Some(new)));
        self.unindex(before.iter().filter(|entry| !after.contains(entry)), key);
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => self.take(key.clone()),
        };
        if let Some(there) = self.objects.get_mut(place as usize) {
            *there = Some(Arc::clone(new));
        }
        for (index, value) in after.iter().filter(|entry| !before.contains(entry)) {
            let by_value = self.index.entry(*index).or_default();
            if let Some(places) = by_value.get_mut(value.as_str()) {
                if let Err(position) = position(&self.objects, places, key) {
                    places.insert(position, place);
                }
            } else {
                by_value.insert(self.pool.share(value), vec![place]);
            }
        }
    }

    pub fn remove(&mut self, key: &Key) -> Option<Arc<T>> {
        let old = self.get(key).cloned()?;
        self.unindex(entries(Some(&old)).iter(), key);
        let place = self.places.remove(key)?;
        if let Some(there) = self.objects.get_mut(place as usize) {
            *there = None;
        }
        self.free.push(place);
        Some(old)
    }

    #[cfg(test)]
    pub fn indexed(&self) -> usize {
        self.index.values().map(HashMap::len).sum()
    }

    fn take(&mut self, key: Key) -> Place {
        let place = self.free.pop().unwrap_or_else(|| {
            self.objects.push(None);
            // More objects than this do not fit into any memory.
            Place::try_from(self.objects.len() - 1).unwrap_or(Place::MAX)
        });
        self.places.insert(key, place);
        place
    }

    /// While the object is still in its place: its key tells where the entry is.
    fn unindex<'a>(&mut self, entries: impl Iterator<Item = &'a (Index, String)>, key: &Key) {
        for (index, value) in entries {
            let Some(by_value) = self.index.get_mut(index) else { continue };
            let Some(places) = by_value.get_mut(value.as_str()) else { continue };
            if let Ok(position) = position(&self.objects, places, key) {
                places.remove(position);
            }
            if places.is_empty() {
                by_value.remove(value.as_str());
            }
        }
    }
}

fn at<T>(objects: &[Option<Arc<T>>], place: Place) -> Option<&Arc<T>> {
    objects.get(place as usize)?.as_ref()
}

/// Where the object of this key is in an entry, or belongs.
fn position<T: Slim>(objects: &[Option<Arc<T>>], places: &[Place], key: &Key) -> Result<usize, usize> {
    places
        .binary_search_by(|place| at(objects, *place).map_or(Ordering::Less, |object| object.key().cmp(key)))
}

fn entries<T: Slim>(object: Option<&Arc<T>>) -> Vec<(Index, String)> {
    let mut entries = Vec::new();
    if let Some(object) = object {
        object.index(&mut |index, value| entries.push((index, value.to_owned())));
    }
    entries
}
