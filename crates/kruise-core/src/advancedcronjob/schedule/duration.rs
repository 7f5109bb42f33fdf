//! Go's `time.ParseDuration`, as far as `@every` needs it: the result is cut to whole seconds.

use jiff::SignedDuration;

/// A sequence of decimal numbers with units, such as `1h30m` or `1.5h`; `None` if it is none.
pub fn read(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (nanoseconds, after) = part(rest)?;
        total = total.checked_add(nanoseconds)?;
        rest = after;
    }
    let signed = if negative { -total } else { total };
    // Go counts nanoseconds in 64 bits; what does not fit is no duration.
    i64::try_from(signed).ok().map(SignedDuration::from_nanos)
}

/// One number with its unit, in nanoseconds, and what follows.
fn part(text: &str) -> Option<(i128, &str)> {
    let digits = |rest: &str| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (whole, rest) = text.split_at_checked(digits(text))?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(digits(rest))?,
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end)?;
    let unit: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let number = |part: &str| if part.is_empty() { Some(0) } else { part.parse::<i128>().ok() };
    // More digits than a nanosecond of an hour has do not count.
    let fraction = fraction.get(..fraction.len().min(18)).unwrap_or(fraction);
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let parts =
        number(whole)?.checked_mul(unit)?.checked_add(number(fraction)?.checked_mul(unit)? / scale)?;
    Some((parts, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acj_11_durations_are_those_of_go() {
        for (text, seconds) in [
            ("1h30m", Some(5400)),
            ("90s", Some(90)),
            ("1.5h", Some(5400)),
            (".5m", Some(30)),
            ("1m500ms", Some(60)),
            ("0", Some(0)),
            ("-3s", Some(-3)),
            ("+3s", Some(3)),
            ("", None),
            ("3", None),
            ("3d", None),
            ("s", None),
            (".s", None),
            ("1 h", None),
            ("99999999999h", None),
        ] {
            assert_eq!(read(text).map(|duration| duration.as_secs()), seconds, "{text}");
        }
    }
}
