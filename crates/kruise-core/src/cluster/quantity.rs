//! Kubernetes quantities: parsing, canonical text and comparison by value (SM-2, SM-21, SM-38).

use std::fmt;

/// Nano-units in one unit; nothing smaller can be written, smaller values are rounded up.
const NANO: i128 = 1_000_000_000;
const MILLI: i128 = NANO / 1000;
/// The largest quantity: 2^63 - 1 units.
const MAX: i128 = (i64::MAX as i128) * NANO;

/// An amount of a resource. Equal and ordered by value, whatever its spelling.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

/// By value and spelling: two spellings are equal, but only one of them may stand in for the other.
impl std::hash::Hash for Quantity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.nano, self.format).hash(state);
    }
}

/// The family of suffixes the text was written with; printing keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Format {
    BinarySi,
    DecimalSi,
    DecimalExponent,
}

/// As text, or as the plain number that the API server also accepts.
impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self::read(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity: write a number with an optional suffix such as 500m, 2, 1Gi, 1e3")]
pub struct NotAQuantity(String);

impl Quantity {
    /// Reads `500m`, `0.5`, `1Gi`, `1e3`, `+2`.
    pub fn read(text: &str) -> Result<Self, NotAQuantity> {
        Self::parse(text.trim()).ok_or_else(|| NotAQuantity(text.to_owned()))
    }

    /// Rounded up to whole thousandths (SM-90).
    #[must_use]
    pub fn rounded_up_to_milli(self) -> Self {
        Self { nano: divide_away_from_zero(self.nano, MILLI) * MILLI, ..self }
    }

    pub fn is_zero(self) -> bool {
        self.nano == 0
    }

    pub fn is_positive(self) -> bool {
        0 < self.nano
    }

    /// The sum, in the spelling of the first.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { nano: self.nano.saturating_add(other.nano).min(MAX), ..self }
    }

    /// Whole thousandths, towards zero.
    pub fn milli(self) -> i128 {
        self.nano / MILLI
    }

    /// Another amount in the same spelling; absent if it is more than a quantity can be.
    pub fn with_milli(self, milli: i128) -> Option<Self> {
        let nano = milli.checked_mul(MILLI).filter(|nano| (-MAX..=MAX).contains(nano))?;
        Some(Self { nano, ..self })
    }

    /// Whole units, towards zero.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { nano: self.nano / NANO * NANO, ..self }
    }

    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let digits_end = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(digits_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let (format, scale) = Scale::read(suffix)?;
        let nano = scale.nano(&format!("{whole}{fraction}"), fraction.len()).min(MAX);
        // Less than one byte is printed in decimal: rounding it up to a whole byte would mislead.
        let format = if format == Format::BinarySi && nano < NANO { Format::DecimalSi } else { format };
        Some(Self { nano: if negative { -nano } else { nano }, format })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nano.cmp(&other.nano)
    }
}

/// Canonical text: no fraction, the largest suffix that leaves none.
impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return out.write_str("0");
        }
        let small = -1024 * NANO < self.nano && self.nano < 1024 * NANO;
        match self.format {
            Format::BinarySi if !small => {
                let bytes = divide_away_from_zero(self.nano, NANO);
                let (value, steps) = strip_factor(bytes, 1024, 6);
                write!(out, "{value}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(steps).unwrap_or(&""))
            }
            Format::BinarySi | Format::DecimalSi => {
                let (value, steps) = strip_factor(self.nano, 1000, 9);
                let suffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
                write!(out, "{value}{}", suffixes.get(steps).unwrap_or(&""))
            }
            Format::DecimalExponent => {
                let (value, steps) = strip_factor(self.nano, 1000, usize::MAX);
                match i64::try_from(steps).unwrap_or(i64::MAX).saturating_mul(3).saturating_sub(9) {
                    0 => write!(out, "{value}"),
                    exponent => write!(out, "{value}e{exponent}"),
                }
            }
        }
    }
}

/// What one unit of the written number is worth.
#[derive(Debug, Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(u32),
}

impl Scale {
    fn read(suffix: &str) -> Option<(Format, Self)> {
        let decimal = |power| Some((Format::DecimalSi, Self::Ten(power)));
        let binary = |power| Some((Format::BinarySi, Self::Two(power)));
        match suffix {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            other => {
                let power = other.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
                Some((Format::DecimalExponent, Self::Ten(power)))
            }
        }
    }

    /// Nano-units of a number given as digits, of which the last `fraction` stand behind the point; rounded up, capped.
    fn nano(self, digits: &str, fraction: usize) -> i128 {
        let Ok(mantissa) = digits.trim_start_matches('0').parse::<i128>() else {
            return if digits.bytes().all(|digit| digit == b'0') { 0 } else { MAX };
        };
        let fraction = i32::try_from(fraction).unwrap_or(i32::MAX);
        let (factor, ten) = match self {
            Self::Ten(power) => (1, power.saturating_add(9).saturating_sub(fraction)),
            Self::Two(power) => (1_i128 << power, 9_i32.saturating_sub(fraction)),
        };
        let Some(value) = mantissa.checked_mul(factor) else {
            return MAX;
        };
        match power_of_ten(ten.unsigned_abs()) {
            Some(scale) if ten < 0 => divide_away_from_zero(value, scale),
            Some(scale) => value.checked_mul(scale).unwrap_or(MAX),
            None if ten < 0 => 1,
            None => MAX,
        }
    }
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

fn divide_away_from_zero(value: i128, by: i128) -> i128 {
    let quotient = value / by;
    if value % by == 0 { quotient } else { quotient + value.signum() }
}

/// Divides by `factor` as often as it goes without remainder, at most `times`.
fn strip_factor(value: i128, factor: i128, times: usize) -> (i128, usize) {
    let (mut value, mut steps) = (value, 0);
    while steps < times && value % factor == 0 {
        value /= factor;
        steps += 1;
    }
    (value, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_2_quantities_become_canonical() {
        for (text, canonical) in [
            ("1024Mi", "1Gi"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1.5Gi", "1536Mi"),
            ("0.5Mi", "512Ki"),
            ("1Ki", "1Ki"),
            ("1000Ki", "1000Ki"),
            ("512Ki", "512Ki"),
            ("1.1Ki", "1127"),
            ("0.1Ki", "102400m"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("1E", "1E"),
            ("12e-3", "12e-3"),
            ("0", "0"),
            ("0Gi", "0"),
            ("1500k", "1500k"),
            ("1234567890", "1234567890"),
            ("1.50", "1500m"),
            ("0.0000000001", "1n"),
            ("99999999999999999999", "9223372036854775807"),
            ("-1024Mi", "-1Gi"),
            ("+2", "2"),
            ("100", "100"),
            ("1000", "1k"),
        ] {
            assert_eq!(Quantity::read(text).unwrap().to_string(), canonical, "{text}");
        }
        for wrong in ["", "1e3k", "Mi", "1.2.3", "1 Gi", "a", "--1", "."] {
            assert!(Quantity::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sm_38_quantities_compare_by_value() {
        assert_eq!(Quantity::read("1").unwrap(), Quantity::read("1000m").unwrap());
        assert!(Quantity::read("1Gi").unwrap() > Quantity::read("1G").unwrap());
    }

    #[test]
    fn sm_90_quantities_are_rounded_up_to_milli() {
        assert_eq!(Quantity::read("1u").unwrap().rounded_up_to_milli().to_string(), "1m");
        assert_eq!(Quantity::read("2m").unwrap().rounded_up_to_milli().to_string(), "2m");
    }
}
