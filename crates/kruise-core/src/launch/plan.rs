//! Opens the barriers of one pod, the highest level first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::resource::CONFIG_MAPS;
use kruise_api::{annotations, kubernetes::CONTAINERS_READY, labels, names};
use serde_json::{Value, json};

use crate::chain::{Chain, Part, Patch, Purpose, Write};
use crate::ids::{ResourceVersion, Uid};
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView, Status};
use crate::time;

/// A ConfigMap that somebody deletes wakes nobody: a pod that is not up yet is looked at again after so many seconds.
const LOOK_AGAIN_SECONDS: i64 = 60;

/// The ConfigMap of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    pub uid: Uid,
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
    Create(Level),
    /// The ConfigMap belongs to an earlier pod of the same name: it is deleted and made anew (M10).
    Replace { uid: Uid, version: ResourceVersion, level: Level },
    /// The next level may start.
    Open { uid: Uid, level: Level },
    /// Mark the pod as done.
    Complete,
}

/// One level to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    pub key: String,
    pub last: Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    Yes,
    No,
}

/// The name of a pod's ConfigMap.
pub fn config_map_name(pod: &str) -> String {
    format!("{pod}{}", names::BARRIER_SUFFIX)
}

/// The key of one level.
pub fn key(priority: i64) -> String {
    format!("{}{priority}", names::BARRIER_KEY_PREFIX)
}

/// Whether the pod has barriers and is not up yet: only then its ConfigMap matters.
pub fn is_waiting(pod: &PodView) -> bool {
    pod.is_active()
        && pod.containers.iter().any(|container| container.priority.is_some())
        && !pod.condition_is(CONTAINERS_READY, Status::True)
}

/// The writes that let the next containers start.
pub fn plan(pod: &PodView, barrier: Option<&Barrier>, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if !is_waiting(pod) {
        return plan;
    }
    let name = config_map_name(pod.name.as_str());
    let object = ObjectRef::new(CONFIG_MAPS, Arc::clone(&pod.namespace), name);
    let writes = match step(pod, barrier) {
        Step::Nothing => Vec::new(),
        Step::Complete => completed(pod, Last::Yes),
        Step::Create(level) => created(pod, object, &level),
        Step::Replace { uid, version, level } => {
            let delete = Write::delete_version(object.clone(), &uid, Some(version));
            [vec![delete], created(pod, object, &level)].concat()
        }
        Step::Open { uid, level } => {
            // With the uid a successor of the same name is not touched.
            let body = json!({"metadata": {"uid": uid.as_str()}, "data": {(level.key): labels::TRUE}});
            let open = Write::patch(object, Part::Object, Patch::Merge(body));
            [vec![open], completed(pod, level.last)].concat()
        }
    };
    if writes.is_empty() {
        plan.revisit(time::after(now, LOOK_AGAIN_SECONDS));
    }
    plan.act(Chain::about(Purpose::Launch, pod, writes));
    plan
}

/// What comes next (SM-97, SM-98). A level opens when all higher ones are ready.
pub fn step(pod: &PodView, barrier: Option<&Barrier>) -> Step {
    let levels: BTreeMap<i64, bool> = pod.containers.iter().fold(BTreeMap::new(), |mut levels, container| {
        if let Some(priority) = container.priority {
            let is_ready = pod.status_of(&container.name).is_some_and(|one| one.is_ready);
            *levels.entry(priority).or_insert(true) &= is_ready;
        }
        levels
    });
    let lowest = levels.keys().next();
    let next = levels.iter().rev().find(|(_, ready)| !**ready).map(|(priority, _)| *priority);
    let level = next.map(|priority| Level {
        key: key(priority),
        last: if lowest == Some(&priority) { Last::Yes } else { Last::No },
    });
    let is_done = pod.annotations.get(annotations::CONTAINER_LAUNCH_PRIORITY_COMPLETED) == Some(labels::TRUE);
    match (barrier, level) {
        // Also for a pod that was done: its ConfigMap may have gone with an earlier pod (M10).
        (None, Some(level)) => Step::Create(level),
        // One that no pod owns is a user's: it gets the key, and nobody's data is deleted.
        (Some(found), Some(level)) if found.owner.as_ref().is_some_and(|owner| *owner != pod.uid) => {
            Step::Replace { uid: found.uid.clone(), version: found.version.clone(), level }
        }
        (Some(found), Some(level)) if !found.keys.contains(&level.key) => {
            Step::Open { uid: found.uid.clone(), level }
        }
        (Some(found), _) if !is_done && lowest.is_some_and(|lowest| found.keys.contains(&key(*lowest))) => {
            Step::Complete
        }
        (_, None) | (Some(_), Some(_)) => Step::Nothing,
    }
}

/// The ConfigMap goes with its pod.
fn created(pod: &PodView, object: ObjectRef, level: &Level) -> Vec<Write> {
    let owner =
        json!({"apiVersion": "v1", "kind": "Pod", "name": pod.name.as_str(), "uid": pod.uid.as_str()});
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": object.name(), "namespace": pod.namespace, "ownerReferences": [owner]},
        "data": {(level.key.as_str()): labels::TRUE},
    });
    [vec![Write::create(object, &body)], completed(pod, level.last)].concat()
}

fn completed(pod: &PodView, last: Last) -> Vec<Write> {
    match last {
        Last::No => Vec::new(),
        Last::Yes => {
            let mut edit = Edit::of(pod);
            edit.annotation(annotations::CONTAINER_LAUNCH_PRIORITY_COMPLETED, labels::TRUE);
            edit.write(Guard::Identity).into_iter().collect()
        }
    }
}

impl Barrier {
    /// A ConfigMap as the API server sends it.
    pub fn read(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let pod =
            owners.into_iter().flatten().find(|owner| owner.get("kind").is_some_and(|kind| kind == "Pod"));
        let keys = object.get("data").and_then(Value::as_object).into_iter().flatten();
        Self {
            uid: Uid::new(text("/metadata/uid")),
            version: ResourceVersion::new(text("/metadata/resourceVersion")),
            owner: pod.and_then(|owner| owner.get("uid")?.as_str()).map(Uid::new),
            keys: keys.map(|(key, _)| key.clone()).collect(),
        }
    }
}
