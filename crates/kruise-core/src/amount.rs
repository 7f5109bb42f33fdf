//! Amounts of pods as users write them: `3`, `"20%"`, `"12.5%"`. Specification: SM-70, CS-30, CS-31.

use kruise_api::parts::IntOrString;
use serde_json::Value;

/// Parts of a percent that are told apart: six decimals.
const MICRO: u64 = 1_000_000;

/// What the user wrote. Becomes a number of pods only through `of` or `partition`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Pods(u32),
    Percent(Percent),
}

/// A percentage in millionths of a percent, so that `33.3%` is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    Up,
    Down,
}

/// What a string without a percent sign means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    /// A percentage, as the original's controller reads it (CS-30).
    Percent,
    Refused,
}

/// Neither a count nor a percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is neither a number of pods >= 0 nor a percentage such as \"20%\"")]
pub struct NotAnAmount(String);

impl Amount {
    /// One parser for admission and controller, so that nothing is accepted that is later read as 0 (B3).
    pub fn of_wire(value: &IntOrString, bare: Bare) -> Result<Self, NotAnAmount> {
        let read = match value {
            IntOrString::Int(number) => u32::try_from(*number).ok().map(Self::Pods),
            IntOrString::Text(text) => match (text.strip_suffix('%'), bare) {
                (Some(number), _) => Percent::read(number).map(Self::Percent),
                (None, Bare::Percent) => Percent::read(text).map(Self::Percent),
                (None, Bare::Refused) => None,
            },
        };
        read.ok_or_else(|| match value {
            IntOrString::Int(number) => NotAnAmount(number.to_string()),
            IntOrString::Text(text) => NotAnAmount(format!("{text:?}")),
        })
    }

    /// Out of an object that has not been read yet, as admission sees it.
    pub fn read(value: &Value, bare: Bare) -> Result<Self, NotAnAmount> {
        let wire = kruise_api::read_part::<IntOrString>(value.clone());
        wire.map_err(|_| NotAnAmount(value.to_string())).and_then(|wire| Self::of_wire(&wire, bare))
    }

    /// Whole percent, for defaults.
    pub fn percent(whole: u32) -> Self {
        Self::Percent(Percent(u64::from(whole).saturating_mul(MICRO)))
    }

    pub fn of(self, replicas: u32, rounding: Rounding) -> u32 {
        match self {
            Self::Pods(pods) => pods,
            Self::Percent(percent) => percent.of(replicas, rounding),
        }
    }

    /// Pods to keep at the old revision: rounded up, but a percentage other than 100 % leaves at least one pod to update,
    /// and never more than there are (SM-70).
    pub fn partition(self, replicas: u32) -> u32 {
        let pods = match self {
            Self::Pods(pods) => pods,
            Self::Percent(percent) => {
                let pods = percent.of(replicas, Rounding::Up);
                let rounds_to_all = replicas > 1 && pods == replicas && percent != Percent(100 * MICRO);
                if rounds_to_all { replicas.saturating_sub(1) } else { pods }
            }
        };
        pods.min(replicas)
    }
}

impl Percent {
    /// Decimal digits with an optional fraction of at most six digits; more would not change any count of pods.
    fn read(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 6 {
            return None;
        }
        let micro: u64 = format!("{fraction:0<6}").parse().ok()?;
        Some(Self(whole.parse::<u64>().ok()?.checked_mul(MICRO)?.checked_add(micro)?))
    }

    fn of(self, replicas: u32, rounding: Rounding) -> u32 {
        let product = u128::from(self.0) * u128::from(replicas);
        let hundred = u128::from(100 * MICRO);
        let pods = match rounding {
            Rounding::Up => product.div_ceil(hundred),
            Rounding::Down => product / hundred,
        };
        u32::try_from(pods).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Amount {
        Amount::read(value, Bare::Refused).unwrap()
    }

    #[test]
    fn sm_70_partition_table() {
        let rows: [(Value, [u32; 11]); 8] = [
            (json!(0), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            (json!(1), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
            (json!("0%"), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            (json!("1%"), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
            (json!("33.3%"), [0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]),
            (json!("99%"), [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            (json!("100%"), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
            (json!(20), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ];
        for (written, expected) in rows {
            for (replicas, wanted) in (0..).zip(expected) {
                assert_eq!(read(&written).partition(replicas), wanted, "{written} of {replicas}");
            }
        }
    }

    #[test]
    fn cloneset_b3_fractional_percentages_are_read_everywhere() {
        assert_eq!(read(&json!("12.5%")).of(8, Rounding::Up), 1);
        assert_eq!(read(&json!("12.5%")).of(9, Rounding::Up), 2);
        assert_eq!(read(&json!("12.5%")).of(9, Rounding::Down), 1);
    }

    #[test]
    fn cs_30_a_string_without_percent_sign_is_a_percentage_only_where_the_controller_reads() {
        assert_eq!(Amount::read(&json!("50"), Bare::Percent).unwrap().of(4, Rounding::Up), 2);
        assert!(Amount::read(&json!("50"), Bare::Refused).is_err());
        for wrong in
            [json!("x%"), json!("%"), json!("-1%"), json!(-1), json!(1.5), json!(null), json!("1.1234567%")]
        {
            assert!(Amount::read(&wrong, Bare::Percent).is_err(), "{wrong}");
        }
    }
}
