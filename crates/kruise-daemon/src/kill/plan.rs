//! What is stopped, how, and how long it gets.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use super::hook::Hook;
use crate::cri::ContainerId;

/// No container gets less (KC-4, KC-7).
pub const GRACE_MIN: i64 = 2;

pub const POD_NAME: &str = "io.kubernetes.pod.name";
pub const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
pub const POD_UID: &str = "io.kubernetes.pod.uid";
pub const CONTAINER_NAME: &str = "io.kubernetes.container.name";
const DELETION_GRACE: &str = "io.kubernetes.pod.deletionGracePeriod";
const TERMINATION_GRACE: &str = "io.kubernetes.pod.terminationGracePeriod";
const PRE_STOP: &str = "io.kubernetes.container.preStopHandler";
const PORTS: &str = "io.kubernetes.container.ports";

/// The pod that a container belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodOf {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// A named port, for hooks that call it by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Port {
    pub name: String,
    pub container_port: i32,
}

/// One container to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub pod: PodOf,
    pub container: String,
    pub id: ContainerId,
    /// Of the hook and the stop together, in seconds.
    pub grace: i64,
    pub pre_stop: Option<Hook>,
    pub ports: Vec<Port>,
    /// How an event names the container: by its place in the pod, or, if restored from labels, without one.
    pub field_path: String,
    pub message: String,
}

/// KC-2: everything from the labels and annotations that the kubelet gave the container.
pub fn restored(
    id: ContainerId,
    labels: &HashMap<String, String>,
    annotations: &HashMap<String, String>,
    message: &str,
) -> Target {
    let label = |key: &str| labels.get(key).cloned().unwrap_or_default();
    let seconds = |key: &str| annotations.get(key).and_then(|text| text.parse().ok());
    let container = label(CONTAINER_NAME);
    Target {
        pod: PodOf { namespace: label(POD_NAMESPACE), name: label(POD_NAME), uid: label(POD_UID) },
        grace: grace(seconds(DELETION_GRACE), seconds(TERMINATION_GRACE)),
        pre_stop: annotations.get(PRE_STOP).and_then(|text| Hook::read(text)),
        ports: annotations.get(PORTS).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
        field_path: format!("implicitly required container {container}"),
        message: message_of(message, &id.id, &container),
        container,
        id,
    }
}

/// KC-4.
fn grace(deletion: Option<i64>, termination: Option<i64>) -> i64 {
    deletion.or(termination).unwrap_or(GRACE_MIN)
}

/// KC-3: an id says nothing to people.
pub fn message_of(message: &str, id: &str, container: &str) -> String {
    if message.is_empty() {
        return format!("Stopping container {container}");
    }
    if id.is_empty() { message.to_owned() } else { message.replace(id, container) }
}

/// How long a hook may take; without a grace period there is none (KC-5).
pub fn hook_time(grace: i64) -> Option<Duration> {
    u64::try_from(grace).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// KC-5, KC-7: what is left for the stop after the hook.
pub fn remaining(grace: i64, hook_took: Duration) -> i64 {
    let took = i64::try_from(hook_took.as_secs()).unwrap_or(i64::MAX);
    grace.saturating_sub(took).max(GRACE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn id() -> ContainerId {
        ContainerId::read("containerd://abc").unwrap()
    }

    #[test]
    fn kc_2_everything_is_restored_from_the_kubelets_labels() {
        let labels =
            map(&[(POD_NAME, "web-0"), (POD_NAMESPACE, "shop"), (POD_UID, "u"), (CONTAINER_NAME, "main")]);
        let annotations = map(&[
            (TERMINATION_GRACE, "30"),
            (PRE_STOP, r#"{"sleep":{"seconds":3}}"#),
            (PORTS, r#"[{"name":"http","containerPort":80,"protocol":"TCP"}]"#),
        ]);

        let target = restored(id(), &labels, &annotations, "Stopping containerID containerd://abc by X");

        assert_eq!((target.container.as_str(), target.grace), ("main", 30));
        assert_eq!(target.pod, PodOf { namespace: "shop".into(), name: "web-0".into(), uid: "u".into() });
        assert_eq!(target.pre_stop, Some(Hook::Sleep { seconds: 3 }));
        assert_eq!(target.ports, [Port { name: "http".into(), container_port: 80 }]);
        assert_eq!(target.message, "Stopping containerID containerd://main by X", "KC-3");
        assert_eq!(target.field_path, "implicitly required container main");
    }

    #[test]
    fn kc_3_container_is_named_where_nothing_is_said() {
        assert_eq!(message_of("", "abc", "main"), "Stopping container main");
    }

    #[test]
    fn kc_4_deletion_grace_before_termination_grace_before_two_seconds() {
        for (deletion, termination, expected) in
            [(Some(5), Some(30), 5), (None, Some(30), 30), (None, None, 2), (Some(0), Some(30), 0)]
        {
            assert_eq!(grace(deletion, termination), expected);
        }
    }

    /// daemon, acceptance 14.
    #[test]
    fn kc_5_kc_7_hook_is_paid_from_the_grace_and_two_seconds_remain() {
        for (grace, took, expected) in [(30, 0, 30), (30, 8_900, 22), (10, 10_000, 2), (0, 0, 2), (1, 0, 2)] {
            assert_eq!(remaining(grace, Duration::from_millis(took)), expected, "{grace} {took}");
        }
        assert_eq!(hook_time(0), None, "no grace, no hook");
        assert_eq!(hook_time(-1), None);
        assert_eq!(hook_time(3), Some(Duration::from_secs(3)));
    }
}
