//! Scenarios: a workload and what its user does with it.

use std::time::Duration;

use serde_json::{Value, json};

use super::actors::HOOK;
use crate::rng::Rng;

/// Which of our workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    CloneSet,
    StatefulSet,
}

#[derive(Debug, Clone)]
pub struct Scenario {
    pub kind: Kind,
    pub name: &'static str,
    pub object: Value,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Wait until nothing moves any more.
    Settle,
    /// A merge patch of the workload.
    Edit(Value),
    Wait(Duration),
    /// Marks one pod as to be deleted.
    SpecifyDelete,
}

impl Step {
    /// Whether pods change because of it.
    pub fn is_rollout(&self) -> bool {
        match self {
            Self::Edit(_) | Self::SpecifyDelete => true,
            Self::Settle | Self::Wait(_) => false,
        }
    }
}

/// The name of every scenario, in the order of [`all`].
pub const NAMES: [&str; 12] = [
    "create",
    "scale-out",
    "scale-in",
    "in-place",
    "recreate",
    "partition",
    "surge",
    "hooks",
    "claims",
    "rollback",
    "bad-edit",
    "specified",
];

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::CloneSet => "CloneSet",
            Self::StatefulSet => "StatefulSet",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
            Self::CloneSet => "clonesets",
            Self::StatefulSet => "statefulsets",
        }
    }
}

/// Every scenario for both kinds.
pub fn all() -> Vec<Scenario> {
    [Kind::CloneSet, Kind::StatefulSet]
        .into_iter()
        .flat_map(|kind| NAMES.map(|name| scenario(kind, name)))
        .collect()
}

/// One scenario by name; an unknown name is the plain creation.
pub fn scenario(kind: Kind, name: &str) -> Scenario {
    use Step::{Edit, Settle, Wait};
    let name = NAMES.into_iter().find(|one| *one == name).unwrap_or("create");
    let (object, steps) = match name {
        "scale-out" => (workload(kind, 2), vec![Settle, Edit(replicas(4)), Settle]),
        "scale-in" => (workload(kind, 4), vec![Settle, Edit(replicas(2)), Settle]),
        "in-place" => (workload(kind, 3), vec![Settle, Edit(image("nginx:2")), Settle]),
        "recreate" => (
            rolling(workload(kind, 3), &json!({"podUpdatePolicy": RECREATE})),
            vec![Settle, Edit(image("nginx:2")), Settle],
        ),
        "partition" => (
            rolling(workload(kind, 3), &json!({"partition": 2})),
            vec![Settle, Edit(image("nginx:2")), Settle, Edit(settings(&json!({"partition": 0}))), Settle],
        ),
        "surge" => (surging(kind), vec![Settle, Edit(image("nginx:2")), Settle]),
        "hooks" => (hooked(kind), vec![Settle, Edit(image("nginx:2")), Settle, Edit(replicas(1)), Settle]),
        "claims" => (
            claimed(kind),
            vec![
                Settle,
                Edit(replicas(1)),
                Settle,
                Edit(replicas(3)),
                Settle,
                Edit(environment("2")),
                Settle,
            ],
        ),
        "rollback" => (
            workload(kind, 3),
            vec![
                Settle,
                Edit(image("nginx:2")),
                Wait(Duration::from_secs(4)),
                Edit(image("nginx:1")),
                Settle,
            ],
        ),
        "bad-edit" => (
            workload(kind, 3),
            vec![Settle, Edit(image("bad:1")), Wait(Duration::from_secs(45)), Edit(image("nginx:1")), Settle],
        ),
        "specified" => (workload(kind, 3), vec![Settle, Step::SpecifyDelete, Settle]),
        _ => (workload(kind, 3), vec![Settle]),
    };
    Scenario { kind, name, object, steps }
}

/// A workload and edits by lot: some after everything has settled, some into the middle of a rollout.
pub fn random(rng: &mut Rng) -> Scenario {
    let kind = if rng.one_in(2) { Kind::CloneSet } else { Kind::StatefulSet };
    let mut object = match rng.below(3) {
        0 => hooked(kind),
        1 => claimed(kind),
        _ => surging(kind),
    };
    if rng.one_in(2) {
        object = rolling(object, &json!({"podUpdatePolicy": "InPlaceIfPossible"}));
    }
    let mut steps = vec![Step::Settle];
    for _ in 0..2 + rng.below(3) {
        steps.push(Step::Edit(edit(rng)));
        if rng.one_in(2) {
            steps.push(Step::Settle);
        } else {
            steps.push(Step::Wait(Duration::from_millis(rng.below(20_000))));
        }
    }
    steps.push(Step::Settle);
    Scenario { kind, name: "random", object, steps }
}

fn below(rng: &mut Rng, most: u64) -> u32 {
    u32::try_from(rng.below(most)).unwrap_or(0)
}

fn edit(rng: &mut Rng) -> Value {
    match rng.below(6) {
        0 | 1 => image(["nginx:1", "nginx:2", "nginx:3"].get(rng.index(3)).copied().unwrap_or("nginx:1")),
        2 => environment(["1", "2"].get(rng.index(2)).copied().unwrap_or("1")),
        3 | 4 => replicas(below(rng, 5)),
        _ => settings(&json!({"partition": below(rng, 3)})),
    }
}

/// A label that only edits by lot give to pods.
pub const VERSION_LABEL: &str = "edited";

/// The image that no node can pull.
pub const BAD_IMAGE: &str = "bad:1";

const RECREATE: &str = "ReCreate";

fn workload(kind: Kind, count: u32) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/v1beta1", kruise_api::names::APPS_GROUP), "kind": kind.word(), "metadata": {"name": "web"},
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [container("nginx:1")], "terminationGracePeriodSeconds": 2,
                    "readinessGates": [{"conditionType": "InPlaceUpdateReady"}],
                },
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible", "maxUnavailable": 1}},
        },
    });
    if kind == Kind::StatefulSet {
        merge(&mut object, &json!({"spec": {"serviceName": "web"}}));
    }
    object
}

fn container(image: &str) -> Value {
    json!({"name": "main", "image": image, "env": [{"name": "V", "value": "1"}]})
}

/// Whole lists replace each other in a merge patch, so every edit names the whole container.
pub fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [container(image)]}}}})
}

/// A change that no pod can take in place.
pub fn environment(value: &str) -> Value {
    let mut changed = container("nginx:1");
    merge(&mut changed, &json!({"env": [{"name": "V", "value": value}]}));
    json!({"spec": {"template": {"spec": {"containers": [changed]}}}})
}

pub fn replicas(count: u32) -> Value {
    json!({"spec": {"replicas": count}})
}

fn settings(settings: &Value) -> Value {
    json!({"spec": {"updateStrategy": {"rollingUpdate": settings}}})
}

fn rolling(mut object: Value, more: &Value) -> Value {
    merge(&mut object, &settings(more));
    object
}

/// CloneSets add a pod before they take one away; StatefulSets, which cannot, go two at a time.
fn surging(kind: Kind) -> Value {
    match kind {
        Kind::CloneSet => {
            let how = json!({"podUpdatePolicy": RECREATE, "maxSurge": 1, "maxUnavailable": 0});
            rolling(workload(kind, 3), &how)
        }
        Kind::StatefulSet => {
            let mut object =
                rolling(workload(kind, 3), &json!({"podUpdatePolicy": RECREATE, "maxUnavailable": 2}));
            merge(&mut object, &json!({"spec": {"podManagementPolicy": "Parallel"}}));
            object
        }
    }
}

fn hooked(kind: Kind) -> Value {
    let handler = json!({"labelsHandler": {HOOK: "true"}});
    let mut object = workload(kind, 2);
    merge(
        &mut object,
        &json!({"spec": {
            "lifecycle": {"inPlaceUpdate": handler, "preDelete": handler},
            "template": {"metadata": {"labels": {HOOK: "true"}}},
        }}),
    );
    object
}

fn claimed(kind: Kind) -> Value {
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let mut object = workload(kind, 2);
    merge(&mut object, &json!({"spec": {"volumeClaimTemplates": [claim]}}));
    object
}

/// A JSON merge patch.
pub fn merge(target: &mut Value, patch: &Value) {
    json_patch::merge(target, patch);
}
