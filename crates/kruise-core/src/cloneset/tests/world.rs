//! A tiny cluster in memory: an object store that honours preconditions, and nodes that run pods. Just enough to carry out
//! plans and see where they lead.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::chain::{Op, Part, Patch, Resource, Write};
use crate::time;

/// Images that no node can pull.
pub const BROKEN: &str = "broken";
/// Label that holds a pod in the hooks of these tests.
pub const HOOK: &str = "hold";

#[derive(Debug, Clone)]
pub struct World {
    pub cloneset: Value,
    pub pods: BTreeMap<String, Value>,
    pub revisions: BTreeMap<String, Value>,
    pub now: Timestamp,
    version: u64,
    pub writes: usize,
}

/// The write was refused; the next plan starts from what is there.
#[derive(Debug, PartialEq, Eq)]
pub struct Conflict;

impl World {
    pub fn of(fixture: &Fixture) -> Self {
        let mut world = Self {
            cloneset: fixture.object.clone(),
            pods: BTreeMap::new(),
            revisions: BTreeMap::new(),
            now: now(),
            version: 100,
            writes: 0,
        };
        world.cloneset["metadata"]["uid"] = json!("uid-web");
        world
    }

    /// Stores a template as a revision that was used before.
    pub fn store(&mut self, template: &Value, number: i64) -> String {
        let data = Data::of(template).unwrap();
        let name = data.name("web", 0).to_string();
        let stored: Value = serde_json::from_str(data.text()).unwrap();
        let object = json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "labels": {},
            "annotations": {"kruise.io/cloneset-volumeclaimtemplate-hash": ""}}, "revision": number, "data": stored});
        self.revisions.insert(name.clone(), object);
        name
    }

    pub fn view(&self) -> View {
        let pods =
            self.pods.values().map(|pod| Arc::new(serde_json::from_value(pod.clone()).unwrap())).collect();
        let revisions = self.revisions.values().filter_map(Revision::read).map(Arc::new).collect();
        let mut view = View::of(&self.cloneset, PreparingDelete::Counted).with(pods, revisions);
        view.seed = self.version;
        view
    }

    pub fn plan(&self) -> Plan {
        super::super::plan(&self.view(), self.now)
    }

    /// Carries out a plan: chains one after the other, each until its first refused write; at most `limit` writes in all.
    pub fn apply(&mut self, plan: &Plan, limit: usize) {
        let mut left = limit;
        for chain in &plan.chains {
            for write in &chain.writes {
                if left == 0 {
                    return;
                }
                left -= 1;
                if self.write(write).is_err() {
                    break;
                }
            }
        }
        if let (Some(status), true) = (&plan.status, left > 0) {
            self.write(status).unwrap();
        }
    }

    pub fn write(&mut self, write: &Write) -> Result<(), Conflict> {
        self.version += 1;
        self.writes += 1;
        let version = json!(self.version.to_string());
        match (write.resource, &write.act) {
            (Resource::Pod, Act::Create(body)) => {
                assert!(!self.pods.contains_key(&write.name), "two pods of one name");
                let mut pod = body.clone();
                pod["metadata"]["uid"] = json!(format!("uid-{}-{}", write.name, self.version));
                pod["metadata"]["resourceVersion"] = version;
                pod["metadata"]["creationTimestamp"] = json!(time::seconds(self.now));
                pod["status"] = json!({"phase": "Pending", "conditions": []});
                self.pods.insert(write.name.clone(), pod);
            }
            (Resource::Revision, Act::Create(body)) => {
                let mut revision = body.clone();
                revision["metadata"]["uid"] = json!(format!("uid-{}", write.name));
                revision["metadata"]["resourceVersion"] = version;
                self.revisions.insert(write.name.clone(), revision);
            }
            (Resource::Pod, Act::Delete { uid, version: wanted_version }) => {
                let pod = &self.pods.get(&write.name).ok_or(Conflict)?["metadata"];
                let is_same = pod["uid"] == uid.as_str()
                    && wanted_version.as_ref().is_none_or(|wanted| pod["resourceVersion"] == wanted.as_str());
                if !is_same {
                    return Err(Conflict);
                }
                self.pods.remove(&write.name);
            }
            (Resource::Revision, Act::Delete { .. }) => {
                self.revisions.remove(&write.name);
            }
            (resource, Act::Patch { part, patch: body }) => {
                let target = match resource {
                    Resource::Pod => self.pods.get_mut(&write.name).ok_or(Conflict)?,
                    Resource::Revision => self.revisions.get_mut(&write.name).ok_or(Conflict)?,
                    Resource::Workload => &mut self.cloneset,
                    Resource::Claim | Resource::ImagePullJob => panic!("{write:?}"),
                };
                let mut patched = target.clone();
                patch(&mut patched, body)?;
                if resource == Resource::Pod {
                    assert_eq!(patched["status"] != target["status"], *part == Part::Status, "{write:?}");
                }
                patched["metadata"]["resourceVersion"] = version;
                *target = patched;
            }
            (_, act) => panic!("{act:?}"),
        }
        Ok(())
    }

    pub fn nodes(&mut self) {
        nodes(&mut self.pods, &mut self.version, self.now);
    }

    pub fn hook_owner(&mut self) {
        hook_owner(&mut self.pods, &mut self.version);
    }

    /// One round: plan, carry out, let nodes work, let time pass.
    pub fn round(&mut self, limit: usize) -> Plan {
        let plan = self.plan();
        self.apply(&plan, limit);
        self.nodes();
        self.hook_owner();
        self.now = time::after(self.now, 5);
        plan
    }

    pub fn available(&self) -> usize {
        let view = self.view();
        let spec = view.spec.clone().unwrap();
        view.active().filter(|pod| spec.is_available(pod, self.now)).count()
    }

    pub fn at(&self, revision: &str) -> usize {
        let hash = crate::ids::RevisionHash::last_segment(revision);
        self.view().active().filter(|pod| pod.revision().as_ref() == Some(&hash)).count()
    }

    pub fn uids(&self) -> BTreeSet<String> {
        self.pods.values().filter_map(|pod| pod["metadata"]["uid"].as_str().map(str::to_owned)).collect()
    }
}

/// Nodes do their work: schedule, start containers with the spec's images, report readiness.
pub fn nodes(pods: &mut BTreeMap<String, Value>, version: &mut u64, now: Timestamp) {
    let now = time::seconds(now);
    let text = |holds| if holds { "True" } else { "False" };
    for pod in pods.values_mut() {
        let before = pod.clone();
        pod["spec"]["nodeName"] = json!("node");
        pod["status"]["phase"] = json!("Running");
        let containers = pod["spec"]["containers"].as_array().cloned().unwrap_or_default();
        let mut all_ready = true;
        let statuses: Vec<Value> = containers
            .iter()
            .map(|container| {
                let is_broken = container["image"].as_str().unwrap().contains(BROKEN);
                all_ready &= !is_broken;
                let image_id = if is_broken { json!("") } else { container["image"].clone() };
                json!({"name": container["name"], "image": container["image"], "imageID": image_id,
                    "containerID": image_id, "ready": !is_broken})
            })
            .collect();
        pod["status"]["containerStatuses"] = json!(statuses);
        let gates: Vec<String> = pod["spec"]["readinessGates"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|gate| gate["conditionType"].as_str().map(str::to_owned))
            .collect();
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_true =
            |kind: &String| conditions.iter().any(|one| one["type"] == **kind && one["status"] == "True");
        let ready = all_ready && gates.iter().all(is_true);
        condition(pod, "ContainersReady", text(all_ready), &now);
        condition(pod, "Ready", text(ready), &now);
        if *pod != before {
            *version += 1;
            pod["metadata"]["resourceVersion"] = json!(version.to_string());
        }
    }
}

/// The owner of the hooks: lets go of pods that wait for it, and takes updated ones back.
pub fn hook_owner(pods: &mut BTreeMap<String, Value>, version: &mut u64) {
    for pod in pods.values_mut() {
        let labels = &mut pod["metadata"]["labels"];
        match labels["lifecycle.apps.kruise.io/state"].as_str() {
            Some("PreparingDelete" | "PreparingUpdate") => {
                labels.as_object_mut().unwrap().remove(HOOK);
            }
            Some("Updated") => labels[HOOK] = json!("on"),
            _ => continue,
        }
        *version += 1;
        pod["metadata"]["resourceVersion"] = json!(version.to_string());
    }
}

fn condition(pod: &mut Value, kind: &str, status: &str, now: &str) {
    let list = pod["status"]["conditions"].as_array_mut().unwrap();
    match list.iter_mut().find(|one| one["type"] == kind) {
        Some(one) if one["status"] == status => {}
        Some(one) => *one = json!({"type": kind, "status": status, "lastTransitionTime": now}),
        None => list.push(json!({"type": kind, "status": status, "lastTransitionTime": now})),
    }
}

pub fn patch(object: &mut Value, patch: &Patch) -> Result<(), Conflict> {
    match patch {
        Patch::Json(ops) => ops.iter().try_for_each(|op| operation(object, op)),
        Patch::Strategic(body) => {
            if body["metadata"]["uid"] != object["metadata"]["uid"] {
                return Err(Conflict);
            }
            strategic(object, body);
            Ok(())
        }
        Patch::Merge(body) => {
            merge(object, body);
            Ok(())
        }
    }
}

fn operation(object: &mut Value, op: &Op) -> Result<(), Conflict> {
    match op {
        Op::Test { path, value } => {
            if object.pointer(path) == Some(value) {
                Ok(())
            } else {
                Err(Conflict)
            }
        }
        Op::Add { path, value } | Op::Replace { path, value } => {
            let (parent, key) = path.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/").replace("~0", "~");
            match object.pointer_mut(parent).ok_or(Conflict)? {
                Value::Array(list) if key == "-" => list.push(value.clone()),
                Value::Array(list) => {
                    *list.get_mut(key.parse::<usize>().unwrap()).ok_or(Conflict)? = value.clone();
                }
                Value::Object(map) => {
                    map.insert(key, value.clone());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(Conflict),
            }
            Ok(())
        }
        Op::Remove { path } => {
            let (parent, key) = path.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/").replace("~0", "~");
            let map = object.pointer_mut(parent).and_then(Value::as_object_mut).ok_or(Conflict)?;
            map.remove(&key).map(|_| ()).ok_or(Conflict)
        }
    }
}

/// Maps are merged, conditions by type; nothing else of a strategic merge is used.
fn strategic(object: &mut Value, body: &Value) {
    let Some(more) = body.as_object() else { return };
    for (key, value) in more {
        match value {
            Value::Array(items) if key == "conditions" => {
                if object[key].is_null() {
                    object[key] = json!([]);
                }
                let list = object[key].as_array_mut().unwrap();
                for item in items {
                    list.retain(|one| one["type"] != item["type"]);
                    list.push(item.clone());
                }
            }
            Value::Object(_) => strategic(&mut object[key], value),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                object[key] = value.clone();
            }
        }
    }
}

fn merge(object: &mut Value, body: &Value) {
    match body.as_object() {
        Some(more) => more.iter().for_each(|(key, value)| merge(&mut object[key], value)),
        None => *object = body.clone(),
    }
}
