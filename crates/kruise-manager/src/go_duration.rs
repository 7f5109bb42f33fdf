//! Durations of flags, as Go's `time.ParseDuration` reads them. Crates for durations either read another grammar (no sign,
//! no fraction before the last unit, words, days) or are not kept up.

use std::time::Duration;

/// Digits of a fraction that count: further ones are less than a nanosecond even of an hour.
const FRACTION_DIGITS: usize = 15;

/// `1h30m`, `1.5s`, `100us`, `0`. Flags are waits; what Go takes for less than no time is no time here.
pub fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = nanoseconds(text)
        .ok_or_else(|| format!("{text} is not a duration: write it like 5ms, 1.5s, 2m or 1h30m"))?;
    Ok(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0)))
}

/// An optional sign, then `0` or numbers with a unit each. Go keeps 64 bits of nanoseconds and refuses more.
fn nanoseconds(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    // At least one part, so that nothing at all is no duration.
    let mut total = 0;
    loop {
        let (nanoseconds, later) = part(rest)?;
        total += nanoseconds;
        if later.is_empty() {
            break;
        }
        rest = later;
    }
    i64::try_from(sign * total).ok()
}

/// The first number with its unit, in nanoseconds, and what comes after it.
fn part(text: &str) -> Option<(i128, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, rest) = text.split_at(text.find(|c| !is_number(c))?);
    let (unit, later) = rest.split_at(rest.find(is_number).unwrap_or(rest.len()));
    let unit: i128 = match unit {
        "ns" => 1,
        // Two characters look like this: the micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole = i128::from(digits(whole)?);
    let fraction = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some((whole * unit + i128::from(digits(fraction)?) * unit / scale, later))
}

/// No digits are zero.
fn digits(text: &str) -> Option<i64> {
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("5ms", 5_000_000),
            ("1000s", 1_000_000_000_000),
            ("2m", 120_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("1.5h30m", 7_200_000_000_000),
            ("100us", 100_000),
            ("100µs", 100_000),
            ("100μs", 100_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("1s1h", 3_601_000_000_000),
            ("0.100000000000000000000h", 360_000_000_000),
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("-1s", -1_000_000_000),
            ("+1ns", 1),
            ("9223372036854775807ns", i64::MAX),
        ] {
            assert_eq!(nanoseconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "-",
            "+",
            "5",
            "s",
            ".s",
            "5 s",
            " 5s",
            "1d",
            "1s0",
            "1.2.3s",
            "1e3s",
            "--1s",
            "1h-1m",
            "9223372036854775808ns",
            "3000000h",
        ] {
            assert!(duration(text).unwrap_err().contains("not a duration"), "{text}");
        }
        assert_eq!(duration("-1s"), Ok(Duration::ZERO));
    }

    proptest! {
        #[test]
        fn parts_add_up(parts in prop::collection::vec((0_u32..1000, 0_u32..1000, 0_usize..6), 1..6)) {
            const UNITS: [(&str, u64); 6] = [
                ("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
                ("m", 60_000_000_000), ("h", 3_600_000_000_000),
            ];
            let text = parts.iter().fold(String::new(), |text, (whole, thousandths, unit)| {
                format!("{text}{whole}.{thousandths:03}{}", UNITS[*unit].0)
            });
            let sum: u64 = parts
                .iter()
                .map(|(whole, thousandths, unit)| {
                    let unit = UNITS[*unit].1;
                    u64::from(*whole) * unit + u64::from(*thousandths) * unit / 1000
                })
                .sum();
            prop_assert_eq!(duration(&text), Ok(Duration::from_nanos(sum)), "{}", text);
        }

        #[test]
        fn nothing_panics(text in ".{0,12}|[-+.0-9hmsunµ]{0,12}") {
            let _result = duration(&text);
        }
    }
}
