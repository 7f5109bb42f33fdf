//! Who is connected, and who goes when somebody else comes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Nobody has to leave sooner after it came: time for a handshake, and a bound on how many are begun in a second.
const STAYS: Duration = Duration::from_millis(250);

/// What a connection does. In this order they lose their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    /// It has not asked anything yet.
    Nothing,
    /// It waits between two requests.
    Idle,
    /// It is being answered.
    Asking,
}

/// The places of a server.
#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    taken: Mutex<Taken>,
    most: usize,
    /// Of one peer: the rest is for others.
    most_of_one: usize,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    /// Grows with everything that happens: a smaller one is longer ago.
    moment: u64,
    by: BTreeMap<u64, Holder>,
}

#[derive(Debug)]
struct Holder {
    peer: IpAddr,
    doing: Doing,
    since: u64,
    came: Instant,
    leave: Arc<Notify>,
}

/// Whether one more may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Now,
    /// Somebody may have to leave then.
    NotBefore(Instant),
    /// When somebody has been answered or leaves.
    Later,
    /// Its peer has too many already.
    Never,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    number: u64,
    leave: Arc<Notify>,
}

impl Places {
    pub fn new(most: usize) -> Self {
        let most_of_one = most - most / 4;
        Self(Arc::new(Shared { taken: Mutex::default(), most, most_of_one, changed: Notify::new() }))
    }

    /// A place for one more connection, for which somebody may have had to leave; none if its peer has too many that say nothing.
    pub async fn take(&self, peer: IpAddr) -> Option<Place> {
        loop {
            let changed = self.0.changed.notified();
            match self.make_room(peer) {
                Room::Now => return Some(self.enter(peer)),
                Room::Never => return None,
                Room::NotBefore(at) => {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
                Room::Later => changed.await,
            }
        }
    }

    /// Whether there is room, or somebody leaves.
    fn make_room(&self, peer: IpAddr) -> Room {
        let mut taken = self.lock();
        let of_peer = taken.by.values().filter(|holder| holder.peer == peer).count();
        let is_crowd = self.0.most_of_one <= of_peer;
        if taken.by.len() < self.0.most && !is_crowd {
            return Room::Now;
        }
        let goes = |holder: &Holder| holder.doing < Doing::Asking && (holder.peer == peer || !is_crowd);
        let idle = taken.by.iter().filter(|(_, holder)| goes(holder));
        let Some(number) =
            idle.min_by_key(|(_, holder)| (holder.doing, holder.since)).map(|(number, _)| *number)
        else {
            return Room::Later;
        };
        let Some(holder) = taken.by.get(&number) else { return Room::Later };
        let stays_until = holder.came + STAYS;
        if holder.doing == Doing::Nothing && Instant::now() < stays_until {
            return if is_crowd { Room::Never } else { Room::NotBefore(stays_until) };
        }
        holder.leave.notify_one();
        taken.by.remove(&number);
        Room::Now
    }

    fn enter(&self, peer: IpAddr) -> Place {
        let leave = Arc::new(Notify::new());
        let mut taken = self.lock();
        taken.moment += 1;
        let number = taken.moment;
        let holder = Holder {
            peer,
            doing: Doing::Nothing,
            since: number,
            came: Instant::now(),
            leave: Arc::clone(&leave),
        };
        taken.by.insert(number, holder);
        Place { places: self.clone(), number, leave }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Resolves when somebody else needs the place.
    pub async fn lost(&self) {
        self.leave.notified().await;
    }

    pub fn asks(&self) {
        self.now(Doing::Asking);
    }

    pub fn is_answered(&self) {
        self.now(Doing::Idle);
        self.places.0.changed.notify_one();
    }

    pub fn has_asked(&self) -> bool {
        self.places.lock().by.get(&self.number).is_some_and(|holder| holder.doing != Doing::Nothing)
    }

    fn now(&self, doing: Doing) {
        let mut taken = self.places.lock();
        taken.moment += 1;
        let since = taken.moment;
        if let Some(holder) = taken.by.get_mut(&self.number) {
            (holder.doing, holder.since) = (doing, since);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().by.remove(&self.number);
        self.places.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt;

    use super::*;

    const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    fn at_once(places: &Places, peer: IpAddr) -> Option<Place> {
        places.take(peer).now_or_never().flatten()
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_have_time_to_say_something() {
        let places = Places::new(1);
        let first = at_once(&places, ONE).unwrap();
        let came = Instant::now();

        assert!(places.take(OTHER).await.is_some());

        assert_eq!(came.elapsed(), STAYS);
        assert!(first.lost().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn least_useful_connection_loses_its_place_and_nobody_who_is_being_answered() {
        let places = Places::new(3);
        let [used, asking, silent] = [ONE, OTHER, ONE].map(|peer| at_once(&places, peer).unwrap());
        used.asks();
        used.is_answered();
        asking.asks();
        tokio::time::advance(STAYS).await;

        let other = at_once(&places, OTHER).unwrap();
        assert!(silent.lost().now_or_never().is_some(), "it has asked nothing");
        other.asks();
        let last = at_once(&places, ONE).unwrap();
        assert!(used.lost().now_or_never().is_some(), "it is idle");
        last.asks();

        assert!(at_once(&places, ONE).is_none(), "all are being answered");
        assert!(asking.lost().now_or_never().is_none());
        drop(last);
        assert!(at_once(&places, ONE).is_some());
    }

    /// However many connections one peer opens, there are places for others at once.
    #[tokio::test(start_paused = true)]
    async fn one_peer_does_not_get_all_places() {
        let places = Places::new(8);
        let flood: Vec<Place> = (0..100).filter_map(|_| at_once(&places, ONE)).collect();
        assert_eq!(flood.len(), 6);

        assert!(at_once(&places, OTHER).is_some());
        assert!(places.take(ONE).await.is_none(), "turned away, so that others behind it come in");
        for place in &flood {
            place.asks();
        }
        assert!(places.take(ONE).now_or_never().is_none(), "who is of use waits instead");
    }
}
