//! Objects, the counter of versions, and what happened: the part that etcd and the watch cache play.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::resources::{self, KindId};

/// Events that are kept for watches unless told otherwise.
const HISTORY: usize = 20_000;

/// One state of one object; never changed. Its text is made once, for whoever asks first.
#[derive(Debug)]
pub struct Object {
    pub value: Value,
    text: OnceLock<Bytes>,
}

/// Namespace, empty for kinds of the whole cluster, and name.
pub type Name = (Arc<str>, Arc<str>);

#[derive(Debug)]
pub struct Event {
    pub version: u64,
    pub kind: KindId,
    pub name: Name,
    pub what: What,
    pub object: Arc<Object>,
    /// What was there until then.
    pub before: Option<Arc<Object>>,
    /// When it happened, by virtual time.
    pub at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Added,
    Modified,
    Deleted,
}

pub struct Store {
    version: u64,
    tables: Vec<Table>,
    history: VecDeque<Arc<Event>>,
    /// Tells actors of the world that there is something new.
    changed: watch::Sender<u64>,
    /// Number of the first event in `history`, counted from the beginning of the world.
    first: u64,
    /// The version of the newest event that was dropped.
    floor: u64,
    limit: usize,
    restores: u64,
    /// The version that it went back to last; nothing before that is known.
    restored_to: u64,
}

struct Table {
    objects: BTreeMap<Name, Arc<Object>>,
    /// Tells watches that there is something new, in the order in which they wait: one seed is one run.
    changed: Arc<Notify>,
}

impl Object {
    pub fn new(value: Value) -> Self {
        Self { value, text: OnceLock::new() }
    }

    pub fn text(&self) -> &Bytes {
        self.text.get_or_init(|| Bytes::from(self.value.to_string()))
    }

    pub fn str(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn uid(&self) -> &str {
        self.str("/metadata/uid")
    }

    pub fn is_deleting(&self) -> bool {
        self.value.pointer("/metadata/deletionTimestamp").is_some()
    }
}

impl What {
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        let table = || Table { objects: BTreeMap::new(), changed: Arc::default() };
        Self {
            version: 1,
            tables: resources::all().iter().map(|_| table()).collect(),
            history: VecDeque::new(),
            changed: watch::Sender::new(0),
            first: 0,
            floor: 1,
            limit: HISTORY,
            restores: 0,
            restored_to: 1,
        }
    }
}

impl Store {
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The oldest version that a watch can begin at.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    pub fn get(&self, kind: KindId, name: &Name) -> Option<&Arc<Object>> {
        self.tables.get(kind.0)?.objects.get(name)
    }

    /// All objects of a kind, of one namespace if it is not empty, in order of their names.
    pub fn list(&self, kind: KindId, namespace: &str) -> impl Iterator<Item = (&Name, &Arc<Object>)> {
        let table = self.tables.get(kind.0);
        table
            .into_iter()
            .flat_map(|table| &table.objects)
            .filter(move |((there, _), _)| namespace.is_empty() || **there == *namespace)
    }

    /// All objects of a kind as they were at this version, as far back as anything is remembered.
    pub fn list_at(&self, kind: KindId, namespace: &str, version: u64) -> Vec<Arc<Object>> {
        let objects = self.as_of(kind, version);
        let is_there = |name: &Name| namespace.is_empty() || *name.0 == *namespace;
        objects.iter().filter(|(name, _)| is_there(name)).map(|(_, object)| Arc::clone(object)).collect()
    }

    fn named_at(&self, kind: KindId, version: u64) -> BTreeMap<Name, Arc<Object>> {
        self.as_of(kind, version).into_owned()
    }

    fn as_of(&self, kind: KindId, version: u64) -> Cow<'_, BTreeMap<Name, Arc<Object>>> {
        let Some(table) = self.tables.get(kind.0) else { return Cow::Owned(BTreeMap::new()) };
        let newer = self.history.iter().rev().take_while(|event| version < event.version);
        let mut objects = Cow::Borrowed(&table.objects);
        for event in newer.filter(|event| event.kind == kind) {
            match &event.before {
                Some(before) => objects.to_mut().insert(event.name.clone(), Arc::clone(before)),
                None => objects.to_mut().remove(&event.name),
            };
        }
        objects
    }

    /// The version that a list is of: the newest unless it is to be an older one.
    pub fn at(&self, as_of: Option<u64>) -> u64 {
        as_of.map_or(self.version, |version| version.min(self.version))
    }

    /// The version that everything had at this time.
    pub fn version_at(&self, time: Instant) -> u64 {
        let before = self.history.partition_point(|event| event.at <= time);
        let last = before.checked_sub(1).and_then(|last| self.history.get(last));
        last.map_or(1, |event| event.version)
    }

    /// The version that the next write will have.
    pub fn next_version(&self) -> u64 {
        self.version.saturating_add(1)
    }

    /// Makes a new state or removal known. The object carries [`Store::next_version`] already.
    pub fn commit(&mut self, kind: KindId, name: Name, what: What, object: Arc<Object>) -> Arc<Event> {
        self.version = self.next_version();
        let event = Arc::new(Event {
            version: self.version,
            kind,
            name: name.clone(),
            what,
            object,
            before: self.get(kind, &name).cloned(),
            at: Instant::now(),
        });
        if let Some(table) = self.tables.get_mut(kind.0) {
            match what {
                What::Added | What::Modified => {
                    table.objects.insert(name, Arc::clone(&event.object));
                }
                What::Deleted => {
                    table.objects.remove(&name);
                }
            }
            table.changed.notify_waiters();
        }
        self.changed.send_replace(self.version);
        self.history.push_back(Arc::clone(&event));
        while self.limit < self.history.len() {
            self.forget_one();
        }
        event
    }

    /// From now on only so many events are remembered.
    pub fn keep(&mut self, events: usize) {
        self.limit = events;
    }

    /// Watches can begin nowhere before now: whoever is behind must list again.
    pub fn compact(&mut self) {
        self.floor = self.version;
    }

    /// Back to an earlier version. Versions count from there; numbers of events go on, and none of the past is remembered.
    pub fn restore(&mut self, version: u64) {
        let version = version.max(self.restored_to).min(self.version);
        for (position, _) in resources::all().iter().enumerate() {
            let objects = self.named_at(KindId(position), version);
            if let Some(table) = self.tables.get_mut(position) {
                table.objects = objects;
                table.changed.notify_waiters();
            }
        }
        self.first = self.count();
        self.history.clear();
        self.version = version;
        self.restored_to = version;
        self.floor = self.version;
        self.restores += 1;
        // Whoever waits for something new looks, too.
        self.changed.send_modify(|_| {});
    }

    /// How often it went back.
    pub fn restores(&self) -> u64 {
        self.restores
    }

    fn forget_one(&mut self) {
        if let Some(event) = self.history.pop_front() {
            self.floor = self.floor.max(event.version);
            self.first = self.first.saturating_add(1);
        }
    }

    /// How many events there have been; the number of the next one.
    pub fn count(&self) -> u64 {
        self.first.saturating_add(u64::try_from(self.history.len()).unwrap_or(u64::MAX))
    }

    /// Events from this number on, as far as they are remembered.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &Arc<Event>> {
        let skip = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.history.range(skip.min(self.history.len())..)
    }

    /// The number of the first event after this version.
    pub fn number_after(&self, version: u64) -> u64 {
        let before = self.history.partition_point(|event| event.version <= version);
        self.first.saturating_add(u64::try_from(before).unwrap_or(u64::MAX))
    }

    /// Everything of every kind.
    pub fn subscribe_all(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub fn subscribe(&self, kind: KindId) -> Option<Arc<Notify>> {
        self.tables.get(kind.0).map(|table| Arc::clone(&table.changed))
    }
}
