//! Updates and patches: what each endpoint may change, optimistic locking, generation, the end by the last finalizer.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::admission::{Admission, Written};
use super::builtin::{member, prepare_changed, validate_changed};
use super::failure::{Cause, Failure};
use super::patch;
use super::request::{Call, Part};
use super::resources::{Generation, Kind, Rules, StatusPart};
use super::state::{Answer, State};
use super::store::{Name, Object, What};

impl State {
    pub(super) fn update(&mut self, call: &Call) -> Result<Answer, Failure> {
        let (at, old) = self.found(call)?;
        if call.part == Part::Scale {
            let replicas = call.body.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
            return self.set_scale(call, at, &old, replicas);
        }
        let said = version_in(&call.body);
        if said.is_empty() && call.kind.is_custom() {
            let message = "Invalid value: 0: must be specified for an update";
            let cause = Cause::new("FieldValueInvalid", "metadata.resourceVersion", message);
            return Err(
                Failure::invalid(call.kind, &call.name, vec![cause]).named(call.kind.resource.plural())
            );
        }
        self.change(call, at, &old, call.body.clone())
    }

    pub(super) fn patch(&mut self, call: &Call) -> Result<Answer, Failure> {
        let (at, old) = self.found(call)?;
        if call.part == Part::Scale {
            let scale = patch::apply(call.kind, call.verb, &scale_of(call.kind, &old)?, &call.body)?;
            let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
            return self.set_scale(call, at, &old, replicas);
        }
        let new = patch::apply(call.kind, call.verb, &old.value, &call.body)?;
        self.change(call, at, &old, new)
    }

    fn change(
        &mut self,
        call: &Call,
        at: Name,
        old: &Arc<Object>,
        mut new: Value,
    ) -> Result<Answer, Failure> {
        let kind = call.kind;
        check_identity(kind, &call.name, old, &new)?;
        merge_part(kind, call.part, old, &mut new)?;
        let is_touching_spec = call.part != Part::Status;
        let written = Written { call, at: &at, old: Some(old) };
        if is_touching_spec {
            prepare_changed(kind, &mut new);
            self.mutate(&written, &mut new)?;
            count_generation(kind, old, &mut new);
        }
        check_change(call, old, &new)?;
        if is_touching_spec {
            self.judge(&written, Some(&new))?;
        }
        if old.value == new {
            return Ok(Answer::object(200, Arc::clone(old))); // Nothing is written, the version stays.
        }
        if is_over(&new) {
            // The last state is answered but never stored: whoever watches is told the one before.
            self.commit(kind, at, What::Deleted, old.value.clone());
            return Ok(Answer::object(200, Arc::new(Object::new(new))));
        }
        let object = self.commit(kind, at, What::Modified, new);
        Ok(Answer::object(200, object))
    }

    fn set_scale(
        &mut self,
        call: &Call,
        at: Name,
        old: &Arc<Object>,
        replicas: Value,
    ) -> Result<Answer, Failure> {
        scale_of(call.kind, old)?;
        let mut new = old.value.clone();
        if let Some(spec) = new.as_object_mut().and_then(|new| member(new, "spec")) {
            spec.insert("replicas".into(), replicas);
        }
        let whole = Call { part: Part::Whole, ..call.clone() };
        // Webhooks are registered for the object, not for this endpoint.
        let asked = std::mem::replace(&mut self.admission, Admission::Nobody);
        let answer = self.change(&whole, at, old, new);
        self.admission = asked;
        let answer = answer?;
        match answer.object {
            Some(object) => Ok(Answer::value(200, scale_of(call.kind, &object)?)),
            None => Ok(answer),
        }
    }
}

fn check_change(call: &Call, old: &Object, new: &Value) -> Result<(), Failure> {
    let mut causes = Vec::new();
    if old.is_deleting() {
        let (had, have) = (finalizers(&old.value), finalizers(new));
        if have.iter().any(|one| !had.contains(one)) {
            let message = "Forbidden: no new finalizers can be added if the object is being deleted";
            causes.push(Cause::new("FieldValueForbidden", "metadata.finalizers", message));
        }
    }
    match call.part {
        Part::Whole => causes.extend(validate_changed(call.kind, &old.value, new)),
        Part::Status => {
            if let Rules::Custom(custom) = &call.kind.rules {
                custom.schema.validate_object(new, &mut causes);
            }
        }
        Part::EphemeralContainers => causes.extend(changed_ephemeral(&old.value, new)),
        Part::Resize | Part::Scale | Part::Eviction | Part::Binding => {}
    }
    if causes.is_empty() { Ok(()) } else { Err(Failure::invalid(call.kind, &call.name, causes)) }
}

/// The scale endpoint's view of an object of ours.
pub fn scale_of(kind: &Kind, object: &Object) -> Result<Value, Failure> {
    let custom = kind.custom().and_then(|custom| custom.scale.as_ref());
    let [wanted, counted, selector] = custom.ok_or_else(Failure::no_such_path)?;
    let at = |pointer: &str| object.value.pointer(pointer).cloned();
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = at(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value);
        }
    }
    let mut status = json!({"replicas": at(counted).unwrap_or_else(|| 0.into())});
    if let (Some(text), Some(status)) = (at(selector), status.as_object_mut()) {
        status.insert("selector".into(), text);
    }
    Ok(json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": at(wanted).unwrap_or_else(|| 0.into())}, "status": status,
    }))
}

fn version_in(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

fn check_identity(kind: &Kind, name: &str, old: &Object, new: &Value) -> Result<(), Failure> {
    let said =
        |field: &str| new.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
    if !said("name").is_empty() && said("name") != name {
        return Err(Failure::bad_request("the name of the object does not match the name on the URL"));
    }
    if !said("uid").is_empty() && said("uid") != old.uid() {
        let message = format!("Invalid value: \"{}\": field is immutable", said("uid"));
        return Err(Failure::invalid(
            kind,
            name,
            vec![Cause::new("FieldValueInvalid", "metadata.uid", message)],
        ));
    }
    let version = version_in(new);
    if !version.is_empty() && version != version_in(&old.value) {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Failure::conflict(kind, name, why));
    }
    Ok(())
}

/// Keeps what this endpoint must not touch as it was.
fn merge_part(kind: &Kind, part: Part, old: &Object, new: &mut Value) -> Result<(), Failure> {
    let mut restored = old.value.clone();
    let Some(new_map) = new.as_object_mut() else { return Ok(()) };
    match (part, &kind.rules) {
        (Part::Whole, _) => {
            if kind.status == StatusPart::Separate {
                put(new_map, "status", old.value.get("status").cloned());
            }
        }
        // A status write of a pod carries labels, annotations and finalizers too.
        (Part::Status, Rules::Pod) => {
            put(new_map, "spec", old.value.get("spec").cloned());
            let owners = old.value.pointer("/metadata/ownerReferences").cloned();
            if let Some(metadata) = member(new_map, "metadata") {
                put(metadata, "ownerReferences", owners);
            }
        }
        (Part::Status, Rules::Custom(_)) => {
            if let Some(map) = restored.as_object_mut() {
                put(map, "status", new_map.get("status").cloned());
            }
            *new = restored;
            return Ok(());
        }
        (Part::Status, Rules::Claim | Rules::Revision | Rules::Plain) => {
            put(new_map, "spec", old.value.get("spec").cloned());
        }
        (Part::Resize, Rules::Pod) => {
            let resized = new_map.get("spec").cloned().unwrap_or_default();
            resize(&mut restored, &resized);
            *new = restored;
            return Ok(());
        }
        (Part::EphemeralContainers, Rules::Pod) => {
            let wanted = new_map.get("spec").and_then(|spec| spec.get(EPHEMERAL)).cloned();
            if let Some(spec) = restored.as_object_mut().and_then(|pod| member(pod, "spec")) {
                put(spec, EPHEMERAL, wanted);
            }
            *new = restored;
            return Ok(());
        }
        (Part::Resize | Part::EphemeralContainers | Part::Scale | Part::Eviction | Part::Binding, _) => {
            return Err(Failure::no_such_path());
        }
    }
    keep_identity(kind, old, new_map);
    Ok(())
}

const EPHEMERAL: &str = "ephemeralContainers";

/// Ephemeral containers are added; none is ever changed or removed.
fn changed_ephemeral(old: &Value, new: &Value) -> Option<Cause> {
    let all = |pod: &Value| -> Vec<Value> {
        let list = pod.get("spec").and_then(|spec| spec.get(EPHEMERAL)).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let have = all(new);
    let is_kept = all(old).iter().all(|one| have.contains(one));
    let message = "Forbidden: existing ephemeral containers may not be changed or removed";
    (!is_kept).then(|| Cause::new("FieldValueForbidden", "spec.ephemeralContainers", message))
}

/// Only amounts of containers change through the resize endpoint.
fn resize(pod: &mut Value, wanted: &Value) {
    let wanted = wanted.get("containers").and_then(Value::as_array).cloned().unwrap_or_default();
    let containers = pod.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let same = wanted.iter().find(|one| one.get("name") == container.get("name"));
        if let (Some(resources), Some(map)) =
            (same.and_then(|one| one.get("resources")), container.as_object_mut())
        {
            map.insert("resources".into(), resources.clone());
        }
    }
}

fn keep_identity(kind: &Kind, old: &Object, new: &mut Map<String, Value>) {
    new.insert("apiVersion".into(), kind.resource.api_version().into());
    new.insert("kind".into(), kind.resource.kind().into());
    let Some(metadata) = member(new, "metadata") else { return };
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
        "resourceVersion",
    ] {
        put(metadata, field, old.value.pointer(&format!("/metadata/{field}")).cloned());
    }
    metadata.shift_remove("managedFields");
    for list in ["finalizers", "ownerReferences"] {
        if metadata.get(list).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            metadata.shift_remove(list);
        }
    }
    for map in ["labels", "annotations"] {
        if metadata.get(map).and_then(Value::as_object).is_some_and(Map::is_empty) {
            metadata.shift_remove(map);
        }
    }
    metadata.retain(|_, value| !value.is_null());
}

fn put(map: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            map.insert(name.to_owned(), value);
        }
        None => {
            map.shift_remove(name);
        }
    }
}

fn count_generation(kind: &Kind, old: &Object, new: &mut Value) {
    if kind.generation == Generation::Absent {
        return;
    }
    let is_same = match (&old.value, &*new) {
        (Value::Object(before), Value::Object(after)) => {
            let counts = |name: &str| !matches!(name, "metadata" | "status" | "apiVersion" | "kind");
            let names = before.keys().chain(after.keys()).filter(|name| counts(name));
            names.into_iter().all(|name| before.get(name) == after.get(name))
        }
        (_, _) => true,
    };
    let generation = old.value.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut)
        && !is_same
    {
        metadata.insert("generation".into(), generation.saturating_add(1).into());
    }
}

pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Deleted before, and the last finalizer is gone: now it goes.
fn is_over(object: &Value) -> bool {
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    object.pointer("/metadata/deletionTimestamp").is_some() && grace == 0 && finalizers(object).is_empty()
}

impl State {
    /// The object that a question is about.
    pub(super) fn found(&self, call: &Call) -> Result<(Name, Arc<Object>), Failure> {
        let at: Name = (call.namespace.as_str().into(), call.name.as_str().into());
        match self.store.get(call.kind.id, &at) {
            Some(object) => Ok((at, Arc::clone(object))),
            None => Err(Failure::not_found(call.kind, &call.name)),
        }
    }
}
