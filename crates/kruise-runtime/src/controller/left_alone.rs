//! The log of pods that plans leave alone. Plans are frequent and pods are many, so a line is written when the reasons of an
//! object change; a line per pod and plan is for those who ask for everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use crate::Key;

/// Pods that are named for each reason.
const NAMED: usize = 3;

/// The reasons that were told last, per object.
#[derive(Debug, Default)]
pub struct LeftAlone(Mutex<HashMap<Key, BTreeSet<&'static str>>>);

impl LeftAlone {
    /// Takes pods with the name of their reason.
    pub fn tell<'a>(&self, key: &Key, pods: impl Iterator<Item = (&'a str, &'static str)>) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let mut reasons: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
        for (pod, reason) in pods {
            tracing::trace!(%key, pod, reason, "left alone");
            reasons.entry(reason).or_default().push(pod);
        }
        if self.is_news(key, &reasons) {
            tracing::debug!(%key, reasons = summary(&reasons), "pods are left alone");
        }
    }

    pub fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Whether other reasons hold than those that were told last. How many pods each has is no news.
    fn is_news(&self, key: &Key, reasons: &BTreeMap<&'static str, Vec<&str>>) -> bool {
        let names: BTreeSet<&'static str> = reasons.keys().copied().collect();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get(key).is_some_and(|before| *before == names) {
            return false;
        }
        if names.is_empty() {
            told.remove(key);
            return false;
        }
        told.insert(key.clone(), names);
        true
    }
}

/// `NotReady=1 (web-a), Partition=40 (web-b, web-c, web-d, ...)`.
fn summary(reasons: &BTreeMap<&'static str, Vec<&str>>) -> String {
    let one = |(reason, pods): (&&str, &Vec<&str>)| {
        let more = if pods.len() > NAMED { ", ..." } else { "" };
        let named: Vec<&str> = pods.iter().copied().take(NAMED).collect();
        format!("{reason}={} ({}{more})", pods.len(), named.join(", "))
    };
    reasons.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons<const N: usize>(
        all: [(&'static str, Vec<&'static str>); N],
    ) -> BTreeMap<&'static str, Vec<&'static str>> {
        BTreeMap::from(all)
    }

    #[test]
    fn line_is_written_when_the_reasons_change_and_not_when_their_numbers_do() {
        let (log, key, other) = (LeftAlone::default(), Key::new("shop", "web"), Key::new("shop", "db"));
        let (one, two) = (reasons([("Partition", vec!["a"])]), reasons([("Partition", vec!["a", "b"])]));

        assert!(log.is_news(&key, &one));
        assert!(!log.is_news(&key, &two));
        assert!(log.is_news(&other, &two), "another object has its own");
        assert!(log.is_news(&key, &reasons([("Partition", vec!["a"]), ("NotReady", vec!["b"])])));
        assert!(!log.is_news(&key, &reasons([])), "nothing to tell");
        assert!(log.is_news(&key, &one), "told again after it was gone");
        log.forget(&key);
        assert!(log.is_news(&key, &one), "forgotten");
    }

    #[test]
    fn few_pods_are_named_and_all_are_counted() {
        let all = reasons([("Partition", vec!["a", "b", "c", "d"]), ("NotReady", vec!["e"])]);
        assert_eq!(summary(&all), "NotReady=1 (e), Partition=4 (a, b, c, ...)");
    }
}
