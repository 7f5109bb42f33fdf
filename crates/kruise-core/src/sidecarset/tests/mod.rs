//! Fixtures: a SidecarSet, its pods and its revisions.

mod admission;
mod formula;
mod golden;
mod inject;
mod plan;
mod takeover;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{SidecarSet, View, admission as judge};
use crate::admission::fixtures::Surroundings;
use crate::admission::{Answer, Request};
use crate::chain::Op;
use crate::cluster::namespace::Namespace;
use crate::fixtures::sources::Indexed;
use crate::fixtures::t0;
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory};
use crate::plan::Plan;
use crate::pod::PodView;
use crate::revision::Known;
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

pub const NAMESPACE: &str = "kruise-system";

/// What a JSON patch makes of an object.
pub fn patched(mut object: Value, ops: &[Op]) -> Value {
    for op in ops {
        let op = json!(op);
        let path = op["path"].as_str().unwrap();
        let (parent, last) = path.rsplit_once('/').unwrap();
        let key = last.replace("~1", "/").replace("~0", "~");
        let parent = object.pointer_mut(parent).unwrap();
        match (parent, op["op"].as_str().unwrap()) {
            (_, "test") => {}
            (Value::Object(map), "remove") => {
                map.remove(&key).unwrap();
            }
            (Value::Object(map), _) => {
                map.insert(key, op["value"].clone());
            }
            (Value::Array(list), "remove") => {
                list.remove(key.parse::<usize>().unwrap());
            }
            (Value::Array(list), "add") if key == "-" => list.push(op["value"].clone()),
            (Value::Array(list), "add") => list.insert(key.parse().unwrap(), op["value"].clone()),
            (Value::Array(list), _) => list[key.parse::<usize>().unwrap()] = op["value"].clone(),
            (other, _) => panic!("{path} in {other}"),
        }
    }
    object
}

/// As admission stores it.
pub fn stored(object: Value) -> Value {
    let answer = judge::mutate(&Request::create(object.clone()));
    assert_eq!(answer.denial, None, "{object}");
    patched(object, &answer.patch)
}

/// A set that injects one container `side`, with fields of its spec replaced.
pub fn set(name: &str, more: Value) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "web"}},
        "containers": [{"name": "side", "image": "side:1"}],
    });
    let Value::Object(more) = more else { panic!("{more}") };
    spec.as_object_mut().unwrap().extend(more);
    let metadata = json!({
        "name": name, "uid": format!("uid-{name}"), "resourceVersion": "7", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    stored(
        json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "SidecarSet", "metadata": metadata, "spec": spec}),
    )
}

/// A new pod with one container `main`.
pub fn new_pod(more: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "main:1"}]},
    });
    merge(&mut pod, more);
    pod
}

pub fn merge(target: &mut Value, more: Value) {
    match (target, more) {
        (Value::Object(target), Value::Object(more)) => {
            for (key, value) in more {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        (target, more) => *target = more,
    }
}

/// What there is when a pod is created.
#[derive(Default)]
pub struct World {
    pub around: Surroundings,
}

impl World {
    pub fn of(sets: &[&Value]) -> Self {
        let mut world = Self::default();
        for one in sets {
            world.around = world.around.with::<SidecarSet>(one);
        }
        world
    }

    pub fn namespace(mut self, name: &str, labels: Value) -> Self {
        let mut object = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}});
        object["metadata"]["labels"] = labels;
        self.around = self.around.with::<Namespace>(&object);
        self
    }

    pub fn revision(mut self, object: &Value) -> Self {
        self.around = self.around.with::<Known>(object);
        self
    }

    pub fn ask(&self, pod: &Value) -> Answer {
        let steps = crate::admission::pod::PodSteps::new([super::inject::pod_step()]);
        steps.mutate(&Request::create(pod.clone()), &self.around.known())
    }

    /// The pod as it is stored.
    pub fn create(&self, pod: Value) -> Value {
        let answer = self.ask(&pod);
        assert_eq!(answer.denial, None);
        patched(pod, &answer.patch)
    }

    pub fn refused(&self, pod: &Value) -> String {
        self.ask(pod).denial.unwrap().message
    }
}

/// A set with its pods and revisions, to be planned.
pub struct Case {
    pub set: Value,
    pub pods: Vec<Value>,
    pub revisions: Vec<Value>,
    pub namespaces: Vec<Value>,
    pub others: Vec<Value>,
    pub gates: Gates,
}

impl Case {
    /// A settled set: all pods have its sidecars, and its revision is stored.
    pub fn of(set: Value, pods: usize) -> Self {
        let mut case = Self {
            set,
            pods: Vec::new(),
            revisions: Vec::new(),
            namespaces: Vec::new(),
            others: Vec::new(),
            gates: Gates::default(),
        };
        case.settle();
        for i in 0..pods {
            case.add(&format!("p{i}"), json!({}));
        }
        case.settle();
        case
    }

    /// Another running pod that was created under the set as it is.
    pub fn add(&mut self, name: &str, more: Value) {
        let world = World::of(&[&self.set]);
        let mut pod = world.create(new_pod(json!({"metadata": {"name": name}})));
        merge(
            &mut pod,
            json!({
                "metadata": {"uid": format!("uid-{name}"), "resourceVersion": "1", "creationTimestamp": "2026-02-01T00:00:00Z"},
                "spec": {"nodeName": "node"},
            }),
        );
        run(&mut pod);
        merge(&mut pod, more);
        self.pods.push(pod);
    }

    /// Changes the spec as a user does.
    pub fn change(&mut self, path: &str, value: Value) {
        *self.set["spec"].pointer_mut(path).unwrap() = value;
        let generation = self.set["metadata"]["generation"].as_i64().unwrap();
        self.set["metadata"]["generation"] = json!(generation + 1);
        self.set["metadata"]["resourceVersion"] = json!(format!("{}", generation + 100));
        self.set = stored(self.set.clone());
    }

    pub fn view(&self) -> View {
        let set = SidecarSet::read(&self.set);
        let setup =
            Setup { gates: self.gates.clone(), resize: Resize::Endpoint, namespace: NAMESPACE.into() };
        let turn = Turn::first(t0(), 1);
        // sidecarset/B21: no plan looks at all pods or at all revisions.
        let source = Indexed(self.memory());
        View::assemble(&set, Sources { lookup: Lookup::new(&source), setup: &setup, turn: &turn })
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        memory.put(Arc::new(SidecarSet::read(&self.set)));
        for other in &self.others {
            memory.put(Arc::new(SidecarSet::read(other)));
        }
        for pod in &self.pods {
            memory.put(Arc::new(serde_json::from_value::<PodView>(pod.clone()).unwrap()));
        }
        for revision in &self.revisions {
            memory.put(Arc::new(serde_json::from_value::<Known>(revision.clone()).unwrap()));
        }
        for namespace in &self.namespaces {
            memory.put(Arc::new(serde_json::from_value::<Namespace>(namespace.clone()).unwrap()));
        }
        memory
    }

    pub fn plan(&self) -> Plan {
        super::plan(&self.view(), t0())
    }

    /// Carries a plan out.
    pub fn apply(&mut self, plan: &Plan) {
        use crate::chain::{Act, Patch};
        for write in plan.writes() {
            let find = |all: &mut Vec<Value>| {
                all.iter().position(|one| {
                    one["metadata"]["name"] == write.object.name()
                        && (one["metadata"]["namespace"].is_null()
                            || one["metadata"]["namespace"] == write.object.namespace())
                })
            };
            match (&write.act, write.object.resource.kind()) {
                (Act::Create(body), "ControllerRevision") => {
                    let mut object: Value = serde_json::from_str(body).unwrap();
                    merge(
                        &mut object,
                        json!({"metadata": {"uid": write.object.name(), "resourceVersion": "1"}}),
                    );
                    self.revisions.push(object);
                }
                (Act::Delete { .. }, "ControllerRevision") => {
                    let at = find(&mut self.revisions).unwrap();
                    self.revisions.remove(at);
                }
                (Act::Patch(Patch::Json(ops)), kind) => {
                    let all = if kind == "Pod" { &mut self.pods } else { &mut self.revisions };
                    let at = find(all).unwrap();
                    all[at] = patched(all[at].clone(), ops);
                }
                (Act::Patch(Patch::Strategic(body)), "Pod") => {
                    let at = find(&mut self.pods).unwrap();
                    for condition in body["status"]["conditions"].as_array().unwrap() {
                        let list = self.pods[at]["status"]["conditions"].as_array_mut().unwrap();
                        list.retain(|one| one["type"] != condition["type"]);
                        list.push(condition.clone());
                    }
                }
                (Act::Patch(Patch::Merge(body)), "SidecarSet") => {
                    merge(&mut self.set["status"], body["status"].clone());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Plans and applies until nothing is written any more; nodes run what pods say in between.
    pub fn settle(&mut self) -> usize {
        for round in 0..100 {
            let plan = self.plan();
            if plan.writes().next().is_none() {
                return round;
            }
            self.apply(&plan);
            self.pods.iter_mut().for_each(run);
        }
        panic!("it never ends");
    }

    pub fn status(&self) -> [i64; 4] {
        ["matchedPods", "updatedPods", "readyPods", "updatedReadyPods"]
            .map(|field| self.set["status"][field].as_i64().unwrap_or(0))
    }

    pub fn image(&self, pod: usize, container: &str) -> String {
        let containers = self.pods[pod]["spec"]["containers"].as_array().unwrap();
        let found = containers.iter().find(|one| one["name"] == container).unwrap();
        found["image"].as_str().unwrap().to_owned()
    }

    pub fn annotation(&self, pod: usize, key: &str) -> String {
        self.pods[pod]["metadata"]["annotations"][key].as_str().unwrap_or_default().to_owned()
    }
}

/// The node runs what the spec says; images with `bad` never start.
pub fn run(pod: &mut Value) {
    let before: BTreeMap<String, Value> = pod["status"]["containerStatuses"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one.clone()))
        .collect();
    let mut are_ready = true;
    let mut statuses = Vec::new();
    for container in pod["spec"]["containers"].as_array().unwrap() {
        let (name, image) = (container["name"].as_str().unwrap(), container["image"].as_str().unwrap());
        if image.contains("bad") {
            are_ready = false;
            let old = before.get(name);
            let id = old.map_or(json!(""), |old| old["imageID"].clone());
            let was = old.map_or(json!(""), |old| old["image"].clone());
            statuses.push(json!({"name": name, "image": was, "imageID": id, "ready": false}));
        } else {
            statuses.push(
                json!({"name": name, "image": image, "imageID": format!("sha256:{image}"), "ready": true}),
            );
        }
    }
    pod["status"]["containerStatuses"] = json!(statuses);
    pod["status"]["phase"] = json!("Running");
    let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|one| one["type"] != "Ready");
    let word = if are_ready { "True" } else { "False" };
    conditions
        .insert(0, json!({"type": "Ready", "status": word, "lastTransitionTime": "2026-02-01T00:00:01Z"}));
    pod["status"]["conditions"] = json!(conditions);
}
