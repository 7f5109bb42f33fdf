//! Rules of ResourceDistribution, in a tiny cluster: plans are carried out one write at a time, as the manager does.

mod admission;
mod plan;
mod properties;
mod status;
mod takeover;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::resource::NAMESPACES;
use serde_json::{Value, json};

use crate::chain::{Act, Write};
use crate::cluster::namespace::Namespace;
use crate::fixtures::t0;
use crate::fixtures::world::patched;
use crate::gates::Gates;
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory, Slim};
use crate::object::{Item, ObjectRef};
use crate::plan::Plan;
use crate::resourcedistribution::{
    Checked, CopiedConfigMap, CopiedSecret, ResourceDistribution, View, plan as next, to_read,
};
use crate::turn::{Failed, Setup, Turn};
use crate::workload::base::Sources;

/// Objects, and what a manager remembers.
pub struct World {
    pub objects: BTreeMap<ObjectRef, Value>,
    pub checked: Checked,
    pub failed: BTreeMap<Item, Failed>,
    /// Namespaces whose objects cannot be written, or not be read.
    pub refused: BTreeSet<String>,
    pub unreadable: BTreeSet<String>,
    pub reads: usize,
    version: u64,
    pub now: Timestamp,
}

/// Namespaces `a`, `b`, … with the label `team: <name>`.
pub fn world(namespaces: &[&str]) -> World {
    let mut world = World {
        objects: BTreeMap::new(),
        checked: Checked::default(),
        failed: BTreeMap::new(),
        refused: BTreeSet::new(),
        unreadable: BTreeSet::new(),
        reads: 0,
        version: 10,
        now: t0(),
    };
    for name in namespaces {
        world.put(&namespace(name));
    }
    world
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": name, "on": "1"}}, "status": {"phase": "Active"}})
}

pub fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}})
}

pub fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"k": "v"}})
}

/// A distribution `d` of this object.
pub fn distribution(resource: &Value, targets: &Value) -> Value {
    json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "ResourceDistribution", "metadata": {"name": "d", "uid": "d-1", "generation": 1},
        "spec": {"resource": resource, "targets": targets},
    })
}

pub fn included(names: &[&str]) -> Value {
    let list: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"includedNamespaces": {"list": list}})
}

pub fn itself() -> ObjectRef {
    ObjectRef::new(ResourceDistribution::RESOURCE, "", "d")
}

fn reference(object: &Value) -> ObjectRef {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let resource = match object["kind"].as_str().unwrap() {
        "Namespace" => NAMESPACES,
        "Secret" => CopiedSecret::RESOURCE,
        "ConfigMap" => CopiedConfigMap::RESOURCE,
        "ResourceDistribution" => ResourceDistribution::RESOURCE,
        other => panic!("{other}"),
    };
    ObjectRef::new(resource, text("namespace"), text("name"))
}

impl World {
    pub fn with(mut self, object: &Value) -> Self {
        self.put(object);
        self
    }

    pub fn put(&mut self, object: &Value) {
        let mut object = object.clone();
        self.version += 1;
        let uid = json!(format!("uid-{}", self.version));
        let meta = object["metadata"].as_object_mut().unwrap();
        meta.entry("uid").or_insert(uid);
        meta.insert("resourceVersion".to_owned(), json!(self.version.to_string()));
        // As the API server stores it.
        if object["kind"] == "Secret" {
            let text = object.as_object_mut().unwrap().shift_remove("stringData").unwrap_or_default();
            for (key, value) in text.as_object().into_iter().flatten() {
                use base64::Engine;
                let coded = base64::engine::general_purpose::STANDARD.encode(value.as_str().unwrap());
                object["data"][key] = json!(coded);
            }
            if object["type"].is_null() {
                object["type"] = json!("Opaque");
            }
        }
        self.objects.insert(reference(&object), object);
    }

    /// Of a copy in a namespace, whichever kind it has.
    pub fn at(&self, namespace: &str) -> Option<&Value> {
        let is_it = |one: &&ObjectRef| one.namespace() == namespace && one.name() == "s";
        self.objects.keys().find(is_it).map(|one| &self.objects[one])
    }

    pub fn copies(&self) -> Vec<&str> {
        self.objects.keys().filter(|one| one.name() == "s").map(ObjectRef::namespace).collect()
    }

    pub fn edit(&mut self, object: &ObjectRef, change: impl FnOnce(&mut Value)) {
        let mut new = self.objects[object].clone();
        change(&mut new);
        self.put(&new);
    }

    pub fn edit_copy(&mut self, namespace: &str, change: impl FnOnce(&mut Value)) {
        let object = reference(self.at(namespace).unwrap());
        self.edit(&object, change);
    }

    pub fn remove(&mut self, object: &Value) {
        self.objects.remove(&reference(object)).unwrap();
    }

    pub fn status(&self) -> &Value {
        &self.objects[&itself()]["status"]
    }

    /// Names of namespaces for which a condition is true.
    pub fn failing(&self, condition: &str) -> Vec<&str> {
        let all = self.status()["conditions"].as_array().unwrap();
        let one = all.iter().find(|one| one["type"] == condition).unwrap();
        let names = one["failedNamespaces"].as_array().into_iter().flatten();
        names.map(|name| name.as_str().unwrap()).collect()
    }

    fn memory(&self) -> Memory {
        fn put<T: Slim>(memory: &mut Memory, object: &Value) {
            memory.put(Arc::new(serde_json::from_value::<T>(object.clone()).unwrap()));
        }
        let mut memory = Memory::default();
        for object in self.objects.values() {
            match object["kind"].as_str().unwrap() {
                "Namespace" => put::<Namespace>(&mut memory, object),
                "Secret" => put::<CopiedSecret>(&mut memory, object),
                "ConfigMap" => put::<CopiedConfigMap>(&mut memory, object),
                _ => put::<ResourceDistribution>(&mut memory, object),
            }
        }
        memory
    }

    /// Reads what has to be read, and plans.
    pub fn plan(&mut self) -> Plan {
        let memory = self.memory();
        let lookup = Lookup::new(&memory);
        let object = lookup.get::<ResourceDistribution>(&itself().key).unwrap();
        let setup =
            Setup { gates: Gates::default(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let mut turn = Turn { failed: self.failed.clone(), ..Turn::first(self.now, self.version) };
        for one in to_read(&object, &self.checked, lookup) {
            self.reads += 1;
            if self.unreadable.contains(one.namespace()) {
                turn.unread.insert(one, "no answer".to_owned());
            } else {
                let live = self.objects.get(&one).map(Value::to_string);
                turn.live.insert(one, live);
            }
        }
        let view = View::assemble(&object, &self.checked, Sources { lookup, setup: &setup, turn: &turn });
        self.checked = view.checked();
        next(&view, self.now)
    }

    /// Carries a plan out; returns how many writes went well.
    pub fn apply(&mut self, plan: &Plan) -> usize {
        let mut made = 0;
        let content = self.content();
        for chain in &plan.chains {
            let item = chain.item.clone().unwrap();
            let object = chain.writes[0].object.clone();
            if self.refused.contains(object.namespace()) {
                let message = format!("{object} was refused: no");
                self.failed.insert(item, Failed { purpose: chain.purpose, message });
            } else if self.write(&chain.writes[0]) {
                self.failed.remove(&item);
                made += 1;
                if let (Some(stored), Some(content)) = (self.objects.get(&object), &content) {
                    let version = stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
                    self.checked.add(&object.key.namespace, &version, content);
                }
            }
        }
        made + usize::from(plan.status.as_ref().is_some_and(|write| self.write(write)))
    }

    fn content(&self) -> Option<crate::resourcedistribution::Content> {
        let object: ResourceDistribution = serde_json::from_value(self.objects[&itself()].clone()).unwrap();
        object.spec.ok().map(|spec| spec.resource.content.clone())
    }

    pub fn write(&mut self, write: &Write) -> bool {
        let found = self.objects.get(&write.object);
        match &write.act {
            Act::Create(body) if found.is_none() => self.put(&serde_json::from_str(body).unwrap()),
            Act::Patch(patch) => match found.map(|one| patched(one, patch)) {
                Some(Ok(new)) => self.put(&new),
                Some(Err(_)) | None => return false,
            },
            Act::Delete { uid, version } => {
                let is_it = found.is_some_and(|one| {
                    one["metadata"]["uid"] == uid.as_str()
                        && version.as_ref().is_none_or(|it| one["metadata"]["resourceVersion"] == it.as_str())
                });
                if !is_it {
                    return false;
                }
                self.objects.remove(&write.object);
            }
            Act::Create(_) => return false,
        }
        true
    }

    /// Until nothing is written; returns how many writes there were.
    pub fn settle(&mut self) -> usize {
        let mut writes = 0;
        for _ in 0..20 {
            let plan = self.plan();
            let made = self.apply(&plan);
            writes += made;
            let waits = plan.reasons.values().any(|reason| reason.name() == "NextBatch");
            if made == 0 && (plan.chains.is_empty() || !self.failed.is_empty()) && !waits {
                return writes;
            }
        }
        panic!("it never settles");
    }
}
