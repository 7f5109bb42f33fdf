//! ACJ-11 … ACJ-18: the grammar, and times against a search minute by minute.

use jiff::{SignedDuration, ToSpan};
use proptest::prelude::*;

use super::*;
use crate::advancedcronjob::schedule::{Fields, Schedule, zone};
use crate::fixtures::workload::cases;

fn read(text: &str) -> Schedule {
    Schedule::read(text, None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn next(text: &str, time: &str) -> Option<String> {
    let found = read(text).next(at(time), at(time), &TimeZone::UTC);
    found.map(crate::time::seconds)
}

#[test]
fn acj_11_acj_12_what_the_grammar_takes_and_refuses() {
    for good in [
        "* * * * *",
        "*/5 * * * *",
        "0 0 1 jan *",
        "0 0 ? * MON-FRI",
        "5/15 0-23/2 1,15 * sun",
        "TZ=Asia/Shanghai 0 10 * * ?",
        "CRON_TZ=UTC   0 0 * * *",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "@every 90s",
        "TZ=UTC @daily",
        "1,,2 * * * *",
        "*-5 * * * *",
        "+5 * * * *",
        "0 0 31 2 *",
        "  0   0 * *   * ",
    ] {
        read(good);
    }
    for bad in [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-1 * * * *",
        "*/0 * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "L * * * *",
        "* * * * 1#2",
        "a * * * *",
        "@Daily",
        "@daily ",
        "@every",
        "@every 5",
        "TZ=UTC",
        "TZ=Nowhere/City * * * * *",
        "TZ=utc_x * * * * *",
        "-1 * * * *",
        "1.5 * * * *",
        "* * * january *",
        "1/-0 * * * *",
    ] {
        assert!(Schedule::read(bad, None).is_err(), "{bad:?}");
    }
    assert!(Schedule::read("* * * * *", Some("Nowhere/City")).is_err());
}

#[test]
fn acj_12_acj_14_next_times() {
    for (text, time, expected) in [
        ("* * * * *", "2026-06-01T12:00:00Z", Some("2026-06-01T12:01:00Z")),
        ("* * * * *", "2026-06-01T12:00:59.5Z", Some("2026-06-01T12:01:00Z")),
        ("*/15 * * * *", "2026-06-01T12:45:00Z", Some("2026-06-01T13:00:00Z")),
        ("5/20 * * * *", "2026-06-01T12:45:00Z", Some("2026-06-01T13:05:00Z")),
        ("0 0 29 2 *", "2026-06-01T12:00:00Z", Some("2028-02-29T00:00:00Z")),
        ("0 0 31 2 *", "2026-06-01T12:00:00Z", None),
        (", * * * *", "2026-06-01T12:00:00Z", None),
        ("@weekly", "2026-06-01T12:00:00Z", Some("2026-06-07T00:00:00Z")),
        ("@yearly", "2026-06-01T12:00:00Z", Some("2027-01-01T00:00:00Z")),
        ("@every 90s", "2026-06-01T12:00:00Z", Some("2026-06-01T12:01:30Z")),
        ("@every 100ms", "2026-06-01T12:00:00Z", Some("2026-06-01T12:00:01Z")),
        ("TZ=Asia/Shanghai 0 10 * * ?", "2026-06-01T02:00:00Z", Some("2026-06-02T02:00:00Z")),
    ] {
        assert_eq!(next(text, time).as_deref(), expected, "{text} after {time}");
    }
}

#[test]
fn acj_13_days_of_month_and_week_are_either_unless_one_is_a_bare_star() {
    // The first of June 2026 is a Monday.
    let june = |text: &str| next(text, "2026-06-01T12:00:00Z").unwrap();
    assert_eq!(june("0 0 3 * sun"), "2026-06-03T00:00:00Z", "either");
    assert_eq!(june("0 0 * * sun"), "2026-06-07T00:00:00Z", "both");
    assert_eq!(june("0 0 3 * *"), "2026-06-03T00:00:00Z");
    assert_eq!(june("0 0 */2 * sun"), "2026-06-03T00:00:00Z", "*/2 is no bare star");
    assert_eq!(june("0 0 */1 * sun"), "2026-06-07T00:00:00Z", "*/1 is one");
}

/// advancedcronjob/B17: gaps are skipped and folds run twice.
#[test]
fn acj_14_a_skipped_hour_runs_not_at_all_and_a_repeated_one_twice() {
    let berlin = "TZ=Europe/Berlin 30 2 * * *";
    assert_eq!(
        next(berlin, "2026-03-28T12:00:00Z").unwrap(),
        "2026-03-30T00:30:00Z",
        "there is no 02:30 on the 29th"
    );
    assert_eq!(next(berlin, "2026-10-24T12:00:00Z").unwrap(), "2026-10-25T00:30:00Z");
    assert_eq!(
        next(berlin, "2026-10-25T00:30:00Z").unwrap(),
        "2026-10-25T01:30:00Z",
        "once more in winter time"
    );
    assert_eq!(next(berlin, "2026-10-25T01:30:00Z").unwrap(), "2026-10-26T01:30:00Z");
    let york = "TZ=America/New_York 30 1 * * *";
    assert_eq!(next(york, "2026-11-01T05:30:00Z").unwrap(), "2026-11-01T06:30:00Z");
    // Midnight did not exist in São Paulo on 2018-11-04; the library goes on an hour early and finds 01:00.
    let found = next("TZ=America/Sao_Paulo 0 1 4 11 *", "2018-11-01T00:00:00Z").unwrap();
    assert_eq!(found, "2018-11-04T03:00:00Z");
    // Half an hour of daylight saving: the library walks on at half past and leaves out this day.
    let howe = next("TZ=Australia/Lord_Howe 0 12 * * *", "2026-10-03T12:00:00Z").unwrap();
    assert_eq!(howe, "2026-10-05T01:00:00Z");
}

#[test]
fn acj_15_a_zone_of_the_schedule_the_object_or_the_manager() {
    let local = zone("Asia/Kolkata").unwrap();
    let noon = |schedule: Schedule| {
        crate::time::seconds(
            schedule.next(at("2026-06-01T00:00:00Z"), at("2026-06-01T00:00:00Z"), &local).unwrap(),
        )
    };
    assert_eq!(noon(read("0 12 * * *")), "2026-06-01T06:30:00Z");
    assert_eq!(noon(Schedule::read("0 12 * * *", Some("UTC")).unwrap()), "2026-06-01T12:00:00Z");
    assert_eq!(noon(read("CRON_TZ=Europe/Berlin 0 12 * * *")), "2026-06-01T10:00:00Z");
    assert!(zone("europe/berlin").is_none() && zone("Local").is_none(), "spelled exactly");
}

/// B2, B3, ACJ-17: the latest one, however many there were.
#[test]
fn acj_17_advancedcronjob_b2_the_latest_missed_time_is_found_at_once() {
    let missed = |text: &str, from: &str, now: &str| {
        let found = read(text).missed((at(from), at(now)), at(from), &TimeZone::UTC);
        found.map(|found| (crate::time::seconds(found.latest), found.is_many))
    };
    let told = |time: &str, is_many: bool| Some((time.to_owned(), is_many));
    assert_eq!(missed("* * * * *", "2026-06-01T12:00:00Z", "2026-06-01T12:00:59Z"), None);
    assert_eq!(
        missed("* * * * *", "2026-06-01T12:00:00Z", "2026-06-01T12:01:00Z"),
        told("2026-06-01T12:01:00Z", false)
    );
    assert_eq!(
        missed("* * * * *", "2026-06-01T12:00:00Z", "2026-06-01T13:40:10Z"),
        told("2026-06-01T13:40:00Z", false),
        "exactly 100"
    );
    assert_eq!(
        missed("* * * * *", "2016-06-01T12:00:00Z", "2026-06-01T12:00:10Z"),
        told("2026-06-01T12:00:00Z", true)
    );
    assert_eq!(
        missed("0 0 1 1 *", "2016-06-01T12:00:00Z", "2026-06-01T12:00:10Z"),
        told("2026-01-01T00:00:00Z", false)
    );
    assert_eq!(
        missed("@every 90s", "2026-06-01T12:00:00Z", "2026-06-01T12:04:00Z"),
        told("2026-06-01T12:03:00Z", false)
    );
    assert_eq!(missed("0 0 31 2 *", "2016-06-01T12:00:00Z", "2026-06-01T12:00:10Z"), None);
}

/// Zones whose clocks change by whole hours, and not at midnight: there the library and a search minute by minute agree.
const ZONES: [&str; 7] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Shanghai",
    "Asia/Kolkata",
    "Australia/Sydney",
    "America/St_Johns",
];

fn part(min: u32, max: u32) -> impl Strategy<Value = String> {
    let one = (min..=max).prop_map(|value| value.to_string());
    let range = (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
    let stepped = (min..=max, 1..=max).prop_map(|(from, step)| format!("{from}/{step}"));
    let every = (1..=max).prop_map(|step| format!("*/{step}"));
    prop_oneof![4 => Just("*".to_owned()), 3 => one, 2 => range, 1 => stepped, 1 => every]
}

fn list(min: u32, max: u32) -> impl Strategy<Value = String> {
    prop::collection::vec(part(min, max), 1..3).prop_map(|parts| parts.join(","))
}

fn expressions() -> impl Strategy<Value = String> {
    (list(0, 59), list(0, 23), list(1, 31), list(1, 12), list(0, 6))
        .prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"))
}

/// Looks at every minute; whole days that cannot match are passed.
fn brute(fields: &Fields, zone: &TimeZone, time: Timestamp, days: i64) -> Option<Timestamp> {
    let has = |bits: u64, value: i8| bits & (1 << value) > 0;
    let mut at = Timestamp::from_second(time.as_second().div_euclid(60) * 60 + 60).unwrap();
    let end = time.checked_add(SignedDuration::from_hours(24 * days)).unwrap();
    while at <= end {
        let shown = zone.to_datetime(at);
        let is_day = has(fields.month, shown.month())
            && fields.matches_day(shown.day(), shown.weekday().to_sunday_zero_offset());
        if is_day && has(fields.hour, shown.hour()) && has(fields.minute, shown.minute()) {
            return Some(at);
        }
        let step = if is_day { 1.minute() } else { (60 - i64::from(shown.minute())).minutes() };
        at = at.checked_add(step).unwrap();
    }
    None
}

proptest! {
    #![proptest_config(cases(150))]

    /// Drawn expressions and zones, from drawn instants of ten years.
    #[test]
    fn acj_14_next_times_equal_a_search_minute_by_minute(
        text in expressions(),
        name in prop::sample::select(ZONES.to_vec()),
        start in 0..10 * 366 * 86_400_i64,
    ) {
        let zone = zone(name).unwrap();
        let Schedule::Fields(fields, _) = read(&text) else { panic!() };
        let mut time = Timestamp::from_second(at("2020-01-01T00:00:00Z").as_second() + start).unwrap();
        for _ in 0..4 {
            let schedule = Schedule::Fields(fields.clone(), Some(zone.clone()));
            let found = schedule.next(time, time, &TimeZone::UTC);
            let wanted = brute(&fields, &zone, time, 400);
            match (found, wanted) {
                (Some(found), Some(wanted)) => prop_assert_eq!(found, wanted, "{} in {} after {}", text, name, time),
                // Farther away than was searched.
                (Some(found), None) => prop_assert!(found > time.checked_add(SignedDuration::from_hours(24 * 400)).unwrap(), "{} {}", text, found),
                (None, wanted) => prop_assert_eq!(wanted, None, "{}", text),
            }
            let Some(found) = found else { break };
            time = found;
        }
    }

    /// The latest missed time is what walking through all of them finds.
    #[test]
    fn acj_17_the_latest_missed_time_is_the_last_one_of_a_walk(text in expressions(), minutes in 0..20_000_i64) {
        let schedule = read(&text);
        let earliest = at("2026-01-15T00:00:10Z");
        let now = earliest.checked_add(SignedDuration::from_mins(minutes)).unwrap();
        let missed = schedule.missed((earliest, now), earliest, &TimeZone::UTC);
        let mut latest = None;
        let mut time = earliest;
        while let Some(found) = schedule.next(time, earliest, &TimeZone::UTC).filter(|found| *found <= now) {
            latest = Some(found);
            time = found;
        }
        prop_assert_eq!(missed.map(|missed| missed.latest), latest);
    }

    /// No text makes the parser panic.
    #[test]
    fn acj_11_no_text_is_too_odd(text in "[-*/?,0-9a-zA-Z=@ .]{0,30}") {
        let _either = Schedule::read(&text, None);
    }
}
