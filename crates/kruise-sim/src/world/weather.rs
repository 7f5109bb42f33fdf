//! A plan as the links of managers feel it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::faults::{Blow, Fault, LATE, Plan};
use crate::rng::Rng;
use crate::server::{Call, Failure, Fate, Kind, Weather};

/// Requests take up to this many milliseconds in each direction.
const LATENCY: u64 = 4;
/// Events take up to this many milliseconds.
const EVENT_DELAY: u64 = 60;
/// A cut hits every watch that moves within this time.
const CUT: Duration = Duration::from_millis(200);

/// What all managers of a world have in common; clones are the same.
#[derive(Clone)]
pub struct Storm(Arc<Mutex<Inner>>);

struct Inner {
    rng: Rng,
    /// Writes of managers so far.
    writes: u64,
    blows: BTreeMap<u64, Blow>,
    /// Faults that have happened, by name.
    struck: BTreeMap<&'static str, u64>,
    held: BTreeMap<&'static str, Instant>,
    /// Lists of these kinds are as of the first time until the second.
    stopped: BTreeMap<&'static str, (Instant, Instant)>,
    /// Events of these kinds are so late until then.
    late: BTreeMap<&'static str, (Duration, Instant)>,
    /// Reads are so slow until then.
    slow: Option<(Duration, Instant)>,
    /// From when until when nothing was or is answered.
    silent: Vec<(Instant, Instant)>,
    doubled: Option<Instant>,
    cut: Option<Instant>,
    outage: Option<(u16, Instant)>,
    frozen: Option<(usize, Instant)>,
    /// The one manager whom events reach.
    heard_by: Option<(usize, Instant)>,
    requests: u64,
}

impl Storm {
    pub fn new(rng: Rng, plan: &Plan) -> Self {
        let blows = plan.faults.iter().filter_map(|fault| match fault {
            Fault::AtWrite(number, blow) => Some((*number, *blow)),
            Fault::AtTime(_, _) => None,
        });
        Self(Arc::new(Mutex::new(Inner {
            rng,
            writes: 0,
            blows: blows.collect(),
            struck: BTreeMap::new(),
            held: BTreeMap::new(),
            stopped: BTreeMap::new(),
            late: BTreeMap::new(),
            slow: None,
            silent: Vec::new(),
            doubled: None,
            cut: None,
            outage: None,
            frozen: None,
            heard_by: None,
            requests: 0,
        })))
    }

    /// The weather for the manager in this slot.
    pub fn over(&self, slot: usize) -> Box<dyn Weather> {
        Box::new(Sky { storm: self.clone(), slot })
    }

    pub fn writes(&self) -> u64 {
        self.lock().writes
    }

    pub fn requests(&self) -> u64 {
        self.lock().requests
    }

    pub fn struck(&self) -> BTreeMap<&'static str, u64> {
        self.lock().struck.clone()
    }

    pub fn strike(&self, name: &'static str) {
        *self.lock().struck.entry(name).or_default() += 1;
    }

    pub fn hold(&self, plural: &'static str, lasts: Duration) {
        self.lock().held.insert(plural, Instant::now() + lasts);
    }

    /// What is listed stays for so long as it is now.
    pub fn stop_lists(&self, plural: &'static str, lasts: Duration) {
        let now = Instant::now();
        self.lock().stopped.insert(plural, (now, now + lasts));
    }

    pub fn late(&self, plural: &'static str, by: Duration, lasts: Duration) {
        self.lock().late.insert(plural, (by, Instant::now() + lasts));
    }

    pub fn slow_reads(&self, by: Duration, lasts: Duration) {
        self.lock().slow = Some((by, Instant::now() + lasts));
    }

    pub fn silence(&self, lasts: Duration) {
        let now = Instant::now();
        self.lock().silent.push((now, now + lasts));
    }

    pub fn double(&self, lasts: Duration) {
        self.lock().doubled = Some(Instant::now() + lasts);
    }

    pub fn cut(&self) {
        self.lock().cut = Some(Instant::now() + CUT);
    }

    pub fn outage(&self, code: u16, lasts: Duration) {
        self.lock().outage = Some((code, Instant::now() + lasts));
    }

    pub fn freeze(&self, slot: usize, lasts: Duration) {
        self.lock().frozen = Some((slot, Instant::now() + lasts));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn is_silent(&self, now: Instant) -> bool {
        self.silent.iter().any(|(from, until)| *from <= now && now < *until)
    }
}

/// Leases and events are courtesy: nothing depends on when they are written.
pub fn counts(call: &Call) -> bool {
    call.verb.is_write() && !matches!(call.kind.resource.plural(), "leases" | "events")
}

struct Sky {
    storm: Storm,
    slot: usize,
}

impl Weather for Sky {
    fn fate(&mut self, call: &Call) -> Fate {
        let mut inner = self.storm.lock();
        inner.requests += 1;
        if let Some((code, until)) = inner.outage
            && Instant::now() < until
        {
            return Fate::Refused(failure(code));
        }
        let (is_silent, counts) = (inner.is_silent(Instant::now()), counts(call));
        inner.writes += u64::from(counts);
        if is_silent {
            return Fate::Lost;
        }
        if !counts {
            return Fate::Served;
        }
        let number = inner.writes;
        let Some(blow) = inner.blows.remove(&number) else { return Fate::Served };
        *inner.struck.entry(Fault::AtWrite(number, blow).name()).or_default() += 1;
        match blow {
            Blow::CrashBefore => Fate::CrashBefore,
            Blow::CrashAfter => Fate::CrashAfter,
            Blow::HandOver => {
                inner.heard_by = Some((self.slot, Instant::now() + LATE));
                Fate::CrashAfter
            }
            Blow::Refused(code) => Fate::Refused(failure(code)),
            Blow::Lost => Fate::Lost,
            Blow::AnswerLost => Fate::AnswerLost,
            Blow::Ghost(delay) => Fate::Ghost(delay),
            Blow::Reset(landing) => Fate::Reset(landing),
            Blow::Unreachable => Fate::Unreachable,
        }
    }

    fn latency(&mut self) -> Duration {
        let mut inner = self.storm.lock();
        if let Some((slot, until)) = inner.frozen
            && slot == self.slot
        {
            let rest = until.saturating_duration_since(Instant::now());
            if rest > Duration::ZERO {
                return rest;
            }
        }
        Duration::from_millis(1 + inner.rng.below(LATENCY))
    }

    fn event_delay(&mut self, kind: &Kind) -> Duration {
        let mut inner = self.storm.lock();
        let usual = Duration::from_millis(1 + inner.rng.below(EVENT_DELAY));
        let late = inner.late.get(kind.resource.plural()).filter(|(_, until)| Instant::now() < *until);
        usual + late.map(|(by, _)| *by).unwrap_or_default()
    }

    fn read_delay(&mut self) -> Duration {
        let slow = self.storm.lock().slow.filter(|(_, until)| Instant::now() < *until);
        slow.map(|(by, _)| by).unwrap_or_default()
    }

    fn went_silent_since(&mut self, opened: Instant) -> bool {
        let now = Instant::now();
        self.storm.lock().silent.iter().any(|(from, until)| *from <= now && opened < *until)
    }

    fn doubles_event(&mut self, _: &Kind) -> bool {
        self.storm.lock().doubled.is_some_and(|until| Instant::now() < until)
    }

    fn cuts_watch(&mut self, _: &Kind) -> bool {
        self.storm.lock().cut.is_some_and(|until| Instant::now() < until)
    }

    fn holds_events(&mut self, kind: &Kind) -> Option<Instant> {
        let inner = self.storm.lock();
        let held = inner.held.get(kind.resource.plural()).copied();
        let frozen = inner.frozen.filter(|(slot, _)| *slot == self.slot).map(|(_, until)| until);
        let late = inner.heard_by.filter(|(slot, _)| *slot != self.slot).map(|(_, until)| until);
        held.max(frozen).max(late)
    }

    fn lists_as_of(&mut self, kind: &Kind) -> Option<Instant> {
        let mut inner = self.storm.lock();
        let (since, until) = inner.stopped.get(kind.resource.plural()).copied()?;
        if until <= Instant::now() {
            return None;
        }
        *inner.struck.entry("old-list").or_default() += 1;
        Some(since)
    }
}

fn failure(code: u16) -> Failure {
    match code {
        409 => Failure::new(409, "Conflict", "the object has been modified"),
        429 => Failure::busy(1),
        403 => Failure::new(403, "Forbidden", "refused by an admission webhook"),
        504 => Failure::new(504, "Timeout", "request timed out"),
        _ => Failure::new(500, "InternalError", "etcdserver: request timed out"),
    }
}
