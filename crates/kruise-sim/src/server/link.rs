//! The way between one client and the server: how long everything takes, what gets lost, when the client dies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::failure::Failure;
use super::request::Call;
use super::resources::Kind;

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    Served,
    /// The server refuses without looking at it.
    Refused(Failure),
    /// Never reaches the server, never answered.
    Lost,
    /// Takes effect, but the answer never comes.
    AnswerLost,
    /// Takes effect this much later, and is never answered: the write of a client that is gone or deposed.
    Ghost(Duration),
    /// The connection breaks before the answer, and the client hears of that at once.
    Reset(Landing),
    /// Nobody takes the connection: nothing is sent, and the client hears of that at once.
    Unreachable,
    /// The client dies before the request leaves it.
    CrashBefore,
    /// The client dies after the request took effect and before it hears of it.
    CrashAfter,
}

/// What becomes of a request whose connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    Never,
    AtOnce,
    /// The server has it and works on it for so long.
    After(Duration),
}

/// Decides about everything that passes. Asked in order, so one seed gives one answer. By itself nothing goes wrong.
pub trait Weather: Send {
    fn fate(&mut self, _: &Call) -> Fate {
        Fate::Served
    }

    /// From asking to being heard, and from being answered to hearing it.
    fn latency(&mut self) -> Duration {
        Duration::ZERO
    }

    /// From an event to its arrival at a watch.
    fn event_delay(&mut self, _: &Kind) -> Duration {
        Duration::ZERO
    }

    /// How much longer than anything else the answer to a read takes.
    fn read_delay(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Whether the network was silent at some time since then: a watch that was open says nothing ever again.
    fn went_silent_since(&mut self, _: Instant) -> bool {
        false
    }

    /// Whether the next event arrives twice.
    fn doubles_event(&mut self, _: &Kind) -> bool {
        false
    }

    /// Whether a watch breaks off now.
    fn cuts_watch(&mut self, _: &Kind) -> bool {
        false
    }

    /// Until when no event of this kind arrives.
    fn holds_events(&mut self, _: &Kind) -> Option<Instant> {
        None
    }

    /// The time that a replica has stopped at whose list of this kind is answered now; asked only where the client allows it.
    fn lists_as_of(&mut self, _: &Kind) -> Option<Instant> {
        None
    }
}

/// Nothing goes wrong and nothing takes time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calm;

impl Weather for Calm {}

/// One client's way to the server.
pub struct Link {
    /// In the log of writes.
    pub who: &'static str,
    inner: Mutex<Inner>,
    /// Something about the link changed.
    changed: Notify,
    /// The client has died.
    died: Notify,
}

struct Inner {
    weather: Box<dyn Weather>,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    DeadSince(Instant),
}

impl Link {
    pub fn new(who: &'static str, weather: Box<dyn Weather>) -> Arc<Self> {
        let inner = Mutex::new(Inner { weather, life: Life::Alive });
        Arc::new(Self { who, inner, changed: Notify::new(), died: Notify::new() })
    }

    pub fn calm(who: &'static str) -> Arc<Self> {
        Self::new(who, Box::new(Calm))
    }

    /// The client dies: nothing of it reaches the server any more.
    pub fn kill(&self) {
        let mut inner = self.lock();
        if inner.life == Life::Alive {
            inner.life = Life::DeadSince(Instant::now());
        }
        drop(inner);
        self.died.notify_one();
        self.changed.notify_waiters();
    }

    pub fn is_dead(&self) -> bool {
        self.lock().life != Life::Alive
    }

    /// For how long the client has been dead; no time at all while it lives.
    pub fn dead_for(&self) -> Duration {
        match self.lock().life {
            Life::Alive => Duration::ZERO,
            Life::DeadSince(death) => death.elapsed(),
        }
    }

    /// Resolves when the client has died.
    pub async fn death(&self) {
        self.died.notified().await;
    }

    pub(super) fn fate(&self, call: &Call) -> Fate {
        self.lock().weather.fate(call)
    }

    pub(super) fn latency(&self) -> Duration {
        self.lock().weather.latency()
    }

    pub(super) fn event_delay(&self, kind: &Kind) -> Duration {
        self.lock().weather.event_delay(kind)
    }

    pub(super) fn read_delay(&self) -> Duration {
        self.lock().weather.read_delay()
    }

    pub(super) fn went_silent_since(&self, opened: Instant) -> bool {
        self.lock().weather.went_silent_since(opened)
    }

    pub(super) fn doubles_event(&self, kind: &Kind) -> bool {
        self.lock().weather.doubles_event(kind)
    }

    pub(super) fn cuts_watch(&self, kind: &Kind) -> bool {
        self.lock().weather.cuts_watch(kind)
    }

    pub(super) fn holds_events(&self, kind: &Kind) -> Option<Instant> {
        self.lock().weather.holds_events(kind)
    }

    pub(super) fn lists_as_of(&self, kind: &Kind) -> Option<Instant> {
        self.lock().weather.lists_as_of(kind)
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
