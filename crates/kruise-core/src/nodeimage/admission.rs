//! Defaults and rules (section 6 of the specification). The same for both versions.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::object::NodeImage;
use crate::admission::versions::{self, Case, Rules, Version};
use crate::admission::workload::set;
use crate::admission::{Answer, FaultKind, Faults, Known, Request, patch};
use crate::gates::{Gate, Gates};
use crate::imagepulljob::admission::gate_is_off;
use crate::revision::Unreadable;
use crate::time;

const IMAGES_MAX: usize = 256;
const TIMEOUT_SECONDS: i32 = 600;
const BACKOFF_LIMIT: i32 = 3;

/// When a tag was asked for, how its pull is tried, and the order of tags.
#[expect(clippy::needless_pass_by_value, reason = "the type of every judge")]
pub fn mutate(request: Request, known: &Known<'_>) -> Answer {
    if let Some(denied) = gate_is_off(&request, Gate::KruiseDaemon, known) {
        return denied;
    }
    let mut object = request.object.clone();
    let images = object.pointer_mut("/spec/images").and_then(Value::as_object_mut);
    for tags in images.into_iter().flat_map(|all| all.values_mut()).filter_map(|image| image.get_mut("tags"))
    {
        let Some(tags) = tags.as_array_mut() else { continue };
        for tag in tags.iter_mut().filter_map(Value::as_object_mut) {
            set(tag, "createdAt", json!(time::seconds(known.now)));
            if let Some(policy) = tag.get_mut("pullPolicy").and_then(Value::as_object_mut) {
                set(policy, "timeoutSeconds", json!(TIMEOUT_SECONDS));
                set(policy, "backoffLimit", json!(BACKOFF_LIMIT));
            }
        }
        let name = |tag: &Value| tag.get("tag").and_then(Value::as_str).unwrap_or_default().to_owned();
        tags.sort_by_key(name);
    }
    Answer::patched(patch(&request.object, object))
}

pub fn validate(request: Request, known: &Known<'_>) -> Answer {
    match gate_is_off(&request, Gate::KruiseDaemon, known) {
        Some(denied) => denied,
        None => versions::validate::<NodeImage>(request, known),
    }
}

impl Rules for NodeImage {
    type Facts = ();

    fn facts(_: &Request, _: &Known<'_>) {}

    /// The time is not known here: see [`mutate`].
    fn default(_: Version, _: &mut Value, _: Option<&Value>, _: &Gates) -> Result<(), Unreadable> {
        Ok(())
    }

    fn validate(case: &Case<'_, ()>) -> Faults {
        let mut faults = Faults::default();
        let images = case.spec.get("images").and_then(Value::as_object);
        let count = images.map_or(0, serde_json::Map::len);
        if IMAGES_MAX < count {
            let message = format!("spec images length {count} is more than {IMAGES_MAX}: remove images");
            faults.invalid("spec.images", message);
        }
        for (name, image) in images.into_iter().flatten() {
            let field = format!("spec.images[{name}]");
            if name.is_empty() {
                faults.add(FaultKind::Required, "spec.images", "the name of an image can not be empty");
            }
            let mut seen = BTreeSet::new();
            for (at, tag) in image.get("tags").and_then(Value::as_array).into_iter().flatten().enumerate() {
                let field = format!("{field}.tags[{at}]");
                let text = tag.get("tag").and_then(Value::as_str).unwrap_or_default();
                if !text.is_empty() && !seen.insert(text) {
                    let message = format!("duplicated tag {text}: each tag may be listed once");
                    faults.add(FaultKind::Duplicate, format!("{field}.tag"), message);
                }
                tag_faults(tag, &field, &mut faults);
            }
        }
        faults
    }

    fn warn(_: &Case<'_, ()>) -> Vec<String> {
        Vec::new()
    }
}

fn tag_faults(tag: &Value, field: &str, faults: &mut Faults) {
    let is_there = |at: &str| tag.pointer(at).is_some_and(|value| !value.is_null() && value != "");
    for (at, problem) in [
        ("/tag", "tag can not be empty: name a tag or a digest"),
        ("/createdAt", "createdAt must be set: leave it out, and admission sets it"),
        ("/pullPolicy", "pullPolicy must be set, with ttlSecondsAfterFinished"),
    ] {
        if !is_there(at) {
            faults.add(FaultKind::Required, format!("{field}{}", at.replace('/', ".")), problem);
        }
    }
    if is_there("/pullPolicy") && !is_there("/pullPolicy/ttlSecondsAfterFinished") {
        let problem =
            "pullPolicy.ttlSecondsAfterFinished must be set: without it the tag would never leave the list";
        faults.add(FaultKind::Required, format!("{field}.pullPolicy.ttlSecondsAfterFinished"), problem);
    }
    if tag.get("version").and_then(Value::as_i64).is_some_and(|version| version < 0) {
        faults.invalid(format!("{field}.version"), "version must not be negative: raise it to pull again");
    }
}
