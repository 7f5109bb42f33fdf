//! The work queue: keyed, deduplicating, first come first served, with exact timers and back-off per key.
//!
//! A key that is being worked on is never handed out twice; if it is added meanwhile it comes again afterwards. One
//! slow or failing key delays no other, and a key whose work is long rests in proportion, so that events gather
//! instead of each one paying for a look at everything.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Key;
use crate::metrics::QueueMetrics;

/// Back-off of a failing key: doubles from the first to the longest.
#[derive(Debug, Clone, Copy)]
pub struct BackOff {
    pub first: Duration,
    pub longest: Duration,
}

impl BackOff {
    /// The delay before try number `failures` + 1.
    pub fn delay(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

/// Below this a sweep is not worth the walk.
const SWEEP_MIN: usize = 1_024;

#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
    back_off: BackOff,
}

#[derive(Debug, Default)]
struct State {
    /// Waiting for a worker, in order of arrival; each key at most once. Both maps know since when.
    ready: VecDeque<Key>,
    queued: HashMap<Key, Instant>,
    working: HashMap<Key, Instant>,
    /// Added while being worked on.
    again: HashSet<Key>,
    /// When time alone wakes a key. Both maps hold the same pairs.
    timers: BTreeMap<Instant, BTreeSet<Key>>,
    timer_of: HashMap<Key, Instant>,
    failures: HashMap<Key, u32>,
    /// Events do not wake these keys before the given time, unless they are urgent.
    resting: HashMap<Key, Instant>,
    /// How many may rest before those whose rest is over are dropped. Keys of objects that nobody looks at again would stay.
    resting_most: usize,
    urgent: HashSet<Key>,
    closed: bool,
    metrics: Option<QueueMetrics>,
}

/// The queue right now, for metrics.
#[derive(Debug)]
pub(crate) struct Load {
    pub depth: usize,
    /// Time spent so far on all keys that are being worked on, and on the one that takes longest.
    pub unfinished: Duration,
    pub longest: Duration,
}

/// Whether an event waits for others while its key rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    CanGather,
    AtOnce,
}

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Fine; come back at this time if given.
    Settled(Option<Instant>),
    /// Plan again at once: somebody else wrote first.
    Again,
    /// Failed: come back after the key's back-off.
    Failed,
    /// The server asked to wait this long.
    After(Duration),
}

impl Queue {
    pub fn new(back_off: BackOff) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), back_off }
    }

    /// Wakes a key; it forgets none of its timers or failures.
    pub fn add(&self, key: Key) {
        self.wake(key, Urgency::CanGather);
    }

    /// As [`Queue::add`], also while the key rests: somebody wants something else of its object.
    pub fn hurry(&self, key: Key) {
        self.wake(key, Urgency::AtOnce);
    }

    fn wake(&self, key: Key, urgency: Urgency) {
        let mut state = self.lock();
        if urgency == Urgency::AtOnce {
            state.urgent.insert(key.clone());
        }
        if state.working.contains_key(&key) {
            state.again.insert(key);
            return;
        }
        state.wake(key, Instant::now());
        drop(state);
        self.changed.notify_one();
    }

    /// Events wake the key no earlier than this; its timers ring as set. For a key that is being worked on.
    pub fn rest(&self, key: &Key, until: Instant) {
        let mut state = self.lock();
        state.resting.insert(key.clone(), until);
        if state.resting_most.max(SWEEP_MIN) < state.resting.len() {
            let now = Instant::now();
            state.resting.retain(|_, end| now < *end);
            state.resting_most = state.resting.len() * 2;
        }
    }

    /// The next key to work on; `None` when the queue was closed.
    pub async fn next(&self) -> Option<Key> {
        loop {
            let changed = self.changed.notified();
            let timer = {
                let mut state = self.lock();
                if state.closed {
                    return None;
                }
                state.ring(Instant::now());
                if let Some(key) = state.ready.pop_front() {
                    state.take(&key);
                    if !state.ready.is_empty() {
                        self.changed.notify_one(); // One notice may stand for several keys.
                    }
                    return Some(key);
                }
                state.timers.keys().next().copied()
            };
            match timer {
                None => changed.await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// Ends the work on a key. Every key from [`Queue::next`] must come back here.
    pub fn done(&self, key: Key, done: Done) {
        let mut state = self.lock();
        let now = Instant::now();
        let since = state.working.remove(&key);
        if let Some(metrics) = &state.metrics {
            if let Some(since) = since {
                metrics.worked.observe((now - since).as_secs_f64());
            }
            if !matches!(done, Done::Settled(_)) {
                metrics.retries.inc();
            }
        }
        match done {
            Done::Settled(at) => {
                state.failures.remove(&key);
                state.set_timer(&key, at);
            }
            Done::Again => {
                state.again.insert(key.clone());
            }
            Done::Failed => {
                let failures = state.failures.entry(key.clone()).or_default();
                *failures = failures.saturating_add(1);
                let at = now + self.back_off.delay(*failures);
                state.set_timer(&key, Some(at));
            }
            Done::After(delay) => state.set_timer(&key, Some(now + delay)),
        }
        if state.again.remove(&key) {
            state.wake(key, now);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Lets all workers end; keys in the queue are dropped.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Keys that wait for a worker.
    pub fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    /// Whether a key could be worked on now if a worker were free.
    pub fn is_anyone_waiting(&self) -> bool {
        let (state, now) = (self.lock(), Instant::now());
        !state.ready.is_empty() || state.timers.first_key_value().is_some_and(|(at, _)| *at <= now)
    }

    /// From now on what happens is counted.
    pub(crate) fn measure(&self, metrics: QueueMetrics) {
        self.lock().metrics = Some(metrics);
    }

    /// Keys that anything is remembered about.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        let state = self.lock();
        let sets = state.again.len() + state.urgent.len();
        let maps = [state.queued.len(), state.working.len(), state.timer_of.len(), state.failures.len()];
        sets + maps.iter().sum::<usize>() + state.resting.len()
    }

    pub(crate) fn load(&self) -> Load {
        let state = self.lock();
        let running = || state.working.values().map(Instant::elapsed);
        Load {
            depth: state.ready.len(),
            unfinished: running().sum(),
            longest: running().max().unwrap_or_default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under this lock, so it cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake(&mut self, key: Key, now: Instant) {
        match self.resting.get(&key) {
            Some(until) if *until > now && !self.urgent.contains(&key) => {
                let until = self.timer_of.get(&key).map_or(*until, |timer| *until.min(timer));
                self.set_timer(&key, Some(until));
            }
            Some(_) | None => {
                self.resting.remove(&key);
                self.push(key);
            }
        }
    }

    fn push(&mut self, key: Key) {
        if !self.queued.contains_key(&key) {
            self.queued.insert(key.clone(), Instant::now());
            self.ready.push_back(key);
            if let Some(metrics) = &self.metrics {
                metrics.adds.inc();
            }
        }
    }

    /// A worker begins with this key.
    fn take(&mut self, key: &Key) {
        let now = Instant::now();
        self.urgent.remove(key);
        if let (Some(since), Some(metrics)) = (self.queued.remove(key), &self.metrics) {
            metrics.waited.observe((now - since).as_secs_f64());
        }
        self.working.insert(key.clone(), now);
    }

    /// Moves keys whose time has come to the end of the line.
    fn ring(&mut self, now: Instant) {
        while let Some((at, _)) = self.timers.first_key_value()
            && *at <= now
            && let Some((_, keys)) = self.timers.pop_first()
        {
            for key in keys {
                self.timer_of.remove(&key);
                if self.working.contains_key(&key) {
                    self.again.insert(key);
                } else {
                    self.push(key);
                }
            }
        }
    }

    /// A key has one timer: the newest plan knows best when to look again.
    fn set_timer(&mut self, key: &Key, at: Option<Instant>) {
        if let Some(old) = self.timer_of.remove(key)
            && let Some(keys) = self.timers.get_mut(&old)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.timers.remove(&old);
            }
        }
        if let Some(at) = at {
            self.timer_of.insert(key.clone(), at);
            self.timers.entry(at).or_default().insert(key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Queue {
        Queue::new(BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1) })
    }

    fn key(name: &str) -> Key {
        Key::new("n", name)
    }

    #[tokio::test(start_paused = true)]
    async fn cloneset_b13_keys_come_once_and_in_order() {
        let queue = queue();
        for name in ["a", "b", "a", "c", "b"] {
            queue.add(key(name));
        }

        let mut order = Vec::new();
        while queue.depth() > 0 {
            let next = queue.next().await.unwrap();
            order.push(next.name.to_string());
            queue.done(next, Done::Settled(None));
        }

        assert_eq!(order, ["a", "b", "c"]);
        assert_eq!(queue.remembered(), 0, "nothing is left of keys that are settled");
    }

    #[tokio::test(start_paused = true)]
    async fn key_added_while_worked_on_comes_again_but_never_twice_at_once() {
        let queue = queue();
        queue.add(key("a"));
        let first = queue.next().await.unwrap();
        queue.add(key("a"));
        assert_eq!(queue.depth(), 0, "it is being worked on");

        queue.done(first, Done::Settled(None));

        assert_eq!(queue.next().await, Some(key("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn timer_wakes_at_the_exact_instant_and_the_newest_counts() {
        let queue = queue();
        let start = Instant::now();
        queue.add(key("a"));
        for seconds in [59, 7] {
            let a = queue.next().await.unwrap();
            queue.add(a.clone());
            queue.done(a, Done::Settled(Some(start + Duration::from_secs(seconds))));
        }
        let last = queue.next().await.unwrap();
        queue.done(last, Done::Settled(Some(start + Duration::from_secs(7))));

        queue.next().await.unwrap();

        assert_eq!(start.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn sm_74_failing_key_backs_off_alone_and_success_forgets() {
        let queue = queue();
        let start = Instant::now();
        queue.add(key("bad"));
        let mut waits = Vec::new();
        for _ in 0..4 {
            let bad = queue.next().await.unwrap();
            waits.push(start.elapsed().as_millis());
            queue.done(bad, Done::Failed);
        }
        assert_eq!(waits, [0, 5, 15, 35]);

        queue.add(key("good"));
        assert_eq!(queue.next().await, Some(key("good")), "not behind the bad one's back-off");

        let recovered = queue.next().await.unwrap();
        queue.done(recovered.clone(), Done::Settled(None));
        queue.add(recovered);
        let again = queue.next().await.unwrap();
        let before = Instant::now();
        queue.done(again, Done::Failed);
        queue.next().await.unwrap();
        assert_eq!(before.elapsed().as_millis(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn resting_key_gathers_its_events_and_delays_no_other() {
        let queue = queue();
        let start = Instant::now();
        queue.add(key("big"));
        let big = queue.next().await.unwrap();
        queue.rest(&big, start + Duration::from_millis(100));
        queue.add(key("big"));
        queue.done(big, Done::Settled(Some(start + Duration::from_secs(9))));
        queue.add(key("big"));
        queue.add(key("small"));

        let first = queue.next().await.unwrap();
        assert_eq!((first, start.elapsed().as_millis()), (key("small"), 0));
        let second = queue.next().await.unwrap();
        assert_eq!((second.clone(), start.elapsed().as_millis()), (key("big"), 100));
        queue.done(second, Done::Settled(None));
        queue.add(key("big"));
        queue.next().await.unwrap();
        assert_eq!(start.elapsed().as_millis(), 100, "rested");
    }

    #[tokio::test(start_paused = true)]
    async fn rest_moves_no_timer() {
        let queue = queue();
        let start = Instant::now();
        queue.add(key("big"));
        let big = queue.next().await.unwrap();
        queue.rest(&big, start + Duration::from_millis(100));
        queue.done(big, Done::Settled(Some(start + Duration::from_millis(30))));
        queue.add(key("big"));

        queue.next().await.unwrap();

        assert_eq!(start.elapsed().as_millis(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_urgent_does_not_wait_for_a_rest() {
        let queue = queue();
        let start = Instant::now();
        let rest = |key: &Key| queue.rest(key, Instant::now() + Duration::from_secs(1));
        queue.add(key("big"));
        let big = queue.next().await.unwrap();
        queue.hurry(key("big"));
        rest(&big);
        queue.done(big, Done::Settled(None));

        let second = queue.next().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO, "it came while it was worked on");
        rest(&second);
        queue.done(second, Done::Settled(None));
        queue.add(key("big"));
        queue.hurry(key("big"));
        let third = queue.next().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO, "it came while it rested");

        rest(&third);
        queue.done(third, Done::Settled(None));
        queue.add(key("big"));
        queue.next().await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(1), "what was urgent is done");
    }

    #[tokio::test(start_paused = true)]
    async fn closing_lets_every_worker_go() {
        let queue = std::sync::Arc::new(queue());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = std::sync::Arc::clone(&queue);
                tokio::spawn(async move { queue.next().await })
            })
            .collect();
        tokio::task::yield_now().await;

        queue.close();

        for worker in workers {
            assert_eq!(worker.await.unwrap(), None);
        }
    }
}
