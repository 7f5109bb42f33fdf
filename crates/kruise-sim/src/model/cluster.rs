//! The objects of the tiny cluster, and what a write does to them.
//!
//! Versions count per object, not per cluster: two writes to different objects lead to the same state in either order.

use std::collections::BTreeMap;

use kruise_api::Resource;
use kruise_api::resource::PODS;
use kruise_core::chain::{Act, Part, Patch, Write};
use serde_json::{Value, json};

use super::object::Object;
use crate::json::put;
use crate::server::patch::strategic;

/// Time stands still.
pub const NOW: &str = "2026-01-01T00:00:00Z";

pub type Id = (Resource, String);

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Cluster {
    pub objects: BTreeMap<Id, Object>,
    /// How many objects of a name there have been: each has its own uid.
    lives: BTreeMap<Id, u8>,
}

/// What a watch tells: the new object, or that it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    pub id: Id,
    pub object: Option<Object>,
}

/// A precondition did not hold, or an object of that name was or was not there.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

impl Cluster {
    pub fn of(&self, resource: Resource) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |((kind, _), _)| *kind == resource).map(|(_, object)| object)
    }

    /// How many objects were ever created: another number for every name that is drawn.
    pub fn births(&self) -> u64 {
        self.lives.values().map(|count| u64::from(*count)).sum()
    }

    pub fn take(&mut self, event: &Event) {
        match &event.object {
            Some(object) => self.objects.insert(event.id.clone(), object.clone()),
            None => self.objects.remove(&event.id),
        };
    }

    /// Carries out one write; `None` if it changed nothing.
    pub fn write(&mut self, write: &Write) -> Result<Option<Event>, Refused> {
        let id = (write.object.resource, write.object.name().to_owned());
        if let Some(other) = &write.unless
            && self.objects.contains_key(&(other.resource, other.name().to_owned()))
        {
            return Ok(None);
        }
        match &write.act {
            Act::Create(body) => self.create(id, serde_json::from_str(body).map_err(|_| Refused)?).map(Some),
            Act::Patch(patch) => {
                let old = self.objects.get(&id).ok_or(Refused)?.clone();
                let mut new = old.value().clone();
                apply(&mut new, patch)?;
                let is_spec = write.part == Part::Object && id.0 == PODS;
                if is_spec && new.get("spec") != old.value().get("spec") {
                    count_generation(&mut new);
                }
                Ok(self.store(id, &old, new))
            }
            Act::Delete { uid, version } => {
                let old = self.objects.get(&id).ok_or(Refused)?.clone();
                let is_it = old.text("/metadata/uid") == uid.as_str();
                let is_seen =
                    version.as_ref().is_none_or(|one| old.text("/metadata/resourceVersion") == one.as_str());
                if is_it && is_seen { Ok(self.delete(id, &old)) } else { Err(Refused) }
            }
        }
    }

    /// What the kubelet patches.
    pub fn patch_status(&mut self, id: Id, operations: &[Value]) -> Result<Option<Event>, Refused> {
        let old = self.objects.get(&id).ok_or(Refused)?.clone();
        let mut new = old.value().clone();
        json_patch(&mut new, &json!(operations))?;
        Ok(self.store(id, &old, new))
    }

    pub fn remove(&mut self, id: Id) -> Event {
        self.objects.remove(&id);
        Event { id, object: None }
    }

    /// A user changes the spec.
    pub fn edit(&mut self, id: Id, edit: fn(&mut Value)) -> Option<Event> {
        let old = self.objects.get(&id)?.clone();
        let mut new = old.value().clone();
        edit(new.get_mut("spec")?);
        count_generation(&mut new);
        self.store(id, &old, new)
    }

    pub fn create(&mut self, id: Id, mut body: Value) -> Result<Event, Refused> {
        if self.objects.contains_key(&id) {
            return Err(Refused);
        }
        let life = self.lives.entry(id.clone()).or_default();
        *life += 1;
        let uid = format!("{}-{life}", id.1);
        for (key, value) in [
            ("uid", json!(uid)),
            ("resourceVersion", json!("1")),
            ("generation", json!(1)),
            ("creationTimestamp", json!(NOW)),
            ("namespace", json!("n")),
        ] {
            put(&mut body, "/metadata", key, value);
        }
        if id.0 == PODS {
            put(&mut body, "", "status", json!({"phase": "Pending"}));
            put(&mut body, "/spec", "nodeName", "node");
        }
        let object = Object::new(body);
        self.objects.insert(id.clone(), object.clone());
        Ok(Event { id, object: Some(object) })
    }

    /// A pod ends when its node says so; everything else is gone at once.
    fn delete(&mut self, id: Id, old: &Object) -> Option<Event> {
        if id.0 != PODS {
            return Some(self.remove(id));
        }
        let mut new = old.value().clone();
        put(&mut new, "/metadata", "deletionTimestamp", NOW);
        put(&mut new, "/metadata", "deletionGracePeriodSeconds", 1);
        self.store(id, old, new)
    }

    fn store(&mut self, id: Id, old: &Object, mut new: Value) -> Option<Event> {
        if new == *old.value() {
            return None;
        }
        let version: u32 = old.text("/metadata/resourceVersion").parse().unwrap_or(0);
        put(&mut new, "/metadata", "resourceVersion", (version + 1).to_string());
        let object = Object::new(new);
        self.objects.insert(id.clone(), object.clone());
        Some(Event { id, object: Some(object) })
    }
}

/// The spec has changed.
fn count_generation(object: &mut Value) {
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(1) + 1;
    put(object, "/metadata", "generation", generation);
}

fn apply(object: &mut Value, patch: &Patch) -> Result<(), Refused> {
    match patch {
        Patch::Json(operations) => json_patch(object, &json!(operations)),
        Patch::Merge(body) => check_uid(object, body).map(|()| json_patch::merge(object, body)),
        Patch::Strategic(body) => check_uid(object, body).map(|()| strategic::merge(object, body, "")),
    }
}

/// A uid in a patch must be that of the object.
fn check_uid(object: &Value, body: &Value) -> Result<(), Refused> {
    let said = body.pointer("/metadata/uid");
    if said.is_none() || said == object.pointer("/metadata/uid") { Ok(()) } else { Err(Refused) }
}

fn json_patch(object: &mut Value, operations: &Value) -> Result<(), Refused> {
    let operations: json_patch::Patch = serde_json::from_value(operations.clone()).map_err(|_| Refused)?;
    json_patch::patch(object, &operations).map_err(|_| Refused)
}
