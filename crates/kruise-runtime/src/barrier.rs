//! Read your own writes: after a write, its key is not planned again before the cache has seen it.
//!
//! No expectations and no guessing. The watch of a resource type delivers versions in order, so a cache that has come
//! to the version of a write has seen it. Where the outcome of a write is unknown, or the watch takes too long, a live
//! read brings the object into the cache before anything else happens.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cache::Version;
use crate::{Key, ObjectRef, Resource};

/// After this long the objects are read live instead of waiting for the watch.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What the caches know, as far as a barrier needs it.
pub trait Seen {
    /// How far the watch of a resource type has come; `None` for a type without cache, which is not waited for.
    fn watch(&self, resource: Resource) -> Option<Version>;

    /// Version and uid of an object in the cache.
    fn object(&self, object: &ObjectRef) -> Option<(Version, String)>;
}

/// Whether a key may be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pass {
    Open,
    /// Not yet; an event will wake the key, and at this time a live read decides.
    Wait {
        until: Instant,
    },
    /// These objects must be read live into the cache first.
    Ask(Vec<ObjectRef>),
}

/// What a live read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    At(Version),
    Nothing,
}

#[derive(Debug, Default)]
pub struct Barrier {
    keys: Mutex<HashMap<Key, Awaited>>,
    /// How many there may be before those that wait for nothing any more are dropped.
    most: Mutex<usize>,
}

/// Below this a sweep is not worth the walk.
const SWEEP_MIN: usize = 1_024;

/// What one key waits for, by object.
#[derive(Debug)]
struct Awaited {
    wants: BTreeMap<ObjectRef, Want>,
    since: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Want {
    /// The cache must have this version or a newer one.
    At(Version),
    /// This object must have left the cache.
    Gone { uid: String },
    /// The write may or may not have happened, or happen until then.
    Unsure { until: Instant },
}

impl Barrier {
    /// A write made for `key` came back with this version.
    pub fn wrote(&self, key: &Key, object: &ObjectRef, version: Version) {
        self.want(key, object, Want::At(version));
    }

    /// An object was deleted and is gone already.
    pub fn removed(&self, key: &Key, object: &ObjectRef, uid: &str) {
        self.want(key, object, Want::Gone { uid: uid.to_owned() });
    }

    /// Nobody knows whether a write happened or will happen until then: only after that a live read tells.
    pub fn unsure(&self, key: &Key, object: &ObjectRef, until: Instant) {
        self.want(key, object, Want::Unsure { until });
    }

    /// A live read of what [`Pass::Ask`] named, already brought into the cache.
    pub fn found(&self, key: &Key, object: &ObjectRef, found: Found) {
        let mut all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(awaited) = all.get_mut(key) else { return };
        match found {
            Found::At(version) => awaited.wants.insert(object.clone(), Want::At(version)),
            Found::Nothing => awaited.wants.remove(object),
        };
    }

    /// May the key be planned? Call before every plan.
    pub fn pass(&self, key: &Key, seen: &(impl Seen + ?Sized)) -> Pass {
        let mut all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(awaited) = all.get_mut(key) else { return Pass::Open };
        awaited.wants.retain(|object, want| !is_seen(want, object, seen));
        if awaited.wants.is_empty() {
            all.remove(key);
            return Pass::Open;
        }
        let now = Instant::now();
        if let Some(until) = awaited.wants.values().filter_map(Want::doubt).max().filter(|until| now < *until)
        {
            return Pass::Wait { until };
        }
        let until = awaited.since + PATIENCE;
        if until <= now {
            awaited.since = now; // If the live read fails, the next one comes after the same time.
            return Pass::Ask(awaited.wants.keys().cloned().collect());
        }
        let unsure = awaited.wants.iter().filter(|(_, want)| want.doubt().is_some());
        let unsure: Vec<_> = unsure.map(|(at, _)| at.clone()).collect();
        if unsure.is_empty() { Pass::Wait { until } } else { Pass::Ask(unsure) }
    }

    /// Whether the cache still lacks what [`Pass::Ask`] named: while others were read live, the watch may have brought it.
    pub fn lacks(&self, key: &Key, object: &ObjectRef, seen: &(impl Seen + ?Sized)) -> bool {
        let all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let want = all.get(key).and_then(|awaited| awaited.wants.get(object));
        want.is_some_and(|want| !is_seen(want, object, seen))
    }

    /// Drops what has been seen of keys that nobody asks about any more. Looks only when there are many of them.
    pub fn sweep(&self, seen: &(impl Seen + ?Sized)) {
        let mut all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let mut most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() <= (*most).max(SWEEP_MIN) {
            return;
        }
        all.retain(|_, awaited| {
            awaited.wants.retain(|object, want| !is_seen(want, object, seen));
            !awaited.wants.is_empty()
        });
        *most = all.len() * 2;
    }

    /// Keys that wait for something.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The object is gone for good; so is what it waited for.
    pub fn forget(&self, key: &Key) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn want(&self, key: &Key, object: &ObjectRef, want: Want) {
        let mut all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let awaited =
            all.entry(key.clone()).or_insert_with(|| Awaited { wants: BTreeMap::new(), since: now });
        awaited.since = now;
        let wanted = awaited.wants.entry(object.clone()).or_insert_with(|| want.clone());
        // What may still land is not forgotten because of another write to the same object.
        if wanted.doubt() < want.doubt() || wanted.doubt().is_none_or(|until| until <= now) {
            *wanted = want;
        }
    }
}

impl Want {
    /// Until when the write may happen, if nobody knows whether it has.
    fn doubt(&self) -> Option<Instant> {
        match self {
            Self::Unsure { until } => Some(*until),
            Self::At(_) | Self::Gone { .. } => None,
        }
    }
}

fn is_seen(want: &Want, object: &ObjectRef, seen: &(impl Seen + ?Sized)) -> bool {
    if want.doubt().is_some_and(|until| Instant::now() < until) {
        return false;
    }
    let Some(watch) = seen.watch(object.resource) else { return true };
    match want {
        Want::At(version) => {
            watch >= *version || seen.object(object).is_some_and(|(cached, _)| cached >= *version)
        }
        Want::Gone { uid } => seen.object(object).is_none_or(|(_, cached)| cached != *uid),
        Want::Unsure { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use kruise_core::object::resource::{CLAIMS, PODS};

    use super::*;

    #[derive(Default)]
    struct World {
        pods: u64,
        object: Option<(Version, String)>,
    }

    impl Seen for World {
        fn watch(&self, resource: Resource) -> Option<Version> {
            (resource == PODS).then_some(Version(self.pods))
        }

        fn object(&self, _: &ObjectRef) -> Option<(Version, String)> {
            self.object.clone()
        }
    }

    fn watched(pods: u64) -> World {
        World { pods, object: None }
    }

    fn key() -> Key {
        Key::new("n", "web")
    }

    fn pod() -> ObjectRef {
        ObjectRef::new(PODS, "n", "web-a")
    }

    fn other_pod() -> ObjectRef {
        ObjectRef::new(PODS, "n", "web-b")
    }

    fn claim() -> ObjectRef {
        ObjectRef::new(CLAIMS, "n", "data")
    }

    #[tokio::test(start_paused = true)]
    async fn sm_73_key_waits_for_its_newest_write_and_only_its_own() {
        let barrier = Barrier::default();
        barrier.wrote(&key(), &pod(), Version(5));
        barrier.wrote(&key(), &other_pod(), Version(7));

        assert!(matches!(barrier.pass(&key(), &watched(6)), Pass::Wait { .. }));
        assert_eq!(barrier.pass(&Key::new("n", "other"), &watched(6)), Pass::Open);
        assert_eq!(barrier.pass(&key(), &watched(7)), Pass::Open);
    }

    /// AS-43: an in-place update that the cache has not seen yet keeps its set from being planned. statefulset/B7: a pod that
    /// somebody deletes meanwhile ends the wait: the watch has come past the write, whatever became of the pod.
    #[tokio::test(start_paused = true)]
    async fn as_43_statefulset_b7_waiting_for_an_update_ends_with_the_pod() {
        let barrier = Barrier::default();
        barrier.wrote(&key(), &pod(), Version(5));
        let before = World { pods: 4, object: Some((Version(3), "u".into())) };

        assert!(matches!(barrier.pass(&key(), &before), Pass::Wait { .. }));
        assert_eq!(barrier.pass(&key(), &watched(6)), Pass::Open, "the pod is gone");

        barrier.wrote(&key(), &pod(), Version(9));
        tokio::time::advance(PATIENCE).await;
        assert_eq!(barrier.pass(&key(), &watched(8)), Pass::Ask(vec![pod()]), "it never waits for ever");
        barrier.found(&key(), &pod(), Found::Nothing);
        assert_eq!(barrier.pass(&key(), &watched(8)), Pass::Open);
    }

    #[tokio::test(start_paused = true)]
    async fn deleted_object_must_leave_the_cache() {
        let barrier = Barrier::default();
        barrier.removed(&key(), &pod(), "u");
        let still = World { pods: 9, object: Some((Version(3), "u".into())) };
        let successor = World { pods: 9, object: Some((Version(8), "v".into())) };

        assert!(matches!(barrier.pass(&key(), &still), Pass::Wait { .. }));
        assert_eq!(barrier.pass(&key(), &successor), Pass::Open);
    }

    #[tokio::test(start_paused = true)]
    async fn write_of_unknown_outcome_is_read_live_before_anything_else() {
        let barrier = Barrier::default();
        barrier.unsure(&key(), &pod(), Instant::now());

        assert_eq!(barrier.pass(&key(), &watched(9)), Pass::Ask(vec![pod()]));
        barrier.found(&key(), &pod(), Found::At(Version(12)));

        assert!(matches!(barrier.pass(&key(), &watched(9)), Pass::Wait { .. }));
        assert_eq!(
            barrier.pass(&key(), &World { pods: 9, object: Some((Version(12), "u".into())) }),
            Pass::Open
        );
    }

    /// SM-71: a write that may still land is waited for, whatever else is written or seen, also where there is no cache.
    #[tokio::test(start_paused = true)]
    async fn sm_71_write_that_may_still_land_is_not_read_before_it_cannot() {
        let (barrier, minute) = (Barrier::default(), Duration::from_mins(1));
        let until = Instant::now() + minute;
        barrier.unsure(&key(), &pod(), until);
        barrier.wrote(&key(), &pod(), Version(3));
        barrier.unsure(&Key::new("n", "other"), &claim(), until);

        tokio::time::advance(PATIENCE).await;
        assert_eq!(barrier.pass(&key(), &watched(9)), Pass::Wait { until });
        assert_eq!(barrier.pass(&Key::new("n", "other"), &watched(9)), Pass::Wait { until });

        tokio::time::advance(minute).await;
        assert_eq!(barrier.pass(&key(), &watched(9)), Pass::Ask(vec![pod()]));
        assert_eq!(barrier.pass(&Key::new("n", "other"), &watched(9)), Pass::Open);
    }

    #[tokio::test(start_paused = true)]
    async fn live_read_that_finds_nothing_opens() {
        let barrier = Barrier::default();
        barrier.unsure(&key(), &pod(), Instant::now());

        barrier.found(&key(), &pod(), Found::Nothing);

        assert_eq!(barrier.pass(&key(), &watched(0)), Pass::Open);
    }

    #[tokio::test(start_paused = true)]
    async fn cloneset_b6_late_watch_is_overtaken_by_a_live_read() {
        let barrier = Barrier::default();
        barrier.wrote(&key(), &pod(), Version(7));
        tokio::time::advance(PATIENCE).await;

        assert_eq!(barrier.pass(&key(), &watched(6)), Pass::Ask(vec![pod()]));
        assert!(matches!(barrier.pass(&key(), &watched(6)), Pass::Wait { .. }), "not again at once");
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_watch_brought_meanwhile_is_not_lacking_any_more() {
        let barrier = Barrier::default();
        barrier.wrote(&key(), &pod(), Version(7));
        barrier.unsure(&key(), &other_pod(), Instant::now());

        assert!(barrier.lacks(&key(), &pod(), &watched(6)));
        assert!(!barrier.lacks(&key(), &pod(), &watched(7)));
        assert!(barrier.lacks(&key(), &other_pod(), &watched(7)), "only a live read tells");
    }

    #[tokio::test(start_paused = true)]
    async fn types_without_a_cache_are_not_waited_for() {
        let barrier = Barrier::default();
        barrier.wrote(&key(), &claim(), Version(7));

        assert_eq!(barrier.pass(&key(), &watched(0)), Pass::Open);
    }
}
