//! Defaults and rules of BroadcastJobs (D1, D2, V1 … V5), on v1beta1; v1alpha1 has the same shape.

use kruise_api::apps::broadcastjob::FailurePolicyType;
use kruise_api::kubernetes::{RESTART_NEVER, RESTART_ON_FAILURE};
use kruise_api::labels::{BROADCASTJOB_CONTROLLER_UID, BROADCASTJOB_NAME};
use kruise_api::parts::CompletionPolicyType;
use serde_json::{Value, json};

use super::object::BroadcastJob;
use crate::admission::versions::{Case, Rules, Version};
use crate::admission::workload::{counts, default_templates, object_in, one_of, set};
use crate::admission::{FaultKind, Faults, Known, Request};
use crate::amount::{Amount, Bare};
use crate::gates::Gates;
use crate::revision::{Unreadable, canonical};

/// Names of pods are made from it, and it is a label value.
const NAME_MAX: usize = 63;

impl Rules for BroadcastJob {
    type Facts = ();

    fn facts(_: &Request, _: &Known<'_>) {}

    fn default(_: Version, spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
        default_templates(spec, old, gates)?; // D1
        let Some(fields) = spec.as_object_mut() else { return Ok(()) };
        set(fields, "parallelism", json!(i32::MAX));
        if let Some(completion) = object_in(fields, "completionPolicy") {
            set(completion, "type", json!(CompletionPolicyType::Always));
        }
        if let Some(failure) = object_in(fields, "failurePolicy") {
            set(failure, "type", json!(FailurePolicyType::FailFast));
        }
        Ok(())
    }

    fn validate(case: &Case<'_, ()>) -> Faults {
        let mut faults = Faults::default();
        name(case.name, &mut faults);
        policies(case.spec, &mut faults);
        template(case.spec, &mut faults);
        for fault in case.template {
            faults.add(fault.kind, fault.field.clone(), fault.message.clone());
        }
        faults
    }

    fn warn(case: &Case<'_, ()>) -> Vec<String> {
        let text = case.spec.get("parallelism").and_then(Value::as_str);
        let bare = text.filter(|text| !text.ends_with('%'));
        let warning = |percent: &str| {
            format!(
                "spec.parallelism: {percent:?} means {percent}% of the nodes; write {percent} without quotes for a number of pods"
            )
        };
        bare.map(warning).into_iter().collect() // B12
    }
}

/// V1: it becomes a part of pod names and the value of a label.
fn name(name: &str, faults: &mut Faults) {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if NAME_MAX < name.len() || !is_plain {
        let message = format!("{name:?}: use at most {NAME_MAX} letters, digits and dashes, and no dots");
        faults.invalid("metadata.name", message);
    }
}

/// V2, B11.
fn policies(spec: &Value, faults: &mut Faults) {
    let completion = spec.get("completionPolicy").unwrap_or(&Value::Null);
    let kind = completion.get("type").unwrap_or(&Value::Null);
    one_of(kind, "spec.completionPolicy.type", CompletionPolicyType::WORDS, faults);
    if *kind == json!(CompletionPolicyType::Never) {
        for field in ["ttlSecondsAfterFinished", "activeDeadlineSeconds"] {
            if completion.get(field).is_some_and(|value| !value.is_null()) {
                let message = "cannot be combined with type Never: such a job has no end";
                faults.add(FaultKind::Forbidden, format!("spec.completionPolicy.{field}"), message);
            }
        }
    }
    let failure = spec.pointer("/failurePolicy/type").unwrap_or(&Value::Null);
    one_of(failure, "spec.failurePolicy.type", FailurePolicyType::WORDS, faults);
    let numbers = [
        "/completionPolicy/ttlSecondsAfterFinished",
        "/completionPolicy/activeDeadlineSeconds",
        "/failurePolicy/restartLimit",
    ];
    counts(spec, &numbers, faults);
    let parallelism = spec.get("parallelism").filter(|value| !value.is_null());
    if let Some(Err(error)) = parallelism.map(|value| Amount::read(value, Bare::Percent)) {
        faults.invalid("spec.parallelism", error.to_string());
    }
}

/// V3, V4, V5.
fn template(spec: &Value, faults: &mut Faults) {
    let template = spec.get("template").unwrap_or(&Value::Null);
    let restart = template.pointer("/spec/restartPolicy").and_then(Value::as_str).unwrap_or_default();
    if ![RESTART_NEVER, RESTART_ON_FAILURE].contains(&restart) {
        let message = format!("{restart:?}: use Never or OnFailure, because the pods run to their end");
        faults.add(FaultKind::NotSupported, "spec.template.spec.restartPolicy", message);
    }
    for label in [BROADCASTJOB_NAME, BROADCASTJOB_CONTROLLER_UID] {
        let value = template.pointer("/metadata/labels").and_then(|labels| labels.get(label)?.as_str());
        if value.is_some_and(|value| !value.is_empty()) {
            let field = format!("spec.template.metadata.labels[{label}]");
            faults.add(FaultKind::Forbidden, field, "is written by the controller: remove it");
        }
    }
    if let Err(error) = canonical("PodTemplateSpec", template) {
        faults.invalid(format!("spec.template.{}", error.path), error.problem);
    }
}
