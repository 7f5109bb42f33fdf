//! The next time that fields match: the arithmetic of the library, step by step, so that gaps and folds of a zone come out as there
//! (ACJ-14, B17).

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::parse::{Fields, has};

/// Years that are looked through.
const YEARS: i16 = 5;
const SECOND: SignedDuration = SignedDuration::from_secs(1);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// An instant and what the clock of the zone shows then.
#[derive(Clone, Copy)]
struct Clock<'z> {
    zone: &'z TimeZone,
    at: Timestamp,
    shown: DateTime,
}

/// A search: where it is, and whether the smaller units were set to their beginning already.
struct Search<'z> {
    clock: Clock<'z>,
    is_reset: bool,
}

/// What a pass over one unit came to.
enum Pass {
    Matches,
    /// A larger unit has changed and has to be looked at again.
    Wrapped,
}

/// The first time strictly after this one, at second 0.
pub fn after(fields: &Fields, zone: &TimeZone, time: Timestamp) -> Option<Timestamp> {
    let fraction = SignedDuration::from_nanos(i64::from(time.subsec_nanosecond()));
    let whole = time.checked_sub(fraction).ok()?;
    let whole = if whole > time { whole.checked_sub(SECOND).ok()? } else { whole };
    let clock = Clock::at(zone, whole).plus(SECOND)?;
    let limit = clock.shown.year().checked_add(YEARS)?;
    let mut search = Search { clock, is_reset: false };
    while search.clock.shown.year() <= limit {
        if let Pass::Matches = search.pass(fields)? {
            return Some(search.clock.at);
        }
    }
    None
}

impl Search<'_> {
    fn pass(&mut self, fields: &Fields) -> Option<Pass> {
        for unit in [Self::month, Self::day, Self::hour, Self::minute, Self::second] {
            if let Pass::Wrapped = unit(self, fields)? {
                return Some(Pass::Wrapped);
            }
        }
        Some(Pass::Matches)
    }

    fn month(&mut self, fields: &Fields) -> Option<Pass> {
        while !has(fields.month, self.clock.shown.month()) {
            if self.resets() {
                let first = self.clock.shown.date().first_of_month();
                self.clock = self.clock.showing(first.at(0, 0, 0, 0))?;
            }
            self.clock = self.clock.showing(self.clock.shown.checked_add(1.month()).ok()?)?;
            if self.clock.shown.month() == 1 {
                return Some(Pass::Wrapped);
            }
        }
        Some(Pass::Matches)
    }

    fn day(&mut self, fields: &Fields) -> Option<Pass> {
        let matches =
            |shown: DateTime| fields.matches_day(shown.day(), shown.weekday().to_sunday_zero_offset());
        while !matches(self.clock.shown) {
            if self.resets() {
                self.clock = self.clock.showing(self.clock.shown.date().at(0, 0, 0, 0))?;
            }
            self.clock = self.clock.showing(self.clock.shown.checked_add(1.day()).ok()?)?;
            // Where midnight does not exist, or comes an hour early, the full hour that the library takes for it.
            let hour = i64::from(self.clock.shown.hour());
            let by = if hour > 12 { 24 - hour } else { -hour };
            self.clock = self.clock.plus(SignedDuration::from_hours(by))?;
            if self.clock.shown.day() == 1 {
                return Some(Pass::Wrapped);
            }
        }
        Some(Pass::Matches)
    }

    fn hour(&mut self, fields: &Fields) -> Option<Pass> {
        while !has(fields.hour, self.clock.shown.hour()) {
            if self.resets() {
                let hour = self.clock.shown.hour();
                self.clock = self.clock.showing(self.clock.shown.date().at(hour, 0, 0, 0))?;
            }
            self.clock = self.clock.plus(HOUR)?;
            if self.clock.shown.hour() == 0 {
                return Some(Pass::Wrapped);
            }
        }
        Some(Pass::Matches)
    }

    fn minute(&mut self, fields: &Fields) -> Option<Pass> {
        while !has(fields.minute, self.clock.shown.minute()) {
            if self.resets() {
                let seconds = self.clock.at.as_second().rem_euclid(60);
                self.clock = self.clock.plus(SignedDuration::from_secs(-seconds))?;
            }
            self.clock = self.clock.plus(MINUTE)?;
            if self.clock.shown.minute() == 0 {
                return Some(Pass::Wrapped);
            }
        }
        Some(Pass::Matches)
    }

    /// Schedules name no seconds: only 0 matches, and what lies in between is passed at once.
    fn second(&mut self, _: &Fields) -> Option<Pass> {
        let seconds = i64::from(self.clock.shown.second());
        if seconds == 0 {
            return Some(Pass::Matches);
        }
        self.is_reset = true;
        self.clock = self.clock.plus(SignedDuration::from_secs(60 - seconds))?;
        Some(Pass::Wrapped)
    }

    /// Whether this is the first step of the whole search.
    fn resets(&mut self) -> bool {
        !std::mem::replace(&mut self.is_reset, true)
    }
}

impl<'z> Clock<'z> {
    fn at(zone: &'z TimeZone, at: Timestamp) -> Self {
        Self { zone, at, shown: zone.to_datetime(at) }
    }

    fn plus(self, time: SignedDuration) -> Option<Self> {
        Some(Self::at(self.zone, self.at.checked_add(time).ok()?))
    }

    /// The instant that Go makes of a date and time: with the offset that holds where the clock of UTC shows this, or, if that is wrong
    /// there, with the one that holds there. In a gap the clock then shows something else.
    fn showing(self, wanted: DateTime) -> Option<Self> {
        let offset = |at: Timestamp| i64::from(self.zone.to_offset(at).seconds());
        let as_utc = TimeZone::UTC.to_timestamp(wanted).ok()?;
        let moved = |by: i64| as_utc.checked_sub(SignedDuration::from_secs(by)).ok();
        let first = offset(as_utc);
        let at = if first == 0 { as_utc } else { moved(offset(moved(first)?))? };
        Some(Self::at(self.zone, at))
    }
}
