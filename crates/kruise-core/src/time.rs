//! Instants as the wire writes them. The brain never asks what time it is.

use jiff::{SignedDuration, Timestamp};

/// RFC 3339 in UTC with whole seconds, as every time stamp on the wire.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads a wire time stamp; anything else is `None`.
pub fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// `time` plus whole seconds, at the end of time if that overflows (minReadySeconds may be 2^31 - 1).
pub fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// The first moment strictly after `time` that a clock of milliseconds shows.
pub fn just_after(time: Timestamp) -> Timestamp {
    time.checked_add(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_27_times_are_written_in_whole_utc_seconds() {
        let time = read("2026-11-15T20:16:22.75+01:00").unwrap();

        assert_eq!(seconds(time), "2026-11-15T19:16:22Z");
        assert_eq!(read("yesterday"), None);
        assert_eq!(after(Timestamp::MAX, 1), Timestamp::MAX);
    }
}
