//! Objects that the annotations of a workload ask for (PP-26 … PP-29).

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::annotations;
use kruise_api::apps::persistentpodstate::PersistentPodState;
use kruise_api::labels::TRUE;
use kruise_api::{Kind, Resource};
use serde_json::{Map, Value, json};

use crate::chain::{Chain, Part, Patch, Purpose, Write};
use crate::ids::{ResourceVersion, Uid};
use crate::object::ObjectRef;
use crate::workload::base::Head;

const RESOURCE: Resource = PersistentPodState::RESOURCE;

/// Weight of the one preferred term that annotations can express.
const WEIGHT: i32 = 100;

/// A workload that has the name of the object, as far as generation reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asker {
    api_version: String,
    kind: String,
    name: String,
    namespace: String,
    uid: String,
    created: Option<Timestamp>,
    wish: Wish,
}

#[derive(Debug, Clone, PartialEq)]
enum Wish {
    /// Not asked for: a generated object goes (PP-28).
    None,
    /// Asked for without a topology: everything stays as it is (PP-27).
    Unclear,
    /// The fields that annotations express.
    Spec(Map<String, Value>),
}

impl Asker {
    pub fn of(api_version: &str, kind: &str, head: &Head) -> Self {
        let wish = if head.deleted.is_some() { Wish::Unclear } else { Wish::read(&head.annotations) };
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: head.name.to_string(),
            namespace: head.namespace.to_string(),
            uid: head.uid.to_string(),
            created: head.created,
            wish,
        }
    }
}

impl Wish {
    fn read(all: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| all.get(key).map(String::as_str).unwrap_or_default();
        if text(annotations::PPS_AUTO_GENERATE) != TRUE {
            return Self::None;
        }
        let required = keys(text(annotations::PPS_REQUIRED_TOPOLOGY));
        let preferred = keys(text(annotations::PPS_PREFERRED_TOPOLOGY));
        if required.is_empty() && preferred.is_empty() {
            return Self::Unclear;
        }
        let noted: Vec<Value> =
            keys(text(annotations::PPS_POD_ANNOTATIONS)).into_iter().map(|key| json!({"key": key})).collect();
        let some = |list: &[String], value: Value| if list.is_empty() { Value::Null } else { value };
        let terms = json!([{"weight": WEIGHT, "preference": {"keys": preferred}}]);
        Self::Spec(Map::from_iter([
            ("requiredPersistentTopology".to_owned(), some(&required, json!({"keys": required}))),
            ("preferredPersistentTopology".to_owned(), some(&preferred, terms)),
            (
                "persistentPodAnnotations".to_owned(),
                if noted.is_empty() { Value::Null } else { json!(noted) },
            ),
        ]))
    }
}

/// The one write that brings the object of this name to what the workloads of this name ask for; nothing if it is right, or
/// not ours (D7).
pub fn generate(object: Option<&Value>, askers: &[Asker]) -> Option<Chain> {
    let write = match object {
        None => create(first(askers)?),
        Some(object) => {
            let owner = controller(object)?;
            let asker = askers.iter().find(|asker| asker.uid == owner)?;
            match &asker.wish {
                Wish::None => delete(object),
                Wish::Unclear => return None,
                Wish::Spec(spec) => change(object, spec)?,
            }
        }
    };
    Some(Chain::other(Purpose::Generate, vec![write]))
}

/// Of two workloads of one name that both ask, the older one gets the name (D7).
fn first(askers: &[Asker]) -> Option<&Asker> {
    let asking = askers.iter().filter(|asker| matches!(asker.wish, Wish::Spec(_)));
    asking.min_by_key(|asker| (asker.created, &asker.api_version))
}

fn create(asker: &Asker) -> Write {
    let mut spec = json!({
        "targetRef": {"apiVersion": asker.api_version, "kind": asker.kind, "name": asker.name},
    });
    if let (Some(spec), Wish::Spec(wish)) = (spec.as_object_mut(), &asker.wish) {
        spec.extend(wish.clone().into_iter().filter(|(_, value)| !value.is_null()));
    }
    let owner = json!({
        "apiVersion": asker.api_version, "kind": asker.kind, "name": asker.name, "uid": asker.uid, "controller": true,
    });
    let body = json!({
        "apiVersion": RESOURCE.api_version(),
        "kind": RESOURCE.kind(),
        "metadata": {"name": asker.name, "namespace": asker.namespace, "ownerReferences": [owner]},
        "spec": spec,
    });
    Write::create(ObjectRef::new(RESOURCE, asker.namespace.as_str(), asker.name.as_str()), &body)
}

/// What annotations do not express stays: a retention policy set by hand survives (D17).
fn change(object: &Value, wish: &Map<String, Value>) -> Option<Write> {
    let stored = |field: &String| object.pointer("/spec")?.get(field).cloned();
    let is_right = wish.iter().all(|(field, value)| stored(field).unwrap_or_default() == *value);
    if is_right {
        return None;
    }
    let body = json!({"metadata": {"uid": text(object, "uid")}, "spec": wish});
    Some(Write::patch(reference(object), Part::Object, Patch::Merge(body)))
}

fn delete(object: &Value) -> Write {
    let version = ResourceVersion::new(text(object, "resourceVersion"));
    Write::delete_version(reference(object), &Uid::new(text(object, "uid")), Some(version))
}

fn reference(object: &Value) -> ObjectRef {
    ObjectRef::new(RESOURCE, text(object, "namespace"), text(object, "name"))
}

/// A field of the object's metadata.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default()
}

/// Uid of the controller; an object without one was made by hand.
fn controller(object: &Value) -> Option<&str> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?.get("uid")?.as_str()
}

/// Trimmed, without empty entries (D15).
fn keys(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned).collect()
}
