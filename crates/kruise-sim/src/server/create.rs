//! New objects, and the endpoints that are created into: eviction and binding.

use std::sync::Arc;

use kruise_api::Scope;
use serde_json::{Value, json};

use super::admission::Written;
use super::builtin::{member, prepare_new, validate_new};
use super::failure::{Cause, Failure};
use super::request::{Call, Part, Trial};
use super::resources::{self, Generation, Kind, Rules, StatusPart};
use super::state::{Answer, State};
use super::store::{Name, Object, What};

impl State {
    pub(super) fn create(&mut self, call: &Call) -> Result<Answer, Failure> {
        match call.part {
            Part::Whole => self.create_object(call),
            Part::Binding => self.bind(call),
            Part::Eviction => self.evict(call),
            Part::Status | Part::Scale | Part::Resize | Part::EphemeralContainers => {
                Err(Failure::no_such_path())
            }
        }
    }

    fn create_object(&mut self, call: &Call) -> Result<Answer, Failure> {
        let kind = call.kind;
        self.check_namespace(kind, &call.namespace)?;
        let mut object = call.body.clone();
        let name = self.name_of(kind, &object)?;
        check_header(kind, call, &object)?;
        let at: Name = (call.namespace.as_str().into(), name.as_str().into());
        prepare_new(kind, &mut object);
        self.fill_metadata(kind, &mut object, &at);
        let written = Written { call, at: &at, old: None };
        self.mutate(&written, &mut object)?;
        let causes = validate_new(kind, &object);
        if !causes.is_empty() {
            return Err(Failure::invalid(kind, &name, causes));
        }
        self.judge(&written, Some(&object))?;
        self.check_quota(kind, &name)?;
        if self.store.get(kind.id, &at).is_some() {
            return Err(Failure::exists(kind, &name));
        }
        let object = self.commit(kind, at, What::Added, object);
        Ok(Answer::object(201, object))
    }

    /// After all other admission, as in a real server.
    fn check_quota(&self, kind: &Kind, name: &str) -> Result<(), Failure> {
        let (Rules::Pod, Some(most)) = (&kind.rules, self.pods_at_most) else { return Ok(()) };
        let used = self.store.list(kind.id, "").count();
        if used < most {
            return Ok(());
        }
        let why = format!("exceeded quota: pods, requested: pods=1, used: pods={used}, limited: pods={most}");
        Err(Failure::forbidden(kind, name, &why))
    }

    fn check_namespace(&self, kind: &Kind, namespace: &str) -> Result<(), Failure> {
        match (kind.resource.scope(), resources::find("", "v1", "namespaces")) {
            (Scope::Namespaced, Some(namespaces)) => {
                let found = self.store.get(namespaces.id, &("".into(), namespace.into()));
                if namespace.is_empty() {
                    Err(Failure::new(405, "MethodNotAllowed", "the server does not allow this method"))
                } else if found.is_none() {
                    Err(Failure::not_found(namespaces, namespace))
                } else {
                    Ok(())
                }
            }
            (Scope::Cluster | Scope::Namespaced, _) => Ok(()),
        }
    }

    fn name_of(&mut self, kind: &Kind, object: &Value) -> Result<String, Failure> {
        let text = |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
        match (text("name").unwrap_or_default(), text("generateName").unwrap_or_default()) {
            ("", "") => {
                let message = "Required value: name or generateName is required";
                Err(Failure::invalid(
                    kind,
                    "",
                    vec![Cause::new("FieldValueRequired", "metadata.name", message)],
                ))
            }
            ("", prefix) => Ok(format!("{prefix}{}", self.rng.suffix())),
            (name, _) => {
                let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
                if name.len() <= 253
                    && name.chars().all(fits)
                    && !name.starts_with('-')
                    && !name.ends_with('-')
                {
                    return Ok(name.to_owned());
                }
                let cause =
                    Cause::new("FieldValueInvalid", "metadata.name", format!("Invalid value: \"{name}\""));
                Err(Failure::invalid(kind, name, vec![cause]))
            }
        }
    }

    /// What only the server says about an object.
    fn fill_metadata(&mut self, kind: &Kind, object: &mut Value, at: &Name) {
        let (uid, now) = (self.rng.uid(), self.now_text());
        let Some(map) = object.as_object_mut() else { return };
        map.insert("apiVersion".into(), kind.resource.api_version().into());
        map.insert("kind".into(), kind.resource.kind().into());
        if kind.is_custom() && kind.status == StatusPart::Separate {
            map.shift_remove("status");
        }
        let Some(metadata) = member(map, "metadata") else { return };
        for field in
            ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "generation"]
        {
            metadata.shift_remove(field);
        }
        metadata.insert("name".into(), (*at.1).into());
        if kind.resource.scope() == Scope::Namespaced {
            metadata.insert("namespace".into(), (*at.0).into());
        }
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), now.into());
        if kind.generation == Generation::Counted {
            metadata.insert("generation".into(), 1.into());
        }
        metadata.retain(|_, value| !value.is_null());
    }

    /// The scheduler's decision.
    fn bind(&mut self, call: &Call) -> Result<Answer, Failure> {
        let (at, old) = self.found(call)?;
        let node = call.body.pointer("/target/name").and_then(Value::as_str).unwrap_or_default();
        if !old.str("/spec/nodeName").is_empty() {
            let why = format!("pod {} is already assigned to node \"{}\"", at.1, old.str("/spec/nodeName"));
            return Err(Failure::conflict(call.kind, &call.name, &why).named("pods/binding"));
        }
        let now = self.now_text();
        let mut pod = old.value.clone();
        if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("nodeName".into(), node.into());
        }
        let generation = pod.pointer("/metadata/generation").cloned().unwrap_or_default();
        let condition = json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
            "observedGeneration": generation,
        });
        let status = pod.as_object_mut().and_then(|pod| member(pod, "status"));
        let conditions =
            status.and_then(|status| status.entry("conditions").or_insert_with(|| json!([])).as_array_mut());
        if let Some(conditions) = conditions {
            conditions.retain(|one| one.get("type").and_then(Value::as_str) != Some("PodScheduled"));
            conditions.push(condition);
        }
        self.commit(call.kind, at, What::Modified, pod);
        Ok(Answer::success(201))
    }

    /// No budgets of Kubernetes are served, so an eviction is a deletion that the pod's grace period applies to.
    fn evict(&mut self, call: &Call) -> Result<Answer, Failure> {
        let at: Name = (call.namespace.as_str().into(), call.name.as_str().into());
        self.judge(&Written { call, at: &at, old: None }, Some(&call.body))?;
        let options = call.body.get("deleteOptions").cloned().unwrap_or_default();
        let delete = Call { body: options, part: Part::Whole, ..call.clone() };
        self.remove(&delete)?;
        Ok(Answer::success(201))
    }

    /// Writes a state, or with a trial only says what it would be.
    pub(super) fn commit(&mut self, kind: &Kind, at: Name, what: What, mut object: Value) -> Arc<Object> {
        if self.trial == Trial::Dry {
            return Arc::new(Object::new(object));
        }
        let version = self.store.next_version().to_string();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), version.into());
        }
        let object = Arc::new(Object::new(object));
        let event = self.store.commit(kind.id, at, what, Arc::clone(&object));
        self.changed(event);
        object
    }
}

fn check_header(kind: &Kind, call: &Call, object: &Value) -> Result<(), Failure> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let said = text("/metadata/namespace");
    if !said.is_empty() && kind.resource.scope() == Scope::Namespaced && said != call.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    if !text("/metadata/resourceVersion").is_empty() {
        return Err(Failure::bad_request("resourceVersion should not be set on objects to be created"));
    }
    let (version, name) = (text("/apiVersion"), text("/kind"));
    if kind.is_custom() && (version.is_empty() || name.is_empty()) {
        return Err(Failure::bad_request("Object 'Kind' or 'apiVersion' is missing"));
    }
    if (!version.is_empty() && version != kind.resource.api_version())
        || (!name.is_empty() && name != kind.resource.kind())
    {
        return Err(Failure::bad_request("the object provided is unrecognized"));
    }
    Ok(())
}
