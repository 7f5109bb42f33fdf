//! The objects of one resource type, and how to find them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::Notify;

use self::table::Table;
use super::{Index, Slim, Version};
use crate::Key;

mod table;

/// Objects are immutable; a new state replaces the old one.
pub struct Store<T: Slim> {
    inner: RwLock<Inner<T>>,
    handlers: RwLock<Vec<Handler<T>>>,
    lists: Mutex<Lists>,
    lists_changed: Notify,
}

/// How far the list of a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    NotYet,
    /// The server does not serve this type. It may later: the watch goes on asking.
    NotServed,
    Complete,
}

/// The last list, and requests for another one by number.
#[derive(Debug, Clone, Copy)]
struct Lists {
    last: Listed,
    asked: u64,
    answered: u64,
}

type Handler<T> = Box<dyn Fn(&Change<'_, T>) + Send + Sync>;

struct Inner<T: Slim> {
    objects: Table<T>,
    /// The newest version that the watch has shown, of any object.
    seen: Version,
    /// Objects that a live read found gone, until the watch has come there, too: its late events must not bring them back.
    gone: HashMap<Key, Gone>,
    shared: T::Shared,
}

/// An object that is gone, and the last version that was known of it.
struct Gone {
    uid: String,
    version: Version,
}

/// How the states of a list compare with those in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Only newer states count: the list may have been under way for a while.
    Newer,
    /// All count as they are: the server was restored from a backup, and versions in the store mean nothing any more.
    AsItIs,
}

/// One object came, changed or went.
#[derive(Debug)]
pub struct Change<'a, T> {
    pub old: Option<&'a Arc<T>>,
    pub new: Option<&'a Arc<T>>,
}

impl<T: Slim> Default for Store<T> {
    fn default() -> Self {
        let inner = Inner {
            objects: Table::default(),
            seen: Version::default(),
            gone: HashMap::new(),
            shared: T::Shared::default(),
        };
        Self {
            inner: RwLock::new(inner),
            handlers: RwLock::default(),
            lists: Mutex::new(Lists { last: Listed::NotYet, asked: 0, answered: 0 }),
            lists_changed: Notify::new(),
        }
    }
}

impl<T: Slim> Store<T> {
    /// Is told every change, in order, after the store has it. Must not block.
    pub fn on_change(&self, handler: impl Fn(&Change<'_, T>) + Send + Sync + 'static) {
        self.handlers.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(handler));
    }

    pub fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.read().objects.get(key).cloned()
    }

    /// All objects under one index entry, sorted by key.
    pub fn by(&self, index: Index, value: &str) -> Vec<Arc<T>> {
        self.read().objects.by(index, value)
    }

    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All objects. For state metrics and start-up; a reconcile uses [`Store::by`].
    pub fn all(&self) -> Vec<Arc<T>> {
        self.read().objects.values().cloned().collect()
    }

    /// Objects, index entries and ends that are kept.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        let inner = self.read();
        inner.objects.len() + inner.gone.len() + inner.objects.indexed()
    }

    /// The newest version that the watch has shown: everything up to it is in the store.
    pub fn seen(&self) -> Version {
        self.read().seen
    }

    /// Resolves when the first list is complete, or when it is known that there is nothing to be listed.
    pub async fn synced(&self) {
        self.until(|lists| lists.last != Listed::NotYet).await;
    }

    /// Lets the watch begin anew with the newest of everything; resolves when it is there. Whatever anybody had written before the
    /// call is in the store then, however late the watch was.
    pub async fn list_again(&self) {
        let number = {
            let mut lists = self.lists();
            lists.asked += 1;
            lists.asked
        };
        self.lists_changed.notify_waiters();
        self.until(|lists| number <= lists.answered).await;
    }

    /// The number of the last request for another list.
    pub(super) fn asked(&self) -> u64 {
        self.lists().asked
    }

    /// Resolves when a list is asked for after the one of this number.
    pub(super) async fn asked_after(&self, number: u64) {
        self.until(|lists| number < lists.asked).await;
    }

    /// Whether somebody waits for a list: only the newest will do.
    pub(super) fn is_waited_for(&self) -> bool {
        let lists = self.lists();
        lists.answered < lists.asked
    }

    /// Whoever waits is woken in turn, so that one seed gives one run of the simulator.
    async fn until(&self, is_so: impl Fn(&Lists) -> bool) {
        loop {
            let changed = self.lists_changed.notified();
            if is_so(&self.lists()) {
                return;
            }
            changed.await;
        }
    }

    pub fn listed(&self) -> Listed {
        self.lists().last
    }

    /// Whether everything there is in the store: what is not, is not there.
    pub fn is_synced(&self) -> bool {
        self.listed() == Listed::Complete
    }

    /// For a store that is filled by hand: what is in it now is everything there is.
    pub fn assume_complete(&self) {
        self.mark(Listed::Complete, self.asked());
    }

    /// A list came to this end; it answers the requests up to a number. Returns whether the end is news.
    pub(super) fn mark(&self, now: Listed, answered: u64) -> bool {
        let is_news = {
            let mut lists = self.lists();
            lists.answered = lists.answered.max(answered);
            std::mem::replace(&mut lists.last, now) != now
        };
        self.lists_changed.notify_waiters();
        is_news
    }

    /// A new state from the watch.
    pub(crate) fn put(&self, object: T) {
        let version = Version::read(object.resource_version());
        self.insert(object, Basis::Newer, |_, _| true);
        self.progress(version);
    }

    /// One object of a list. They come in no order of time: how far the store is, is known at the end of the list.
    pub(super) fn put_listed(&self, object: T, basis: Basis) {
        self.insert(object, basis, |_, _| true);
    }

    /// A state that a live read found and that the watch may not have brought yet. If the watch has come past it and the object is not
    /// there, it has brought its end, too.
    pub(super) fn put_ahead(&self, object: T) {
        let version = Version::read(object.resource_version());
        self.insert(object, Basis::Newer, |inner, key| {
            inner.objects.get(key).is_some() || inner.seen < version || inner.seen == Version::default()
        });
    }

    /// An older state than what is there is ignored.
    fn insert(&self, mut object: T, basis: Basis, is_wanted: impl Fn(&Inner<T>, &Key) -> bool) {
        let (old, new) = {
            let mut inner = self.write();
            let version = Version::read(object.resource_version());
            let key = object.key();
            let old = inner.objects.get(&key).cloned();
            let is_old = old.as_ref().is_some_and(|old| version <= Version::read(old.resource_version()));
            let counts = match basis {
                Basis::Newer => {
                    !is_old && !inner.is_gone(&key, object.uid(), version) && is_wanted(&inner, &key)
                }
                Basis::AsItIs => true,
            };
            if !counts {
                return;
            }
            inner.gone.remove(&key);
            object.share(&mut inner.shared);
            let new = Arc::new(object);
            inner.objects.insert(&key, &new);
            (old, new)
        };
        self.tell(&Change { old: old.as_ref(), new: Some(&new) });
    }

    /// The object is gone, as of this version.
    pub(crate) fn remove(&self, key: &Key, uid: &str, version: Version) {
        let old = {
            let mut inner = self.write();
            inner.seen = inner.seen.max(version);
            if inner.gone.get(key).is_some_and(|gone| gone.uid == uid) {
                inner.gone.remove(key);
            }
            // A successor of the same name may have come in between.
            if inner.objects.get(key).is_none_or(|object| object.uid() != uid) {
                return;
            }
            inner.objects.remove(key)
        };
        self.tell(&Change { old: old.as_ref(), new: None });
    }

    /// A live read found that this object is gone.
    pub(super) fn lose(&self, key: &Key, uid: &str) {
        let lost = self.get(key).filter(|object| object.uid() == uid);
        let Some(version) = lost.map(|object| Version::read(object.resource_version())) else { return };
        self.remove(key, uid, Version::default());
        self.write().gone.insert(key.clone(), Gone { uid: uid.to_owned(), version });
    }

    /// After a complete list: what was not in it is gone, unless it is newer than the list: a live read was faster then. A list
    /// that is older than what the watch has brought is of a server that lost something, and counts as it is.
    pub(super) fn retain(&self, listed: &BTreeSet<Key>, version: Version, basis: Basis) {
        let went_back = basis == Basis::AsItIs || version < self.seen();
        let missing: Vec<(Key, String)> = {
            let mut inner = self.write();
            // A list that is past what was known of an object and does not have it is past its end.
            inner.gone.retain(|key, gone| !went_back && (listed.contains(key) || version < gone.version));
            let missing = inner.objects.values().filter(|object| {
                let is_newer = version < Version::read(object.resource_version());
                !listed.contains(&object.key()) && (went_back || !is_newer)
            });
            let mut missing: Vec<_> = missing.map(|object| (object.key(), object.uid().to_owned())).collect();
            missing.sort();
            missing
        };
        for (key, uid) in missing {
            self.remove(&key, &uid, version);
        }
        if went_back {
            // What is written from now on has versions that were told before.
            self.write().seen = version;
        } else {
            self.progress(version);
        }
    }

    /// The watch has come this far without news.
    pub(super) fn progress(&self, version: Version) {
        let mut inner = self.write();
        inner.seen = inner.seen.max(version);
    }

    fn tell(&self, change: &Change<'_, T>) {
        for handler in self.handlers.read().unwrap_or_else(PoisonError::into_inner).iter() {
            handler(change);
        }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<T>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<T>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Slim> Inner<T> {
    /// Whether this is a state of an object that is known to be gone, or of an earlier namesake of it.
    fn is_gone(&self, key: &Key, uid: &str, version: Version) -> bool {
        self.gone.get(key).is_some_and(|gone| gone.uid == uid || version <= gone.version)
    }
}

#[cfg(test)]
pub mod tests;
