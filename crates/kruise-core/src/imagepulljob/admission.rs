//! Defaults and rules (section 6 of the specification), on the stored version v1beta1. The words of upstream are kept, because programs look for
//! them; what is allowed follows.

use std::collections::BTreeSet;

use kruise_api::finalizers::IMAGE_PULL_JOB;
use kruise_api::kubernetes::{PULL_ALWAYS, PULL_IF_NOT_PRESENT};
use kruise_api::parts::CompletionPolicyType;
use serde_json::{Map, Value, json};

use super::object::ImagePullJob;
use super::spec::defaults;
use crate::admission::versions::{self, Case, Rules, Version};
use crate::admission::workload::{object_in, one_of, set};
use crate::admission::{Answer, FaultKind, Faults, Known, Operation, Request};
use crate::chain::Op;
use crate::gates::{Gate, Gates};
use crate::image::Reference;
use crate::order::Selector;
use crate::revision::Unreadable;

/// Fills in defaults and the finalizer (PJ-4), in both versions: one write less for the controller.
pub fn mutate(request: Request, known: &Known<'_>) -> Answer {
    if let Some(denied) = gate_is_off(&request, Gate::ImagePullJob, known) {
        return denied;
    }
    let finalizers = finalizer(&request);
    let mut answer = versions::mutate::<ImagePullJob>(request, known);
    if answer.denial.is_none() {
        answer.patch.extend(finalizers);
    }
    answer
}

pub fn validate(request: Request, known: &Known<'_>) -> Answer {
    match gate_is_off(&request, Gate::ImagePullJob, known) {
        Some(denied) => denied,
        None => versions::validate::<ImagePullJob>(request, known),
    }
}

/// What is there already can still be let go of: only what is new to the spec is refused.
pub fn gate_is_off(request: &Request, gate: Gate, known: &Known<'_>) -> Option<Answer> {
    let is_new =
        request.operation == Operation::Create || request.object.get("spec") != request.old.get("spec");
    let name = gate.about().name;
    let message = format!(
        "feature-gate {name} is not enabled: no node would pull the image, set --feature-gates={name}=true"
    );
    (is_new && !known.gates.on(gate)).then(|| Answer::denied(403, message))
}

fn finalizer(request: &Request) -> Option<Op> {
    let there = request.object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let mut all = there.cloned().unwrap_or_default();
    if request.operation != Operation::Create || all.contains(&json!(IMAGE_PULL_JOB)) {
        return None;
    }
    all.push(json!(IMAGE_PULL_JOB));
    Some(Op::add("/metadata/finalizers", all))
}

impl Rules for ImagePullJob {
    type Facts = ();

    fn facts(_: &Request, _: &Known<'_>) {}

    fn default(_: Version, spec: &mut Value, _: Option<&Value>, _: &Gates) -> Result<(), Unreadable> {
        let Some(fields) = spec.as_object_mut() else { return Ok(()) };
        template_defaults(fields);
        set(fields, "imagePullPolicy", json!(PULL_IF_NOT_PRESENT));
        Ok(())
    }

    fn validate(case: &Case<'_, ()>) -> Faults {
        let mut faults = Faults::default();
        let image = case.spec.get("image").and_then(Value::as_str).unwrap_or_default();
        image_fault(image, "spec.image", &mut faults);
        template(case.spec, &mut faults);
        deadline(case.spec, &mut faults);
        if let Some(old) = case.old {
            let secrets =
                |spec: &Value| spec.get("pullSecrets").and_then(Value::as_array).cloned().unwrap_or_default();
            if secrets(case.spec) != secrets(old) {
                let message = "spec.pullSecrets is immutable: delete the job and create it again";
                faults.add(FaultKind::Forbidden, "spec.pullSecrets", message);
            }
        }
        faults
    }

    fn warn(_: &Case<'_, ()>) -> Vec<String> {
        Vec::new()
    }
}

/// What lists have as well, field by field (4).
pub fn template_defaults(spec: &mut Map<String, Value>) {
    if let Some(completion) = object_in(spec, "completionPolicy") {
        set(completion, "type", json!(CompletionPolicyType::Always));
    }
    if let Some(pull) = object_in(spec, "pullPolicy") {
        set(pull, "timeoutSeconds", json!(defaults::TIMEOUT_SECONDS));
        set(pull, "backoffLimit", json!(defaults::BACKOFF_LIMIT));
    }
}

pub fn image_fault(image: &str, field: &str, faults: &mut Faults) {
    if image.is_empty() {
        faults.add(FaultKind::Required, field, "image can not be empty: name one, such as nginx:1.27");
    } else if let Err(error) = Reference::read(image) {
        let message =
            format!("invalid image {image}: {error}; write it as [registry/]repository[:tag][@digest]");
        faults.invalid(field, message);
    }
}

/// The rules that lists have as well.
pub fn template(spec: &Value, faults: &mut Faults) {
    selectors(spec, faults);
    parallelism(spec.get("parallelism").unwrap_or(&Value::Null), faults);
    let completion = spec.get("completionPolicy").unwrap_or(&Value::Null);
    let kind = completion.get("type").unwrap_or(&Value::Null);
    let field = "spec.completionPolicy.type";
    let words = [CompletionPolicyType::Always.as_str(), CompletionPolicyType::Never.as_str()];
    if kind.as_str().is_some_and(|kind| !words.contains(&kind)) {
        let kind = kind.as_str().unwrap_or_default();
        let message = format!("unknown type of completionPolicy: {kind}: use {}", words.join(" or "));
        faults.add(FaultKind::NotSupported, field, message);
    }
    let is_set = |name: &str| completion.get(name).is_some_and(|value| !value.is_null());
    if kind == words[1] && (is_set("activeDeadlineSeconds") || is_set("ttlSecondsAfterFinished")) {
        let message = "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType: remove them";
        faults.add(FaultKind::Forbidden, "spec.completionPolicy", message);
    }
    let policy = spec.get("imagePullPolicy").unwrap_or(&Value::Null);
    one_of(policy, "spec.imagePullPolicy", &[PULL_ALWAYS, PULL_IF_NOT_PRESENT], faults);
}

fn selectors(spec: &Value, faults: &mut Faults) {
    let present = |name: &str| spec.get(name).filter(|value| !value.is_null());
    let (nodes, pods) = (present("selector"), present("podSelector"));
    if nodes.is_some() && pods.is_some() {
        let message = "can not set both selector and podSelector: remove one of them";
        faults.add(FaultKind::Forbidden, "spec.podSelector", message);
    }
    if let Some(Err(error)) = pods.map(Selector::read) {
        faults.invalid("spec.podSelector", error.to_string());
    }
    let Some(nodes) = nodes else { return };
    let mut labels = nodes.clone();
    let names = labels.as_object_mut().and_then(|map| map.shift_remove("names"));
    let names = names.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.to_string())) {
        let message = format!("duplicated name in selector names: {twice} is listed twice");
        faults.add(FaultKind::Duplicate, "spec.selector.names", message);
    }
    match Selector::read(&labels) {
        Err(error) => faults.invalid("spec.selector", error.to_string()),
        Ok(labels) if !names.is_empty() && !labels.is_empty() => {
            let message = "can not set both names and labelSelector in this spec.selector: use one of them";
            faults.add(FaultKind::Forbidden, "spec.selector", message);
        }
        Ok(_) => {}
    }
}

fn parallelism(value: &Value, faults: &mut Faults) {
    let number = match value {
        Value::Null => return,
        Value::Number(number) => number.as_i64(),
        Value::String(text) if text.ends_with('%') => {
            let message = "parallelism does not support percentage value: give a number of nodes";
            return faults.invalid("spec.parallelism", message);
        }
        Value::String(text) => text.parse().ok(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match number {
        None => faults.invalid("spec.parallelism", "parallelism must be a valid integer, such as 3"),
        Some(number) if number < 0 => {
            faults.invalid("spec.parallelism", "parallelism must be non-negative; 0 pauses the job");
        }
        Some(_) => {}
    }
}

fn deadline(spec: &Value, faults: &mut Faults) {
    let deadline = spec.pointer("/completionPolicy/activeDeadlineSeconds").and_then(Value::as_i64);
    let timeout = spec.pointer("/pullPolicy/timeoutSeconds").and_then(Value::as_i64);
    let timeout = timeout.unwrap_or(i64::from(defaults::TIMEOUT_SECONDS));
    if deadline.is_some_and(|deadline| deadline < timeout) {
        let message = format!(
            "completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(default 600): allow at least {timeout}"
        );
        faults.invalid("spec.completionPolicy.activeDeadlineSeconds", message);
    }
}
