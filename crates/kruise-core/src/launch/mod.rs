//! Container launch priority: containers of one pod start level by level. Specification: SM-95 … SM-99.
//!
//! admission gives each container a barrier (SM-95, SM-96); the controller opens the barriers from the highest level down
//! (SM-97, SM-98). Deviations from upstream: M9 (a malformed barrier is ignored), M10 (a ConfigMap of another pod is never
//! trusted, and a completed pod is looked at again).

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::{annotations, env, kubernetes::CONTAINERS_READY, labels, names};
use serde_json::{Value, json};

use crate::ids::{PodName, ResourceVersion, Uid};
use crate::pod::{PodView, Status};

/// Longest base of a generated name: five random characters follow (SM-96).
const GENERATED_BASE_MAX: usize = 58;

/// Why a pod cannot be admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("container {container}: KRUISE_CONTAINER_PRIORITY must be a whole number, is {value:?}")]
    NotANumber { container: String, value: String },
}

/// The ConfigMap of a pod as the controller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    pub version: ResourceVersion,
    /// Uid of the pod in its owner references.
    pub owner: Option<Uid>,
    pub keys: BTreeSet<String>,
}

/// The next step for one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// All levels are open, or there are none.
    Nothing,
    /// The ConfigMap is missing.
    Create,
    /// The ConfigMap belongs to an earlier pod of the same name: delete it, then create it anew (M10).
    Replace { version: ResourceVersion },
    /// Open one level; with the last one the pod is done.
    Open { key: String, last: Last },
    /// Mark the pod as done.
    Complete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    Yes,
    No,
}

/// Priority of each container by position; `None` if the pod needs no barriers (SM-95).
pub fn priorities(pod: &Value) -> Result<Option<Vec<i64>>, Refusal> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if containers.len() <= 1 {
        return Ok(None);
    }
    let annotation =
        pod.pointer("/metadata/annotations").and_then(|all| all.get(annotations::CONTAINER_LAUNCH_PRIORITY));
    if annotation.and_then(Value::as_str) == Some(annotations::CONTAINER_LAUNCH_ORDERED) {
        // In list order; priorities in the environment are ignored.
        return Ok(Some((0..).map(|position: i64| -position).take(containers.len()).collect()));
    }
    let all = containers.iter().map(priority).collect::<Result<Vec<i64>, Refusal>>()?;
    let is_even = all.iter().all(|one| Some(one) == all.first());
    Ok((!is_even).then_some(all))
}

/// Appends the barrier to every container (SM-96). The pod has its final name.
pub fn inject(pod: &mut Value, priorities: &[i64]) {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let config_map = format!("{name}{}", names::BARRIER_SUFFIX);
    let containers = pod.pointer_mut("/spec/containers").and_then(Value::as_array_mut).into_iter().flatten();
    for (container, priority) in containers.zip(priorities) {
        let barrier = json!({"name": env::CONTAINER_BARRIER, "valueFrom": {"configMapKeyRef": {
            "name": config_map, "key": key(*priority)}}});
        let Some(container) = container.as_object_mut() else { continue };
        let variables = container.entry("env").or_insert_with(|| json!([]));
        if let Some(list) = variables.as_array_mut() {
            list.push(barrier);
        }
    }
}

/// A name for a pod that has only generateName, so that the ConfigMap's name is known (SM-96).
pub fn generated_name(base: &str, suffix: &str) -> PodName {
    let mut end = base.len().min(GENERATED_BASE_MAX);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    PodName::new(format!("{}{suffix}", base.get(..end).unwrap_or(base)))
}

/// The key of one level.
pub fn key(priority: i64) -> String {
    format!("{}{priority}", names::BARRIER_KEY_PREFIX)
}

/// What the controller does next (SM-97, SM-98). A level opens when all higher ones are ready.
pub fn step(pod: &PodView, barrier: Option<&Barrier>) -> Step {
    let levels: BTreeMap<i64, bool> = pod.containers.iter().fold(BTreeMap::new(), |mut levels, container| {
        if let Some(priority) = container.priority {
            let is_ready = pod.status_of(&container.name).is_some_and(|one| one.is_ready);
            *levels.entry(priority).or_insert(true) &= is_ready;
        }
        levels
    });
    let waiting: Vec<i64> =
        levels.iter().filter(|(_, ready)| !**ready).map(|(priority, _)| *priority).collect();
    let is_done = pod.annotations.get(annotations::CONTAINER_LAUNCH_PRIORITY_COMPLETED) == Some(labels::TRUE);
    if levels.is_empty() || pod.condition_is(CONTAINERS_READY, Status::True) {
        return Step::Nothing;
    }
    let Some(barrier) = barrier else {
        // Also for a pod that was done: its ConfigMap may have gone with an earlier pod (M10).
        return if waiting.is_empty() { Step::Nothing } else { Step::Create };
    };
    if barrier.owner.as_ref() != Some(&pod.uid) {
        return Step::Replace { version: barrier.version.clone() };
    }
    let is_open = |priority: &i64| barrier.keys.contains(&key(*priority));
    let lowest_is_open = levels.keys().next().is_none_or(is_open);
    match waiting.last() {
        _ if lowest_is_open && is_done => Step::Nothing,
        _ if lowest_is_open => Step::Complete,
        None => Step::Nothing,
        Some(highest) if is_open(highest) => Step::Nothing,
        Some(highest) => {
            let is_last = levels.keys().next() == Some(highest);
            Step::Open { key: key(*highest), last: if is_last { Last::Yes } else { Last::No } }
        }
    }
}

/// The ConfigMap of a pod; it goes with it.
pub fn config_map(pod: &PodView, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{}{}", pod.name, names::BARRIER_SUFFIX), "namespace": namespace,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str()}],
        },
    })
}

fn priority(container: &Value) -> Result<i64, Refusal> {
    let mut variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let set = variables.rfind(|one| one.get("name").and_then(Value::as_str) == Some(env::CONTAINER_PRIORITY));
    let value = set.and_then(|one| one.get("value")).and_then(Value::as_str).unwrap_or("0");
    let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
    value.parse().map_err(|_| Refusal::NotANumber { container: name.to_owned(), value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Pod, pod};

    fn with_env(priorities: &[Option<&str>]) -> Value {
        let containers: Vec<Value> = priorities
            .iter()
            .enumerate()
            .map(|(i, priority)| match priority {
                Some(value) => json!({"name": format!("c{i}"), "env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": value}]}),
                None => json!({"name": format!("c{i}")}),
            })
            .collect();
        json!({"metadata": {"name": "p", "annotations": {}}, "spec": {"containers": containers}})
    }

    #[test]
    fn sm_95_priorities_come_from_the_environment_or_from_the_order() {
        assert_eq!(priorities(&with_env(&[None, Some("10")])), Ok(Some(vec![0, 10])));
        assert_eq!(priorities(&with_env(&[None, None])), Ok(None));
        assert_eq!(priorities(&with_env(&[Some("3"), Some("3")])), Ok(None), "all equal");
        assert_eq!(priorities(&with_env(&[Some("3")])), Ok(None), "one container");
        let mut ordered = with_env(&[None, Some("10"), None]);
        ordered["metadata"]["annotations"]["apps.kruise.io/container-launch-priority"] = json!("Ordered");
        assert_eq!(priorities(&ordered), Ok(Some(vec![0, -1, -2])), "the environment is ignored");
        assert!(matches!(priorities(&with_env(&[None, Some("high")])), Err(Refusal::NotANumber { .. })));
    }

    #[test]
    fn sm_96_every_container_gets_its_barrier_last() {
        let mut pod = with_env(&[None, Some("10")]);

        inject(&mut pod, &[0, 10]);

        let barrier = |at: usize, env: usize| {
            pod["spec"]["containers"][at]["env"][env]["valueFrom"]["configMapKeyRef"].clone()
        };
        assert_eq!(barrier(0, 0), json!({"name": "p-barrier", "key": "p_0"}));
        assert_eq!(barrier(1, 1), json!({"name": "p-barrier", "key": "p_10"}));
        assert_eq!(key(-2), "p_-2");
        assert_eq!(generated_name(&"n".repeat(80), "abcde").as_str().len(), 63);
    }

    fn leveled(ready: &[(&str, i64, bool)]) -> Pod {
        let containers: Vec<Value> = ready
            .iter()
            .map(|(name, priority, _)| {
                json!({"name": name, "env": [{"name": "KRUISE_CONTAINER_BARRIER",
                "valueFrom": {"configMapKeyRef": {"name": "a-barrier", "key": key(*priority)}}}]})
            })
            .collect();
        let mut pod = pod("a").containers(json!(containers));
        for (name, _, is_ready) in ready {
            pod = pod.container_status(name, "i", "id");
            let at = pod.0["status"]["containerStatuses"].as_array().unwrap().len() - 1;
            pod.0["status"]["containerStatuses"][at]["ready"] = json!(is_ready);
        }
        pod
    }

    fn open(keys: &[&str]) -> Barrier {
        Barrier {
            version: ResourceVersion::new("1"),
            owner: Some(Uid::new("uid-a")),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    #[test]
    fn sm_97_sm_98_levels_open_from_the_highest_down() {
        let both = leveled(&[("low", 0, false), ("high", 10, false)]).view();
        let half = leveled(&[("low", 0, false), ("high", 10, true)]).view();

        assert_eq!(step(&both, None), Step::Create);
        assert_eq!(step(&both, Some(&open(&[]))), Step::Open { key: "p_10".to_owned(), last: Last::No });
        assert_eq!(step(&both, Some(&open(&["p_10"]))), Step::Nothing, "the high level is not ready yet");
        assert_eq!(
            step(&half, Some(&open(&["p_10"]))),
            Step::Open { key: "p_0".to_owned(), last: Last::Yes }
        );
        assert_eq!(step(&half, Some(&open(&["p_10", "p_0"]))), Step::Complete);
        let done = leveled(&[("low", 0, false)])
            .annotation("apps.kruise.io/container-launch-priority-completed", "true");
        assert_eq!(step(&done.view(), Some(&open(&["p_0"]))), Step::Nothing);
        assert_eq!(config_map(&both, "ns")["metadata"]["ownerReferences"][0]["uid"], "uid-a");
    }

    #[test]
    fn sm_99_pods_without_barriers_and_ready_pods_are_left_alone() {
        let plain = pod("a").view();
        let ready =
            leveled(&[("low", 0, true)]).condition(CONTAINERS_READY, "True", "2026-01-01T00:00:00Z").view();

        assert_eq!(step(&plain, None), Step::Nothing);
        assert_eq!(step(&ready, None), Step::Nothing);
    }

    #[test]
    fn shared_machinery_m10_a_config_map_of_an_earlier_pod_is_replaced() {
        let pod = leveled(&[("low", 0, false), ("high", 10, false)]).view();
        let foreign = Barrier { owner: Some(Uid::new("gone")), ..open(&["p_10", "p_0"]) };
        let done = leveled(&[("low", 0, false)])
            .annotation("apps.kruise.io/container-launch-priority-completed", "true");

        assert_eq!(step(&pod, Some(&foreign)), Step::Replace { version: ResourceVersion::new("1") });
        assert_eq!(step(&done.view(), None), Step::Create, "also when the pod was completed");
    }
}
