//! Which ordinals have a pod (AS-16 … AS-18, AS-24, AS-25).

use std::fmt;

use serde_json::Value;

/// Place of a pod in its StatefulSet; part of its name for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(u32);

/// Ordinals that must have no pod, as disjoint intervals in ascending order: a huge range costs nothing (B16).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reserved(Vec<(u32, u32)>);

/// The ordinals that are wanted, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots(Vec<Ordinal>);

impl Ordinal {
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Out of the name of a pod of this set.
    pub fn of_pod(set: &str, pod: &str) -> Option<Self> {
        Self::split(pod).filter(|(stem, _)| *stem == set).map(|(_, ordinal)| ordinal)
    }

    /// What stands before the ordinal of a name, and the ordinal; only in the spelling that we would give it, so that no two
    /// names share one.
    pub fn split(name: &str) -> Option<(&str, Self)> {
        let (stem, digits) = name.rsplit_once('-')?;
        let number: u32 = digits.parse().ok()?;
        (number.to_string() == digits).then_some((stem, Self(number)))
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl Reserved {
    /// Numbers and ranges `"3-5"`; an entry that cannot be read reserves nothing and spoils no other (B16).
    pub fn read(entries: &[Value]) -> Self {
        let mut all: Vec<(u32, u32)> = entries.iter().filter_map(interval).collect();
        all.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (from, to) in all {
            match merged.last_mut() {
                Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
                _ => merged.push((from, to)),
            }
        }
        Self(merged)
    }

    /// The last ordinal of the reserved interval around this one.
    fn end_around(&self, number: u32) -> Option<u32> {
        let after = self.0.partition_point(|(from, _)| *from <= number);
        let (_, end) = self.0.get(after.checked_sub(1)?)?;
        (number <= *end).then_some(*end)
    }
}

/// One entry of `reserveOrdinals`.
pub fn interval(entry: &Value) -> Option<(u32, u32)> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match entry {
        Value::String(text) => {
            let (from, to) = text.split_once('-')?;
            let (from, to) = (number(from)?, number(to)?);
            (from <= to).then_some((from, to))
        }
        Value::Number(one) => one.as_u64().and_then(|one| u32::try_from(one).ok()).map(|one| (one, one)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Slots {
    /// Upward from the start, around what is reserved, until there are enough.
    pub fn of(start: u32, replicas: u32, reserved: &Reserved) -> Self {
        let wanted = usize::try_from(replicas).unwrap_or(usize::MAX);
        let mut slots = Vec::new();
        let mut next = Some(start);
        while let Some(number) = next
            && slots.len() < wanted
        {
            let reserved_until = reserved.end_around(number);
            if reserved_until.is_none() {
                slots.push(Ordinal(number));
            }
            next = reserved_until.unwrap_or(number).checked_add(1);
        }
        Self(slots)
    }

    pub fn iter(&self) -> impl Iterator<Item = Ordinal> {
        self.0.iter().copied()
    }

    pub fn contains(&self, ordinal: Ordinal) -> bool {
        self.0.binary_search(&ordinal).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn slots(start: u32, replicas: u32, reserved: &Value) -> Vec<u32> {
        Slots::of(start, replicas, &Reserved::read(reserved.as_array().unwrap()))
            .iter()
            .map(|one| one.0)
            .collect()
    }

    #[test]
    fn as_16_as_17_slots_go_upward_from_the_start_around_reserved_ordinals() {
        let rows = [
            (0, 3, json!([]), vec![0, 1, 2]),
            (2, 4, json!([1, 3]), vec![2, 4, 5, 6]),
            (0, 3, json!([0, "2-5"]), vec![1, 6, 7]),
            (0, 2, json!(["1-3", "2-6", 7]), vec![0, 8]),
            (0, 2, json!([9]), vec![0, 1]),
            (5, 0, json!([]), vec![]),
        ];
        for (start, replicas, reserved, expected) in rows {
            assert_eq!(slots(start, replicas, &reserved), expected, "{start} {replicas} {reserved}");
        }
    }

    #[test]
    fn statefulset_b16_a_huge_range_costs_nothing_and_a_bad_entry_spoils_no_other() {
        assert_eq!(slots(0, 1, &json!(["0-2000000000"])), [2_000_000_001]);
        assert_eq!(slots(0, 2, &json!(["0-4294967295"])), Vec::<u32>::new(), "no ordinal is left");
        assert_eq!(slots(0, 2, &json!(["x", "5-3", "3", -1, 1.5, null, 0])), [1, 2]);
    }

    #[test]
    fn as_18_only_the_spelling_that_we_give_is_an_ordinal() {
        assert_eq!(Ordinal::of_pod("web", "web-12"), Some(Ordinal(12)));
        for other in ["web-012", "web-", "web-x", "web--1", "web-1-2", "other-1", "web-99999999999"] {
            assert_eq!(Ordinal::of_pod("web", other), None, "{other}");
        }
    }
}
