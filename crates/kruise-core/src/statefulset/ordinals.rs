//! Which ordinals have a pod (AS-16 … AS-18, AS-24, AS-25).

use std::fmt;

use kruise_api::parts::IntOrString;

/// Place of a pod in its StatefulSet; part of its name for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(u32);

/// Ordinals that must have no pod, as disjoint intervals in ascending order: a huge range costs nothing (B16).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reserved(Vec<(u32, u32)>);

/// The ordinals that are wanted, as disjoint intervals in ascending order: a million replicas cost nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots(Vec<(u32, u32)>);

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
    pub fn of(entries: &[IntOrString]) -> Self {
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

    /// Where the next reserved interval after this ordinal begins.
    fn begin_after(&self, number: u32) -> Option<u32> {
        let after = self.0.partition_point(|(from, _)| *from <= number);
        self.0.get(after).map(|(from, _)| *from)
    }

    /// The last ordinal of the reserved interval around this one.
    fn end_around(&self, number: u32) -> Option<u32> {
        let after = self.0.partition_point(|(from, _)| *from <= number);
        let (_, end) = self.0.get(after.checked_sub(1)?)?;
        (number <= *end).then_some(*end)
    }
}

/// One entry of `reserveOrdinals`.
pub fn interval(entry: &IntOrString) -> Option<(u32, u32)> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match entry {
        IntOrString::Text(text) => {
            let (from, to) = text.split_once('-')?;
            let (from, to) = (number(from)?, number(to)?);
            (from <= to).then_some((from, to))
        }
        IntOrString::Int(one) => u32::try_from(*one).ok().map(|one| (one, one)),
    }
}

impl Slots {
    /// Upward from the start, around what is reserved, until there are enough.
    pub fn of(start: u32, replicas: u32, reserved: &Reserved) -> Self {
        let (mut slots, mut missing) = (Vec::new(), replicas);
        let mut next = Some(start);
        while let Some(number) = next
            && missing > 0
        {
            let last = reserved.end_around(number).unwrap_or_else(|| {
                let free_until = reserved.begin_after(number).map_or(u32::MAX, |from| from - 1);
                let last = free_until.min(number.saturating_add(missing - 1));
                missing -= last - number + 1;
                slots.push((number, last));
                last
            });
            next = last.checked_add(1);
        }
        Self(slots)
    }

    /// One by one; whoever walks over them stops by itself.
    pub fn iter(&self) -> impl Iterator<Item = Ordinal> {
        self.0.iter().flat_map(|(from, to)| *from..=*to).map(Ordinal)
    }

    pub fn len(&self) -> usize {
        let sizes =
            self.0.iter().map(|(from, to)| usize::try_from(to - from).map_or(usize::MAX, |more| more + 1));
        sizes.fold(0, usize::saturating_add)
    }

    /// How many come before this one.
    pub fn place(&self, ordinal: Ordinal) -> usize {
        let before = self.0.iter().take_while(|(from, _)| *from < ordinal.0);
        let sizes = before.map(|(from, to)| ordinal.0.min(to.saturating_add(1)) - from);
        sizes.fold(0, |sum, size| sum.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, ordinal: Ordinal) -> bool {
        let after = self.0.partition_point(|(from, _)| *from <= ordinal.0);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, to)| ordinal.0 <= *to)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn slots(start: u32, replicas: u32, reserved: &Value) -> Vec<u32> {
        Slots::of(
            start,
            replicas,
            &Reserved::of(&kruise_api::read_part::<Vec<IntOrString>>(reserved.clone()).unwrap()),
        )
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
        assert_eq!(slots(0, 2, &json!(["x", "5-3", "3", -1, 0])), [1, 2]);
    }

    /// B16: as many replicas as a number can say cost no more than one.
    #[test]
    fn statefulset_b16_any_number_of_replicas_costs_nothing() {
        let reserved = Reserved(vec![(1, 3), (10, 10)]);
        let slots = Slots::of(0, u32::MAX, &reserved);
        assert_eq!(slots.0, [(0, 0), (4, 9), (11, u32::MAX)]);
        assert_eq!(slots.len(), usize::try_from(u32::MAX).unwrap() - 3);
        for (number, is_wanted) in [(0, true), (1, false), (4, true), (10, false), (u32::MAX, true)] {
            assert_eq!(slots.contains(Ordinal(number)), is_wanted, "{number}");
        }
        for (number, place) in [(0, 0), (4, 1), (9, 6), (11, 7), (12, 8)] {
            assert_eq!(slots.place(Ordinal(number)), place, "{number}");
        }
        assert!(Slots::of(0, 0, &reserved).is_empty());
    }

    #[test]
    fn as_18_only_the_spelling_that_we_give_is_an_ordinal() {
        assert_eq!(Ordinal::of_pod("web", "web-12"), Some(Ordinal(12)));
        for other in ["web-012", "web-", "web-x", "web--1", "web-1-2", "other-1", "web-99999999999"] {
            assert_eq!(Ordinal::of_pod("web", other), None, "{other}");
        }
    }
}
