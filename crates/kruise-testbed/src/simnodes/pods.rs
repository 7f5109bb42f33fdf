//! The pods of all simulated nodes: what was last seen of each, what is being written, when to look again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use kruise_sim::kubelet::{Knobs, Pod, Step, next};

/// Bookkeeping without I/O; the agent carries out what `due` returns.
#[derive(Debug, Default)]
pub struct Pods {
    pods: HashMap<String, Tracked>,
    /// Pods that time alone will change, by when.
    timers: BTreeMap<Timestamp, BTreeSet<String>>,
}

#[derive(Debug)]
struct Tracked {
    pod: Pod,
    /// The version that our last write made; until the watch has shown it, the pod is not looked at again.
    written: u64,
    in_flight: bool,
}

/// Something to send to the API server for one pod.
#[derive(Debug)]
pub struct Job {
    pub uid: String,
    pub namespace: String,
    pub name: String,
    pub step: Step,
}

impl Pods {
    /// A new state from the watch. Returns what to do about it.
    pub fn seen(&mut self, pod: Pod, knobs: &Knobs, now: Timestamp) -> Option<Job> {
        let uid = pod.metadata.uid.clone();
        match self.pods.get_mut(&uid) {
            Some(tracked) if version(&pod) < version(&tracked.pod) => return None, // Delivered twice.
            Some(tracked) => tracked.pod = pod,
            None => {
                self.pods.insert(uid.clone(), Tracked { pod, written: 0, in_flight: false });
            }
        }
        self.look(&uid, knobs, now)
    }

    pub fn gone(&mut self, uid: &str) {
        self.pods.remove(uid);
    }

    /// After a fresh list: forgets pods that are not in it.
    pub fn retain(&mut self, listed: &BTreeSet<String>) {
        self.pods.retain(|uid, _| listed.contains(uid));
    }

    /// A write came back; `written` is the version it made, or nothing if it failed or deleted the pod.
    pub fn wrote(&mut self, uid: &str, written: Option<u64>, knobs: &Knobs, now: Timestamp) -> Option<Job> {
        let tracked = self.pods.get_mut(uid)?;
        tracked.in_flight = false;
        tracked.written = written.unwrap_or(0);
        self.look(uid, knobs, now)
    }

    /// Pods whose time has come.
    pub fn due(&mut self, knobs: &Knobs, now: Timestamp) -> Vec<Job> {
        let mut jobs = Vec::new();
        while let Some((at, _)) = self.timers.first_key_value()
            && *at <= now
            && let Some((_, uids)) = self.timers.pop_first()
        {
            jobs.extend(uids.iter().filter_map(|uid| self.look(uid, knobs, now)));
        }
        jobs
    }

    /// Knobs changed: looks at every pod again.
    pub fn all(&mut self, knobs: &Knobs, now: Timestamp) -> Vec<Job> {
        let uids: Vec<String> = self.pods.keys().cloned().collect();
        uids.iter().filter_map(|uid| self.look(uid, knobs, now)).collect()
    }

    pub fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first_key_value().map(|(at, _)| *at)
    }

    fn look(&mut self, uid: &str, knobs: &Knobs, now: Timestamp) -> Option<Job> {
        let tracked = self.pods.get_mut(uid)?;
        if tracked.in_flight || version(&tracked.pod) < tracked.written {
            return None;
        }
        match next(&tracked.pod, knobs, now) {
            Step::Wait(None) => None,
            Step::Wait(Some(at)) => {
                self.timers.entry(at).or_default().insert(uid.to_owned());
                None
            }
            step @ (Step::Patch(_) | Step::Remove) => {
                tracked.in_flight = true;
                let metadata = &tracked.pod.metadata;
                let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
                Some(Job { uid: uid.to_owned(), namespace, name, step })
            }
        }
    }
}

/// Resource versions of one resource type are ordered; an odd one counts as the oldest.
fn version(pod: &Pod) -> u64 {
    pod.metadata.resource_version.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(version: u64) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": version.to_string()},
            "spec": {"nodeName": "sim-0000", "containers": [{"name": "main", "image": "x"}]},
            "status": {"phase": "Pending"},
        }))
        .unwrap()
    }

    #[test]
    fn pod_is_not_looked_at_again_before_our_own_write_was_seen() {
        let (mut pods, knobs, now) = (Pods::default(), Knobs::default(), Timestamp::UNIX_EPOCH);

        assert!(pods.seen(pod(5), &knobs, now).is_some());
        assert!(pods.seen(pod(6), &knobs, now).is_none(), "a write is in flight");
        assert!(pods.wrote("u", Some(8), &knobs, now).is_none(), "version 8 was not seen yet");
        assert!(pods.seen(pod(7), &knobs, now).is_none());
        assert!(pods.seen(pod(8), &knobs, now).is_some());
    }

    #[test]
    fn failed_write_is_decided_anew() {
        let (mut pods, knobs, now) = (Pods::default(), Knobs::default(), Timestamp::UNIX_EPOCH);
        pods.seen(pod(5), &knobs, now);

        assert!(pods.wrote("u", None, &knobs, now).is_some());
    }
}
