//! How long a pod that failed again stays before it is replaced (DS-13). What was deleted is remembered from the deletions that were
//! seen, so a deletion that a limit or a hook put off does not count (B16).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::ids::Uid;
use crate::time;

/// The longest wait, in seconds; what stood still for twice as long is forgotten.
const LONGEST_SECONDS: i64 = 15 * 60;

/// Of all DaemonSets, by uid and node. Lost with the manager, as upstream's.
#[derive(Debug, Default)]
pub struct BackOff(BTreeMap<Uid, BTreeMap<Arc<str>, Entry>>);

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// A new one starts afresh.
    generation: i64,
    failures: u32,
    /// Of the last deletion; set by the plan that follows it.
    since: Option<Timestamp>,
}

impl BackOff {
    /// A failed pod of this DaemonSet was deleted from this node.
    pub fn deleted(&mut self, set: &Uid, generation: i64, node: &Arc<str>) {
        let nodes = self.0.entry(set.clone()).or_default();
        let fresh = Entry { generation, failures: 0, since: None };
        let entry = nodes.entry(Arc::clone(node)).or_insert(fresh);
        if entry.generation != generation {
            *entry = fresh;
        }
        entry.failures = entry.failures.saturating_add(1);
        entry.since = None;
    }

    /// There is no such DaemonSet any more.
    pub fn forget(&mut self, set: &Uid) {
        self.0.remove(set);
    }

    /// Until when the failed pods of each node stay.
    pub fn of(&mut self, set: &Uid, generation: i64, now: Timestamp) -> BTreeMap<Arc<str>, Timestamp> {
        let Some(nodes) = self.0.get_mut(set) else { return BTreeMap::new() };
        for entry in nodes.values_mut() {
            entry.since.get_or_insert(now);
        }
        nodes.retain(|_, entry| {
            let since = entry.since.unwrap_or(now);
            entry.generation == generation && now <= time::after(since, 2 * LONGEST_SECONDS)
        });
        nodes.iter().map(|(node, entry)| (Arc::clone(node), entry.until(now))).collect()
    }
}

impl Entry {
    /// One second, then twice as long each time.
    fn until(self, now: Timestamp) -> Timestamp {
        let doublings = self.failures.saturating_sub(1).min(16);
        let seconds = 1_i64.checked_shl(doublings).unwrap_or(LONGEST_SECONDS).min(LONGEST_SECONDS);
        time::after(self.since.unwrap_or(now), seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::t0;

    /// DS-13: 1 s, doubled each time, at most 15 min; a new generation starts afresh, half an hour of peace as well.
    #[test]
    fn ds_13_waits_double_up_to_a_quarter_of_an_hour() {
        let (set, node): (Uid, Arc<str>) = (Uid::new("u"), "n1".into());
        let mut memory = BackOff::default();
        assert!(memory.of(&set, 1, t0()).is_empty());
        for wanted in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            memory.deleted(&set, 1, &node);
            assert_eq!(memory.of(&set, 1, t0())[&node], time::after(t0(), wanted));
        }
        assert_eq!(
            memory.of(&set, 1, time::after(t0(), 60))[&node],
            time::after(t0(), 900),
            "time does not move it"
        );

        assert!(memory.of(&set, 2, t0()).is_empty(), "another generation");
        memory.deleted(&set, 2, &node);
        assert_eq!(memory.of(&set, 2, t0())[&node], time::after(t0(), 1));
        assert!(memory.of(&set, 2, time::after(t0(), 1801)).is_empty(), "long ago");

        memory.deleted(&set, 2, &node);
        memory.forget(&set);
        assert!(memory.of(&set, 2, t0()).is_empty());
    }
}
