//! Which probes run, when a result counts, and what is reported. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kruise_api::apps::nodepodprobe::state;
use kruise_api::apps::nodepodprobe::v1alpha1::{
    ContainerProbeState, NodePodProbeSpec, NodePodProbeStatus, PodProbeStatus,
};
use kruise_api::parts::Probe;

/// Longer messages are cut (PB-8).
const MESSAGE_MAX: usize = 1_024;
/// A result that stays the same is reported again after this long (PB-10).
const REPORT_AGAIN: SignedDuration = SignedDuration::from_secs(600);

/// Which probe: the pod's uid, the container and the probe's name `marker#probe`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeKey {
    pub uid: String,
    pub container: String,
    pub name: String,
}

/// One probe as it is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub namespace: String,
    pub pod: String,
    pub ip: String,
    pub probe: Probe,
}

/// What a probe says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Succeeded,
    Failed,
    Unknown,
}

impl State {
    pub fn text(self) -> &'static str {
        match self {
            Self::Succeeded => state::SUCCEEDED,
            Self::Failed => state::FAILED,
            Self::Unknown => state::UNKNOWN,
        }
    }
}

/// A result that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub state: State,
    pub message: String,
    pub at: Timestamp,
}

/// PB-1: every probe of the spec.
pub fn wanted(spec: &NodePodProbeSpec) -> BTreeMap<ProbeKey, Wanted> {
    let mut all = BTreeMap::new();
    for pod in spec.pod_probes.iter().flatten() {
        for probe in pod.probes.iter().flatten() {
            let key = ProbeKey {
                uid: pod.uid.clone(),
                container: probe.container_name.clone(),
                name: probe.name.clone(),
            };
            let (namespace, name) = (pod.namespace.clone(), pod.name.clone());
            let wanted = Wanted { namespace, pod: name, ip: pod.ip.clone(), probe: probe.probe.clone() };
            all.insert(key, wanted);
        }
    }
    all
}

/// PB-1: another check than before, so what is known says nothing.
pub fn is_another_check(before: &Probe, after: &Probe) -> bool {
    (&before.exec, &before.http_get, &before.tcp_socket) != (&after.exec, &after.http_get, &after.tcp_socket)
}

fn at_least(value: Option<i32>, least: u64) -> u64 {
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0).max(least)
}

/// PB-3.
pub fn period(probe: &Probe) -> Duration {
    Duration::from_secs(at_least(probe.period_seconds, 1))
}

/// PB-3.
pub fn timeout(probe: &Probe) -> Duration {
    Duration::from_secs(at_least(probe.timeout_seconds, 1))
}

/// PB-3: not probed before its container has run for so long.
pub fn is_too_early(probe: &Probe, started_at: Timestamp, now: Timestamp) -> bool {
    let delay = i64::try_from(at_least(probe.initial_delay_seconds, 1)).unwrap_or(i64::MAX);
    now.duration_since(started_at) < SignedDuration::from_secs(delay)
}

/// Equal results in a row, and what they have led to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Streak {
    container_id: String,
    state: Option<State>,
    count: u64,
    pub published: Option<Outcome>,
}

impl Streak {
    /// PB-4: a new container starts anew and is unknown. True if that has to be reported.
    pub fn is_about(&mut self, container_id: &str, now: Timestamp) -> bool {
        if self.container_id == container_id {
            return false;
        }
        let is_first = self.container_id.is_empty();
        *self = Self { container_id: container_id.to_owned(), ..Self::default() };
        // A probe that has just begun says nothing before its first result, so a restart of the agent changes nothing.
        !is_first && self.publish(State::Unknown, "", now)
    }

    /// PB-1: the check was edited.
    pub fn restart(&mut self, now: Timestamp) -> bool {
        *self = Self { container_id: std::mem::take(&mut self.container_id), ..Self::default() };
        self.publish(State::Unknown, "", now)
    }

    /// PB-9, PB-10: takes one result. True if something has to be reported.
    pub fn take(&mut self, probe: &Probe, state: State, message: &str, now: Timestamp) -> bool {
        if self.state == Some(state) {
            self.count = self.count.saturating_add(1);
        } else {
            (self.state, self.count) = (Some(state), 1);
        }
        let threshold = match state {
            State::Succeeded => at_least(probe.success_threshold, 1),
            State::Failed | State::Unknown => at_least(probe.failure_threshold, 1),
        };
        self.count >= threshold && self.publish(state, message, now)
    }

    fn publish(&mut self, state: State, message: &str, now: Timestamp) -> bool {
        let message = cut(message);
        let is_known = self.published.as_ref().is_some_and(|known| {
            known.state == state && known.message == message && now.duration_since(known.at) < REPORT_AGAIN
        });
        if !is_known {
            self.published = Some(Outcome { state, message: message.to_owned(), at: now });
        }
        !is_known
    }
}

/// PB-8, at a character (problem 15).
pub fn cut(message: &str) -> &str {
    let mut end = message.len().min(MESSAGE_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.get(..end).unwrap_or_default()
}

/// A state that changed, for an event (problem 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub namespace: String,
    pub pod: String,
    pub uid: String,
    pub state: State,
    pub message: String,
}

/// PB-11: states of probes that are wanted, what is new over what was reported; and what changed.
pub fn status(
    spec: &NodePodProbeSpec,
    before: &NodePodProbeStatus,
    results: &BTreeMap<ProbeKey, Outcome>,
    now: Timestamp,
) -> (NodePodProbeStatus, Vec<Changed>) {
    let (mut pods, mut changes) = (Vec::new(), Vec::new());
    for pod in spec.pod_probes.iter().flatten() {
        let old = before.pod_probe_statuses.iter().flatten().find(|one| one.uid == pod.uid);
        let old =
            |name: &str| old.and_then(|one| one.probe_states.iter().flatten().find(|one| one.name == name));
        let mut states = Vec::new();
        for probe in pod.probes.iter().flatten() {
            let (uid, container, name) = (pod.uid.clone(), probe.container_name.clone(), probe.name.clone());
            let result = results.get(&ProbeKey { uid, container, name });
            let Some(state) = merged(&probe.name, old(&probe.name), result, now) else { continue };
            if let Some(result) =
                result.filter(|_| old(&probe.name).is_none_or(|old| old.state != state.state))
            {
                changes.push(Changed {
                    namespace: pod.namespace.clone(),
                    pod: pod.name.clone(),
                    uid: pod.uid.clone(),
                    state: result.state,
                    message: result.message.clone(),
                });
            }
            states.push(state);
        }
        if !states.is_empty() {
            pods.push(PodProbeStatus {
                name: pod.name.clone(),
                namespace: pod.namespace.clone(),
                uid: pod.uid.clone(),
                probe_states: Some(states),
                ..PodProbeStatus::default()
            });
        }
    }
    let pod_probe_statuses = (!pods.is_empty()).then_some(pods);
    (NodePodProbeStatus { pod_probe_statuses, ..NodePodProbeStatus::default() }, changes)
}

fn merged(
    name: &str,
    old: Option<&ContainerProbeState>,
    result: Option<&Outcome>,
    now: Timestamp,
) -> Option<ContainerProbeState> {
    let Some(result) = result else { return old.cloned() };
    let whole = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time).into();
    let since =
        old.filter(|old| old.state == result.state.text()).and_then(|old| old.last_transition_time.clone());
    Some(ContainerProbeState {
        name: name.to_owned(),
        state: result.state.text().to_owned(),
        message: Some(result.message.clone()).filter(|message| !message.is_empty()),
        last_probe_time: Some(whole(result.at)),
        last_transition_time: Some(since.unwrap_or_else(|| whole(now))),
        ..ContainerProbeState::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn probe(value: serde_json::Value) -> Probe {
        serde_json::from_value(value).unwrap()
    }

    fn spec(probes: &[&str]) -> NodePodProbeSpec {
        let one = |name: &&str| json!({"name": name, "containerName": "main", "probe": {"exec": {"command": ["x"]}}});
        let probes: Vec<_> = probes.iter().map(one).collect();
        let pod = json!({"name": "p", "namespace": "n", "uid": "u", "IP": "10.0.0.1", "probes": probes});
        serde_json::from_value(json!({"podProbes": [pod]})).unwrap()
    }

    fn key(name: &str) -> ProbeKey {
        ProbeKey { uid: "u".to_owned(), container: "main".to_owned(), name: name.to_owned() }
    }

    fn outcome(state: State, message: &str, second: i64) -> Outcome {
        Outcome { state, message: message.to_owned(), at: at(second) }
    }

    #[test]
    fn pb_1_every_probe_of_a_container_is_one_of_its_own() {
        let all = wanted(&spec(&["m#a", "m#b"]));
        assert_eq!(all.keys().cloned().collect::<Vec<_>>(), [key("m#a"), key("m#b")]);
        assert_eq!(all[&key("m#a")].ip, "10.0.0.1");
        assert!(wanted(&NodePodProbeSpec::default()).is_empty());
    }

    #[test]
    fn pb_3_floors() {
        for (value, expected) in
            [(json!({}), 1), (json!({"periodSeconds": 0}), 1), (json!({"periodSeconds": 7}), 7)]
        {
            assert_eq!(period(&probe(value)).as_secs(), expected);
        }
        assert_eq!(timeout(&probe(json!({"timeoutSeconds": -3}))).as_secs(), 1);
        assert!(is_too_early(&probe(json!({})), at(10), at(10)));
        assert!(!is_too_early(&probe(json!({})), at(10), at(11)));
        assert!(is_too_early(&probe(json!({"initialDelaySeconds": 30})), at(10), at(39)));
    }

    #[test]
    fn pb_9_result_counts_when_it_repeats_often_enough() {
        let slow = probe(json!({"successThreshold": 3, "failureThreshold": 2}));
        let mut streak = Streak::default();
        let taken: Vec<bool> = [
            State::Succeeded,
            State::Succeeded,
            State::Failed,
            State::Succeeded,
            State::Succeeded,
            State::Succeeded,
        ]
        .into_iter()
        .map(|state| streak.take(&slow, state, "", at(0)))
        .collect();
        assert_eq!(taken, [false, false, false, false, false, true]);
        assert!(!streak.take(&slow, State::Failed, "", at(1)));
        assert!(streak.take(&slow, State::Failed, "", at(2)));
        let plain = probe(json!({}));
        assert!(Streak::default().take(&plain, State::Failed, "", at(0)), "PB-3: 1 if not given");
    }

    #[test]
    fn pb_10_same_result_is_reported_again_only_after_ten_minutes() {
        let (plain, mut streak) = (probe(json!({})), Streak::default());
        assert!(streak.take(&plain, State::Succeeded, "data", at(0)));
        assert!(!streak.take(&plain, State::Succeeded, "data", at(599)));
        assert!(streak.take(&plain, State::Succeeded, "gate", at(599)), "the message changed");
        assert!(streak.take(&plain, State::Succeeded, "gate", at(1_199)));
    }

    #[test]
    fn pb_4_new_container_is_unknown_and_counts_anew() {
        let (plain, mut streak) = (probe(json!({})), Streak::default());
        assert!(!streak.is_about("a", at(0)), "the agent has just started: nothing flaps");
        streak.take(&plain, State::Succeeded, "", at(0));
        assert!(!streak.is_about("a", at(1)));
        assert!(streak.is_about("b", at(2)));
        assert_eq!(streak.published.unwrap().state, State::Unknown);
        let mut edited = Streak::default();
        edited.take(&plain, State::Failed, "x", at(0));
        assert!(edited.restart(at(1)), "PB-1: the check was edited");
        assert_eq!(edited.published.unwrap(), outcome(State::Unknown, "", 1));
        assert!(is_another_check(
            &probe(json!({"exec": {"command": ["a"]}})),
            &probe(json!({"exec": {"command": ["b"]}}))
        ));
        assert!(!is_another_check(&probe(json!({"periodSeconds": 1})), &probe(json!({"periodSeconds": 2}))));
    }

    #[test]
    fn pb_8_message_is_cut_at_a_character() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(2_000)).len(), 1_024);
        assert_eq!(cut(&format!("x{}", "ä".repeat(1_000))).len(), 1_023, "problem 15");
    }

    #[test]
    fn pb_11_status_keeps_what_is_wanted_and_the_time_of_the_last_change() {
        let results =
            [(key("m#a"), outcome(State::Succeeded, "yes", 5)), (key("m#b"), outcome(State::Failed, "", 5))];
        let (first, changes) =
            status(&spec(&["m#a", "m#b"]), &NodePodProbeStatus::default(), &results.into(), at(5));
        assert_eq!(changes.len(), 2);
        let states = first.pod_probe_statuses.as_ref().unwrap()[0].probe_states.as_ref().unwrap();
        assert_eq!((states[0].state.as_str(), states[1].state.as_str()), ("Succeeded", "Failed"));

        let later = [(key("m#a"), outcome(State::Succeeded, "other", 9))].into();
        let (second, later_changes) = status(&spec(&["m#a"]), &first, &later, at(9));
        assert!(later_changes.is_empty(), "problem 10: only a changed state is told");
        let left = second.pod_probe_statuses.unwrap()[0].probe_states.clone().unwrap();
        assert_eq!(left.len(), 1, "the other is not wanted any more");
        assert_eq!(left[0].last_transition_time, Some(at(5).into()));
        assert_eq!(
            (left[0].last_probe_time.clone(), left[0].message.as_deref()),
            (Some(at(9).into()), Some("other"))
        );

        let (kept, _) = status(&spec(&["m#a", "m#b"]), &first, &BTreeMap::new(), at(9));
        assert_eq!(kept, first, "acceptance 18: an agent without results changes nothing");
        let (gone, _) = status(&NodePodProbeSpec::default(), &first, &BTreeMap::new(), at(9));
        assert_eq!(gone, NodePodProbeStatus::default());
    }
}
