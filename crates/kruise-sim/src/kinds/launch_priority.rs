//! Container launch priority: no container starts before those of higher priority are ready, and in the end all have started.

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::annotations::{CONTAINER_LAUNCH_ORDERED, CONTAINER_LAUNCH_PRIORITY};
use kruise_api::env::{CONTAINER_BARRIER, CONTAINER_PRIORITY};
use kruise_api::names::{BARRIER_KEY_PREFIX, BARRIER_SUFFIX};
use kruise_api::resource::{CONFIG_MAPS, PODS};
use serde_json::{Value, json};

use super::workload::{self, Names, PodFacts, Stage};
use super::{SimulatedKind, cloneset, statefulset};
use crate::server::{Change, Object, Store, What, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "launchpriority",
    title: "LaunchPriority",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules::default())),
    goal,
    end,
};

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Edit, Settle};
    let pod = |name| Target::new(PODS, name);
    let clones = with_containers(workload::object(&cloneset::WORKLOAD, 2));
    let set = with_containers(workload::object(&statefulset::WORKLOAD, 2));
    vec![
        Scenario::new(&KIND, "ordered").with(pod("a"), ordered("a")).then([
            Settle,
            Create(pod("b"), prioritized("b")),
            Settle,
        ]),
        Scenario::new(&KIND, "recreated").with(pod("a"), prioritized("a")).then([
            Settle,
            Delete(pod("a")),
            Settle,
            Create(pod("a"), ordered("a")),
            Settle,
        ]),
        workload::of(&KIND, &cloneset::WORKLOAD, "clones", clones).then([
            Settle,
            Edit(workload::replicas(3)),
            Settle,
        ]),
        workload::of(&KIND, &statefulset::WORKLOAD, "same-name", set).then([
            Settle,
            Delete(pod("web-0")),
            Settle,
        ]),
    ]
}

/// Two of the highest priority, one that follows.
fn containers() -> Value {
    let container = |name: &str, priority: &str| json!({"name": name, "image": "nginx:1", "env": [{"name": CONTAINER_PRIORITY, "value": priority}]});
    json!([container("main", "0"), container("proxy", "10"), container("log", "10")])
}

fn with_containers(mut object: Value) -> Value {
    merge(&mut object, &json!({"spec": {"template": {"spec": {"containers": containers()}}}}));
    object
}

fn prioritized(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": containers(), "terminationGracePeriodSeconds": 2},
    })
}

/// One after the other, as they are listed.
fn ordered(name: &str) -> Value {
    let mut pod = prioritized(name);
    merge(
        &mut pod,
        &json!({"metadata": {"annotations": {CONTAINER_LAUNCH_PRIORITY: CONTAINER_LAUNCH_ORDERED}}}),
    );
    pod
}

/// Everything serves, so every barrier was opened.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    if scenario.subject.is_some() {
        workload::goal(store, scenario)?;
    }
    for (name, pod) in resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default")) {
        match PodFacts::read(pod).stage {
            Stage::Serves | Stage::Ended => {}
            Stage::Starts | Stage::Leaves => return Err(format!("pod {} has not started", name.1)),
        }
    }
    Ok(())
}

/// Which barriers are open; names of pods may be drawn.
fn end(store: &Store) -> Value {
    let maps = resources::of(CONFIG_MAPS).into_iter().flat_map(|kind| store.list(kind.id, "default"));
    let mut all: Vec<String> = maps
        .filter(|(name, _)| name.1.ends_with(BARRIER_SUFFIX))
        .map(|(_, map)| map.value.get("data").map(ToString::to_string).unwrap_or_default())
        .collect();
    all.sort();
    all.into()
}

/// Containers that have been ready, by uid of the pod.
#[derive(Default)]
struct Rules(BTreeMap<String, BTreeSet<String>>);

impl SafetyRules for Rules {
    /// Containers that have been ready stay so: nodes do not go back with the server.
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if change.is_of(PODS) {
            self.pod_changed(change, notes);
        } else if change.is_of(CONFIG_MAPS) && is_manager(change.who) && change.event.what != What::Deleted {
            self.map_changed(change, notes);
        }
    }
}

impl Rules {
    fn pod_changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let pod = &change.event.object;
        if change.event.what == What::Deleted {
            self.0.remove(pod.uid());
            return;
        }
        let levels = levels(pod);
        let started = |one: &Object| statuses(one, |status| status.get("containerID").is_some());
        let before = change.event.before.as_deref().map(started).unwrap_or_default();
        for name in started(pod).difference(&before) {
            let Some((_, level)) = levels.iter().find(|(container, _)| container == name) else { continue };
            if let Some(other) = self.late(pod, *level) {
                let of = pod.str("/metadata/name");
                notes.broken.push(format!("container {name} of pod {of} started before {other} was ready"));
            }
        }
        let ready = statuses(pod, |status| status.get("ready") == Some(&Value::Bool(true)));
        if !levels.is_empty() {
            self.0.entry(pod.uid().to_owned()).or_default().extend(ready);
        }
    }

    /// A barrier is opened when everything above it has been ready.
    fn map_changed(&self, change: &Change<'_>, notes: &mut Notes) {
        let map = &change.event.object;
        let Some(name) = map.str("/metadata/name").strip_suffix(BARRIER_SUFFIX) else { return };
        let owner = map.str("/metadata/ownerReferences/0/uid");
        let pods = resources::of(PODS).map(|pods| pods.id);
        let at = (map.str("/metadata/namespace").into(), name.into());
        let Some(pod) = pods.and_then(|pods| change.store.get(pods, &at)).filter(|pod| pod.uid() == owner)
        else {
            return;
        };
        for key in map.value.get("data").and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key)
        {
            let level = key.strip_prefix(BARRIER_KEY_PREFIX).and_then(|level| level.parse().ok());
            if let Some(other) = level.and_then(|level| self.late(pod, level)) {
                notes.broken.push(format!("barrier {key} of pod {name} was opened before {other} was ready"));
            }
        }
    }

    /// A container of a higher level that has never been ready.
    fn late(&self, pod: &Object, level: i64) -> Option<String> {
        let ready = self.0.get(pod.uid());
        let is_late = |name: &String| !ready.is_some_and(|ready| ready.contains(name));
        levels(pod).into_iter().find(|(name, other)| level < *other && is_late(name)).map(|(name, _)| name)
    }
}

/// Containers with a barrier, and the level of each.
fn levels(pod: &Object) -> Vec<(String, i64)> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let level = |container: &Value| {
        let variables = list(container.get("env"));
        let barrier = variables
            .iter()
            .find(|one| one.get("name").and_then(Value::as_str) == Some(CONTAINER_BARRIER))?;
        let key = barrier.pointer("/valueFrom/configMapKeyRef/key")?.as_str()?;
        let name = container.get("name")?.as_str()?.to_owned();
        Some((name, key.strip_prefix(BARRIER_KEY_PREFIX)?.parse().ok()?))
    };
    list(pod.value.pointer("/spec/containers")).iter().filter_map(level).collect()
}

/// Names of the containers whose status is so.
fn statuses(pod: &Object, is_so: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let all = pod.value.pointer("/status/containerStatuses").and_then(Value::as_array);
    let found = all.into_iter().flatten().filter(|status| is_so(status));
    found.filter_map(|status| Some(status.get("name")?.as_str()?.to_owned())).collect()
}
