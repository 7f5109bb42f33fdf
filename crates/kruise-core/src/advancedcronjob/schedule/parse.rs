//! Text → fields (ACJ-11 … ACJ-13). What the library accepts is accepted, oddities included.

use jiff::SignedDuration;

use super::{Schedule, duration, zone};

/// Set where a field said `*` or `?` without a step (ACJ-13).
const STAR: u64 = 1 << 63;

/// One bit per minute, hour, day and month that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    pub minute: u64,
    pub hour: u64,
    pub day: u64,
    pub month: u64,
    pub weekday: u64,
}

/// Why a text is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotASchedule(String);

/// The values that a field may have, and names for them.
struct Bounds {
    min: u64,
    max: u64,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { min: 0, max: 59, names: &[] };
const HOURS: Bounds = Bounds { min: 0, max: 23, names: &[] };
const DAYS: Bounds = Bounds { min: 1, max: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    min: 1,
    max: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds = Bounds { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Fields {
    /// ACJ-13: with a bare star on either side both must match, else one of them is enough.
    pub fn matches_day(&self, day: i8, weekday: i8) -> bool {
        let (by_day, by_weekday) = (has(self.day, day), has(self.weekday, weekday));
        if self.day & STAR > 0 || self.weekday & STAR > 0 {
            by_day && by_weekday
        } else {
            by_day || by_weekday
        }
    }
}

/// Whether this value matches.
pub fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) > 0)
}

impl Schedule {
    /// `zone_name` is the field of the object; a schedule that names a zone itself has none (ACJ-15).
    pub fn read(text: &str, zone_name: Option<&str>) -> Result<Self, NotASchedule> {
        let named = |name: &str| {
            let no_zone =
                || NotASchedule(format!("unknown time zone {name:?}: use a name such as Europe/Berlin"));
            zone(name).ok_or_else(no_zone)
        };
        let (text, zone) = match prefix(text)? {
            Some((name, rest)) => (rest, Some(named(name)?)),
            None => (text, zone_name.map(named).transpose()?),
        };
        if text.is_empty() {
            return fault("the schedule is empty: write five fields such as \"*/5 * * * *\"");
        }
        if text.starts_with('@') {
            return descriptor(text).map(|found| found.in_zone(zone));
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return fault(format!("expected exactly 5 fields, found {}: {text:?}", parts.len()));
        };
        let fields = Fields {
            minute: field(minute, &MINUTES)?,
            hour: field(hour, &HOURS)?,
            day: field(day, &DAYS)?,
            month: field(month, &MONTHS)?,
            weekday: field(weekday, &WEEKDAYS)?,
        };
        Ok(Self::Fields(Box::new(fields), zone))
    }

    fn in_zone(self, zone: Option<jiff::tz::TimeZone>) -> Self {
        match self {
            Self::Fields(fields, _) => Self::Fields(fields, zone),
            Self::Every(period) => Self::Every(period),
        }
    }
}

/// Whether the text names a zone itself, as upstream decides it.
pub fn says_its_zone(text: &str) -> bool {
    text.contains("TZ")
}

/// The zone at the beginning, and what follows it.
fn prefix(text: &str) -> Result<Option<(&str, &str)>, NotASchedule> {
    let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
        return Ok(None);
    };
    match rest.split_once(' ') {
        Some((name, rest)) => Ok(Some((name, rest.trim()))),
        None => fault("the schedule ends after its time zone: write five fields after it"),
    }
}

fn descriptor(text: &str) -> Result<Schedule, NotASchedule> {
    let all = |bounds: &Bounds| bits(bounds.min, bounds.max, 1) | STAR;
    let daily = Fields { minute: 1, hour: 1, day: all(&DAYS), month: all(&MONTHS), weekday: all(&WEEKDAYS) };
    let fields = match text {
        "@yearly" | "@annually" => Fields { day: 1 << 1, month: 1 << 1, ..daily },
        "@monthly" => Fields { day: 1 << 1, ..daily },
        "@weekly" => Fields { weekday: 1, ..daily },
        "@daily" | "@midnight" => daily,
        "@hourly" => Fields { hour: all(&HOURS), ..daily },
        _ => return every(text),
    };
    Ok(Schedule::Fields(Box::new(fields), None))
}

fn every(text: &str) -> Result<Schedule, NotASchedule> {
    let Some(text) = text.strip_prefix("@every ") else {
        return fault(format!(
            "unrecognized descriptor {text:?}: use @yearly, @monthly, @weekly, @daily, @hourly or @every and a duration such as 90s"
        ));
    };
    match duration::read(text) {
        Some(period) => Ok(Schedule::Every(SignedDuration::from_secs(period.as_secs().max(1)))),
        None => fault(format!("{text:?} is not a duration: use a form such as 90s or 1h30m")),
    }
}

/// A comma-separated list; what stands between two commas may be empty.
fn field(text: &str, bounds: &Bounds) -> Result<u64, NotASchedule> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| range(part, bounds)).try_fold(0, |all, part| Ok(all | part?))
}

/// `*`, `?`, `N` or `A-B`, each with an optional `/step`.
fn range(text: &str, bounds: &Bounds) -> Result<u64, NotASchedule> {
    let halves: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = halves.first().copied().unwrap_or_default().split('-').collect();
    let is_star = matches!(ends.first(), Some(&("*" | "?")));
    let (start, mut end) = match ends.as_slice() {
        _ if is_star => (bounds.min, bounds.max),
        [only] => (value(only, bounds)?, value(only, bounds)?),
        [low, high] => (value(low, bounds)?, value(high, bounds)?),
        _ => return fault(format!("too many hyphens: {text:?}")),
    };
    let step = match halves.as_slice() {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                end = bounds.max; // N/step is from N on.
            }
            number(step)?
        }
        _ => return fault(format!("too many slashes: {text:?}")),
    };
    let Bounds { min, max, .. } = bounds;
    if start < *min {
        return fault(format!("beginning of range ({start}) below minimum ({min}): {text:?}"));
    }
    if end > *max {
        return fault(format!("end of range ({end}) above maximum ({max}): {text:?}"));
    }
    if start > end {
        return fault(format!("beginning of range ({start}) beyond end of range ({end}): {text:?}"));
    }
    if step == 0 {
        return fault(format!("step of range should be a positive number: {text:?}"));
    }
    let star = if is_star && step == 1 { STAR } else { 0 };
    Ok(bits(start, end, step) | star)
}

fn bits(start: u64, end: u64, step: u64) -> u64 {
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    (start..=end).step_by(step).fold(0, |bits, value| bits | 1 << value)
}

fn value(text: &str, bounds: &Bounds) -> Result<u64, NotASchedule> {
    let lower = text.to_lowercase();
    let position = bounds.names.iter().position(|name| *name == lower);
    match position.and_then(|position| u64::try_from(position).ok()) {
        Some(position) => Ok(bounds.min + position),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, NotASchedule> {
    match text.parse::<i64>().map(u64::try_from) {
        Ok(Ok(number)) => Ok(number),
        Ok(Err(_)) => fault(format!("negative number not allowed: {text:?}")),
        Err(_) => fault(format!("{text:?} is not a number")),
    }
}

fn fault<T>(problem: impl Into<String>) -> Result<T, NotASchedule> {
    Err(NotASchedule(problem.into()))
}
