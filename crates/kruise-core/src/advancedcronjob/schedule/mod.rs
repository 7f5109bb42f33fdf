//! Planned times: the grammar and the arithmetic of robfig/cron v3.0.1, which upstream uses (ACJ-11 … ACJ-15).
//!
//! `parse.rs` text → fields; `duration.rs` Go durations after `@every`; `zone.rs` time zones; `next.rs` the next time of given fields.

mod duration;
mod next;
mod parse;
mod zone;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

pub use parse::{Fields, NotASchedule, says_its_zone};
pub use zone::zone;

/// When something is to happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// Whenever the fields match the clock of a zone; `None`: the manager's own.
    Fields(Box<Fields>, Option<TimeZone>),
    /// So long after the last time, in whole seconds.
    Every(SignedDuration),
}

/// More missed runs than this are worth a warning (B2).
const MANY: usize = 100;
/// The first look back; twice as far each time.
const LOOK_BACK: SignedDuration = SignedDuration::from_mins(2);

/// What happened since the last planned time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The latest planned time that is not in the future.
    pub latest: Timestamp,
    /// There were so many that nobody counted on.
    pub is_many: bool,
}

impl Schedule {
    /// The first planned time strictly after `time`; `None` if there is none within five years. `anchor` is where `@every` counts from (B12).
    pub fn next(&self, time: Timestamp, anchor: Timestamp, local: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Fields(fields, zone) => next::after(fields, zone.as_ref().unwrap_or(local), time),
            Self::Every(period) => {
                let passed = time.duration_since(anchor).as_secs();
                let period = period.as_secs().max(1);
                let rounds = if passed < 0 { 0 } else { passed / period };
                let seconds = rounds.checked_add(1)?.checked_mul(period)?;
                anchor.checked_add(SignedDuration::from_secs(seconds)).ok()
            }
        }
    }

    /// The latest planned time after `earliest` and not after `now` (ACJ-17), found without walking through all of them (B2, B3).
    pub fn missed(
        &self,
        (earliest, now): (Timestamp, Timestamp),
        anchor: Timestamp,
        local: &TimeZone,
    ) -> Option<Missed> {
        let next = |time: Timestamp| self.next(time, anchor, local).filter(|at| *at <= now);
        let is_many = std::iter::successors(next(earliest), |at| next(*at)).nth(MANY).is_some();
        let mut back = LOOK_BACK;
        loop {
            let from = now.checked_sub(back).unwrap_or(Timestamp::MIN).max(earliest);
            let found = std::iter::successors(next(from), |at| next(*at)).last();
            match found {
                Some(latest) => return Some(Missed { latest, is_many }),
                None if from <= earliest => return None,
                None => back = back.saturating_mul(2),
            }
        }
    }
}
