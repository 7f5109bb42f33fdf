//! What workloads have in common: objects and scenarios of a rollout, and their safety rules. How two kinds differ is data.

mod acts;
mod facts;
mod goal;
mod rework;
mod rules;

pub use facts::{History, PodFacts, SpecFacts, Stage};
pub use goal::goal;
pub use rework::{Rework, drawn};
pub use rules::Rules;

use std::fmt;
use std::time::Duration;

use kruise_api::Resource;
use serde_json::{Value, json};

use super::SimulatedKind;
use crate::rng::Rng;
use crate::world::actors::HOOK;
use crate::world::scenario::{BAD_IMAGE, Scenario, Step, Target, merge};

/// What differs between kinds with pods and a rollout.
pub struct Workload {
    pub resource: Resource,
    pub names: Names,
    pub claims: Claims,
    /// What the spec needs besides.
    pub more: fn() -> Value,
    /// A rollout of more than one pod at a time.
    pub surging: fn() -> Value,
    /// `maxUnavailable` if nothing is said, for so many replicas.
    pub usual_unavailable: fn(i64) -> i64,
    /// Whether one more pod fits in.
    pub fits: fn(&SpecFacts, &PodFacts, &Crowd) -> bool,
    /// Whether a pod is one too many, where there are so many.
    pub is_surplus: fn(&SpecFacts, &PodFacts, i64) -> bool,
    /// Whether the partition lets this pod be updated, where so many are old.
    pub may_update: fn(&SpecFacts, &PodFacts, i64) -> bool,
    /// Whether it wants a pod of this name.
    pub is_wanted: fn(&SpecFacts, &PodFacts) -> bool,
    /// Edits that only this kind has: good ones and bad ones.
    pub edits: fn() -> [Vec<Rework>; 2],
}

/// Whether a new pod has the name of an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Kept,
    Drawn,
}

/// What becomes of PVCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claims {
    Kept,
    /// They go with their pod.
    MayGo,
}

/// Pods of one workload.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// All that count as replicas.
    pub there: i64,
    /// Those among them that are to be deleted.
    pub specified: i64,
}

impl PartialEq for Workload {
    fn eq(&self, other: &Self) -> bool {
        self.resource == other.resource
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.resource)
    }
}

/// The workload of this type.
pub fn described(resource: Resource) -> Option<&'static Workload> {
    super::ALL.iter().filter_map(|kind| kind.workload).find(|one| one.resource == resource)
}

/// The name of every scenario that all workloads have, in the order of [`scenarios`].
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

/// The workload of every scenario.
pub const WEB: &str = "web";

/// One scenario per name.
pub fn scenarios(kind: &'static SimulatedKind, workload: &'static Workload) -> Vec<Scenario> {
    NAMES.into_iter().map(|name| scenario(kind, workload, name)).collect()
}

/// One of [`NAMES`]; an unknown name is the plain creation.
pub fn scenario(kind: &'static SimulatedKind, workload: &'static Workload, name: &str) -> Scenario {
    use Step::{Edit, Settle};
    let name = NAMES.into_iter().find(|one| *one == name).unwrap_or("create");
    let plain = |count| object(workload, count);
    let (object, steps) = match name {
        "scale-out" => (plain(2), vec![Settle, Edit(replicas(4)), Settle]),
        "scale-in" => (plain(4), vec![Settle, Edit(replicas(2)), Settle]),
        "in-place" => (plain(3), vec![Settle, Edit(image("nginx:2")), Settle]),
        "recreate" => (
            rolling(plain(3), &json!({"podUpdatePolicy": RECREATE})),
            vec![Settle, Edit(image("nginx:2")), Settle],
        ),
        "partition" => (
            rolling(plain(3), &json!({"partition": 2})),
            vec![Settle, Edit(image("nginx:2")), Settle, Edit(settings(&json!({"partition": 0}))), Settle],
        ),
        "surge" => ((workload.surging)(), vec![Settle, Edit(image("nginx:2")), Settle]),
        "hooks" => {
            (hooked(workload), vec![Settle, Edit(image("nginx:2")), Settle, Edit(replicas(1)), Settle])
        }
        "claims" => {
            let edits = [replicas(1), replicas(3), environment("2")];
            let steps = edits.into_iter().flat_map(|edit| [Settle, Edit(edit)]);
            (claimed(workload), steps.chain([Settle]).collect())
        }
        "rollback" => (plain(3), edited_for("nginx:2", Duration::from_secs(4))),
        "bad-edit" => (plain(3), edited_for(BAD_IMAGE, Duration::from_secs(45))),
        "specified" => (plain(3), vec![Settle, Step::SpecifyDelete, Settle]),
        _ => (plain(3), vec![Settle]),
    };
    of(kind, workload, name, object).then(steps)
}

/// A scenario of one workload.
pub fn of(
    kind: &'static SimulatedKind,
    workload: &'static Workload,
    name: &'static str,
    object: Value,
) -> Scenario {
    let web = Target::new(workload.resource, WEB);
    Scenario { subject: Some(web), ..Scenario::new(kind, name) }.with(web, object)
}

fn edited_for(image_name: &str, time: Duration) -> Vec<Step> {
    use Step::{Edit, Settle, Wait};
    vec![Settle, Edit(image(image_name)), Wait(time), Edit(image("nginx:1")), Settle]
}

/// A workload and edits by lot: some after everything has settled, some into the middle of a rollout.
pub fn random(kind: &'static SimulatedKind, workload: &'static Workload, rng: &mut Rng) -> Scenario {
    let mut object = match rng.below(3) {
        0 => hooked(workload),
        1 => claimed(workload),
        _ => (workload.surging)(),
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
    of(kind, workload, "random", object).then(steps)
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

pub const RECREATE: &str = "ReCreate";

/// One that updates in place, one pod at a time.
pub fn object(workload: &Workload, count: u32) -> Value {
    let resource = workload.resource;
    let mut object = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": WEB},
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": {"app": WEB}},
            "template": {
                "metadata": {"labels": {"app": WEB}},
                "spec": {
                    "containers": [container("nginx:1")], "terminationGracePeriodSeconds": 2,
                    "readinessGates": [{"conditionType": "InPlaceUpdateReady"}],
                },
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible", "maxUnavailable": 1}},
        },
    });
    merge(&mut object, &json!({"spec": (workload.more)()}));
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

pub fn rolling(mut object: Value, more: &Value) -> Value {
    merge(&mut object, &settings(more));
    object
}

fn hooked(workload: &Workload) -> Value {
    let handler = json!({"labelsHandler": {HOOK: "true"}});
    let mut object = object(workload, 2);
    merge(
        &mut object,
        &json!({"spec": {
            "lifecycle": {"inPlaceUpdate": handler, "preDelete": handler},
            "template": {"metadata": {"labels": {HOOK: "true"}}},
        }}),
    );
    object
}

fn claimed(workload: &Workload) -> Value {
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let mut object = object(workload, 2);
    merge(&mut object, &json!({"spec": {"volumeClaimTemplates": [claim]}}));
    object
}
