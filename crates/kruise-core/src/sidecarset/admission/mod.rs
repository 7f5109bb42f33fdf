//! What admission does about SidecarSets (section 6 of the specification): defaults and hashes, and what the schema cannot refuse. Both
//! versions are judged as v1beta1. Objects keep fields that this release does not know (B6).

mod conflict;
mod containers;
mod default;
mod metadata;
mod strategy;
mod validate;

use std::collections::BTreeMap;

use kruise_api::annotations::{SIDECARSET_HASH, SIDECARSET_HASH_WITHOUT_IMAGE};
use kruise_api::convert;
use serde_json::{Map, Value, json};

use super::data::Hashes;
use super::object::SidecarSet;
use crate::admission::{Answer, Cause, Denial, Faults, Known, Operation, Request, patch};
use crate::lookup::Slim;
use crate::pod::string_map;

#[cfg(test)]
pub(crate) use conflict::can_both_hold as overlap;
pub use containers::to_try;
pub use validate::{Case, validate};

/// Defaults, then the hashes of what they make of the spec (SS-8).
pub fn mutate(request: &Request) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    match defaulted(request) {
        Ok(object) => Answer::patched(patch(&request.object, object)),
        Err(denial) => denial.into(),
    }
}

fn defaulted(request: &Request) -> Result<Value, Denial> {
    let mut object = stored_form(request.object.clone())?;
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else {
        return Err(Denial::bad_request("spec: say which containers go into which pods"));
    };
    default::apply(spec);
    let hashes = Hashes::of(spec).map_err(|error| {
        let mut faults = Faults::default();
        faults.invalid(format!("spec.{}", error.path), error.problem);
        invalid(request, &faults)
    })?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = Value::Object(Map::new());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(SIDECARSET_HASH.to_owned(), json!(hashes.whole));
            annotations.insert(SIDECARSET_HASH_WITHOUT_IMAGE.to_owned(), json!(hashes.without_image));
        }
    }
    convert(object, &request.kind.version).map_err(|error| Denial::bad_request(error.to_string()))
}

/// B16: 422 with a cause per field, where the original says 500.
pub fn admit(request: &Request, known: &Known<'_>) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    let warnings = ambiguous(request);
    match judged(request, known) {
        Ok((faults, more)) => {
            let denial = (!faults.is_empty()).then(|| invalid(request, &faults));
            Answer { denial, warnings: warnings.into_iter().chain(more).collect(), patch: Vec::new() }
        }
        Err(denial) => denial.into(),
    }
}

fn judged(request: &Request, known: &Known<'_>) -> Result<(Faults, Vec<String>), Denial> {
    let object = stored_form(request.object.clone())?;
    let old = if request.old.is_null() { None } else { Some(stored_form(request.old.clone())?) };
    let annotations = |one: &Value| string_map(one.pointer("/metadata/annotations"));
    let old_annotations: Option<BTreeMap<String, String>> = old.as_ref().map(annotations);
    let case = Case {
        name: &request.name,
        uid: object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default(),
        labels: &string_map(object.pointer("/metadata/labels")),
        annotations: &annotations(&object),
        spec: object.get("spec").unwrap_or(&Value::Null),
        old: old.as_ref().and_then(|old| old.get("spec")),
        old_annotations: old_annotations.as_ref(),
        known,
    };
    Ok((validate(&case), validate::warn(&case)))
}

/// B19.
fn ambiguous(request: &Request) -> Option<String> {
    let is_given = |path: &str| {
        request.object.pointer(path).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
    };
    let are_both = request.kind.version == "v1alpha1"
        && is_given("/spec/namespace")
        && is_given("/spec/namespaceSelector");
    let text = "spec.namespaceSelector is ignored because spec.namespace is given: remove one of them";
    are_both.then(|| text.to_owned())
}

fn stored_form(object: Value) -> Result<Value, Denial> {
    if !object.is_object() {
        return Err(Denial::bad_request("the request holds no object"));
    }
    convert(object, SidecarSet::RESOURCE.version()).map_err(|error| Denial::bad_request(error.to_string()))
}

fn invalid(request: &Request, faults: &Faults) -> Denial {
    let message = format!("SidecarSet {:?} is invalid: {faults}", request.name);
    Denial { causes: faults.iter().map(Cause::from).collect(), ..Denial::new(422, message) }
}
