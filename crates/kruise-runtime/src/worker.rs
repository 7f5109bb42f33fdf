//! Working through a queue. A worker whose key does not get on, because a webhook or the network keeps its writes waiting, goes on with
//! the next key beside it: a few such objects never keep all workers to themselves. A key that does get on but has much to do, because
//! its object has thousands of pods, makes room for others when it had its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::{Instant, timeout};

use crate::Key;
use crate::queue::Queue;

/// A key that has not got on for so long waits for something. Longer than a write takes on a busy server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keys that one worker has begun and that wait. A bound, because each holds its plan in memory.
const WAITING_MAX: usize = 16;

/// So long a key is worked on while others wait: some hundred writes. What is left is planned anew after them.
const SLICE: Duration = Duration::from_secs(2);

/// How far the work on a key has come, and whether it is the turn of others.
#[derive(Debug, Clone)]
pub struct Progress {
    queue: Arc<Queue>,
    begun: Instant,
    /// Chains of writes that have ended.
    steps: Arc<AtomicUsize>,
}

impl Progress {
    pub fn new(queue: Arc<Queue>) -> Self {
        Self { queue, begun: Instant::now(), steps: Arc::default() }
    }

    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub fn so_far(&self) -> usize {
        self.steps.load(Ordering::Relaxed)
    }

    /// Whether the key had its time and others wait. Never before it came one step on: each turn is good for something.
    pub fn makes_room(&self) -> bool {
        self.so_far() > 0 && SLICE < self.begun.elapsed() && self.queue.is_anyone_waiting()
    }
}

/// Takes keys and gives each its turn, until the queue is closed; what was begun is ended then. Dropped, all turns end with it.
pub async fn work<F: Future<Output = ()>>(queue: &Arc<Queue>, turn: impl Fn(Key, Progress) -> F) {
    let mut waiting = FuturesUnordered::new();
    while let Some(key) = beside(&mut waiting, queue.next()).await {
        let progress = Progress::new(Arc::clone(queue));
        let mut turn = Box::pin(turn(key, progress.clone()));
        let is_over = loop {
            let before = progress.so_far();
            let over = beside(&mut waiting, timeout(PATIENCE, &mut turn)).await.is_ok();
            if over || progress.so_far() == before {
                break over;
            }
        };
        if !is_over {
            waiting.push(turn);
        }
        while WAITING_MAX <= waiting.len() {
            waiting.next().await;
        }
    }
    while waiting.next().await.is_some() {}
}

/// Waits for `one` while all others go on.
async fn beside<T>(
    others: &mut FuturesUnordered<impl Future<Output = ()>>,
    one: impl Future<Output = T>,
) -> T {
    let mut one = std::pin::pin!(one);
    loop {
        tokio::select! {
            biased;
            out = &mut one => return out,
            Some(()) = others.next(), if !others.is_empty() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::queue::{BackOff, Done};

    const HOUR: Duration = Duration::from_hours(1);

    fn queue() -> Arc<Queue> {
        Arc::new(Queue::new(BackOff { first: Duration::from_millis(5), longest: HOUR }))
    }

    /// One worker with these keys, in this order. `stuck…` waits for an hour, `large…` makes a write a second for a minute. What
    /// was done by when.
    async fn worked(names: impl IntoIterator<Item = String>) -> Vec<(String, Duration)> {
        let queue = queue();
        for name in names {
            queue.add(Key::new("n", name.as_str()));
        }
        let (started, log) = (Instant::now(), Mutex::new(Vec::new()));
        let turn = async |key: Key, progress: Progress| {
            if key.name.starts_with("stuck") {
                tokio::time::sleep(HOUR).await;
            } else if key.name.starts_with("large") {
                for _ in 0..60 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    progress.step();
                }
            }
            log.lock().unwrap().push((key.name.to_string(), started.elapsed()));
            queue.done(key, Done::Settled(None));
        };
        let closed = async {
            tokio::time::sleep(3 * HOUR).await;
            queue.close();
        };
        tokio::join!(work(&queue, &turn), closed);
        log.into_inner().unwrap()
    }

    fn names(name: &str, count: usize) -> impl Iterator<Item = String> {
        (0..count).map(move |number| format!("{name}-{number}"))
    }

    #[tokio::test(start_paused = true)]
    async fn stuck_keys_keep_no_other_waiting() {
        let log = worked(names("stuck", 10).chain(names("quick", 1))).await;

        assert_eq!(log.len(), 11);
        assert_eq!(log.first().unwrap(), &("quick-0".to_owned(), 10 * PATIENCE));
        assert!(log.iter().all(|(_, at)| *at < HOUR + 11 * PATIENCE), "all stuck ones side by side: {log:?}");
    }

    /// Side by side all would be done late, and the server would have more to do at once.
    #[tokio::test(start_paused = true)]
    async fn keys_that_get_on_are_worked_on_one_after_the_other() {
        let log = worked(names("large", 3)).await;

        let minutes: Vec<u64> = log.iter().map(|(_, at)| at.as_secs() / 60).collect();
        assert_eq!(minutes, [1, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_keys_are_begun_than_memory_is_for() {
        let log = worked(names("stuck", WAITING_MAX).chain(names("quick", 1))).await;

        let at = log.iter().find(|(name, _)| name == "quick-0").unwrap().1;
        assert!(HOUR <= at && at < HOUR + PATIENCE, "as soon as the first stuck one is done: {log:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_begun_is_ended_when_the_queue_closes() {
        let queue = queue();
        queue.add(Key::new("n", "stuck"));
        let ended = Mutex::new(false);
        let turn = async |_: Key, _: Progress| {
            tokio::time::sleep(HOUR).await;
            *ended.lock().unwrap() = true;
        };
        let closed = async {
            tokio::time::sleep(2 * PATIENCE).await;
            queue.close();
        };

        tokio::join!(work(&queue, &turn), closed);

        assert!(*ended.lock().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn key_makes_room_for_others_when_it_had_its_time_and_came_on() {
        let queue = queue();
        let progress = Progress::new(Arc::clone(&queue));
        progress.step();
        queue.add(Key::new("n", "other"));
        assert!(!progress.makes_room(), "it has just begun");

        tokio::time::sleep(SLICE + Duration::from_millis(1)).await;

        assert!(progress.makes_room());
        let stuck = Progress { steps: Arc::default(), ..progress.clone() };
        assert!(!stuck.makes_room(), "a turn without a step would be for nothing");
        let other = queue.next().await.unwrap();
        assert!(!progress.makes_room(), "nobody waits");
        queue.done(other, Done::After(HOUR));
        assert!(!progress.makes_room(), "nobody waits yet");
        tokio::time::sleep(HOUR).await;
        assert!(progress.makes_room(), "the time of the other one has come");
    }
}
