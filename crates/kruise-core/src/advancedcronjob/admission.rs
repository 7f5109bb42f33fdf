//! Defaults and rules (§6 of the specification: D1 … D3, V1 … V6), on the stored version v1beta1.

use std::collections::BTreeSet;

use kruise_api::apps::advancedcronjob::ConcurrencyPolicy;
use kruise_api::kubernetes::{PULL_IF_NOT_PRESENT, RESTART_NEVER, RESTART_ON_FAILURE};
use kruise_api::parts::CompletionPolicyType;
use serde_json::{Map, Value, json};

use super::object::AdvancedCronJob;
use super::schedule::{Schedule, says_its_zone, zone};
use super::spec::defaults;
use crate::admission::versions::{Case, Rules, Version};
use crate::admission::workload::{counts, immutable, object_in, one_of, set};
use crate::admission::{FaultKind, Faults, Known, Request};
use crate::broadcastjob::BroadcastJob;
use crate::gates::{Gate, Gates};
use crate::order::Selector;
use crate::revision::{Unreadable, canonical};
use crate::template::with_defaults;

const JOB: &str = "jobTemplate";
const BROADCAST: &str = "broadcastJobTemplate";
const IMAGES: &str = "imageListPullJobTemplate";
/// Child names are 11 characters longer and must fit into a label (B9).
const NAME_MAX: usize = 52;
const IMAGES_MAX: usize = 255;
const DEADLINE_MAX: i64 = 86_400;
const PULL_TIMEOUT_SECONDS: i64 = 600;
const SPEC_MUTABLE: [&str; 8] = [
    "schedule",
    "timeZone",
    "startingDeadlineSeconds",
    "concurrencyPolicy",
    "paused",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
    "template",
];

impl Rules for AdvancedCronJob {
    type Facts = ();

    fn facts(_: &Request, _: &Known<'_>) {}

    fn default(_: Version, spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
        pod_defaults(spec, old, gates)?;
        let has_images = spec.pointer("/template/imageListPullJobTemplate").is_some_and(Value::is_object);
        let Some(fields) = spec.as_object_mut() else { return Ok(()) };
        let policy = if has_images { ConcurrencyPolicy::Replace } else { ConcurrencyPolicy::Allow };
        set(fields, "concurrencyPolicy", json!(policy));
        set(fields, "paused", json!(false));
        set(fields, "successfulJobsHistoryLimit", json!(defaults::KEPT_SUCCESSFUL));
        set(fields, "failedJobsHistoryLimit", json!(defaults::KEPT_FAILED));
        if has_images
            && let Some(template) = object_in(fields, "template").and_then(|all| object_in(all, IMAGES))
        {
            image_defaults(template);
        }
        Ok(())
    }

    fn validate(case: &Case<'_, ()>) -> Faults {
        let mut faults = Faults::default();
        if case.old.is_none() {
            name(case.name, &mut faults);
        }
        schedule(case.spec, &mut faults);
        let numbers = ["/startingDeadlineSeconds", "/successfulJobsHistoryLimit", "/failedJobsHistoryLimit"];
        counts(case.spec, &numbers, &mut faults);
        let policy = case.spec.get("concurrencyPolicy").unwrap_or(&Value::Null);
        one_of(policy, "spec.concurrencyPolicy", ConcurrencyPolicy::WORDS, &mut faults);
        template(case, &mut faults);
        if let Some(old) = case.old {
            immutable(case.spec, old, &SPEC_MUTABLE, &mut faults);
            same_template(case.spec, old, &mut faults);
        }
        faults
    }

    /// B12: settings under which nothing would ever run.
    fn warn(case: &Case<'_, ()>) -> Vec<String> {
        let deadline = case.spec.get("startingDeadlineSeconds").and_then(Value::as_i64);
        let never = deadline.filter(|seconds| *seconds == 0).map(|_| {
            "spec.startingDeadlineSeconds: with 0 nothing is ever started; leave it out or allow a few seconds".to_owned()
        });
        never.into_iter().collect()
    }
}

/// D1: only where the template is new.
fn pod_defaults(spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
    if gates.on(Gate::TemplateNoDefaults) {
        return Ok(());
    }
    for field in [JOB, BROADCAST] {
        let path = format!("/template/{field}");
        let is_new = old.is_none_or(|old| old.pointer(&path) != spec.pointer(&path));
        if let (true, Some(pod)) = (is_new, spec.pointer_mut(&format!("{path}/spec/template"))) {
            *pod = with_defaults(pod.take(), gates)?;
        }
    }
    Ok(())
}

/// D2, each field on its own (B18).
fn image_defaults(template: &mut Map<String, Value>) {
    let Some(spec) = object_in(template, "spec") else { return };
    set(spec, "imagePullPolicy", json!(PULL_IF_NOT_PRESENT));
    if let Some(completion) = object_in(spec, "completionPolicy") {
        set(completion, "type", json!(CompletionPolicyType::Always));
    }
    if let Some(pull) = object_in(spec, "pullPolicy") {
        set(pull, "timeoutSeconds", json!(PULL_TIMEOUT_SECONDS));
        set(pull, "backoffLimit", json!(3));
    }
}

/// V1, B9.
fn name(name: &str, faults: &mut Faults) {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if NAME_MAX < name.len() || !is_plain {
        let message = format!(
            "{name:?}: use at most {NAME_MAX} letters, digits and dashes, because the time of a run is added to it"
        );
        faults.invalid("metadata.name", message);
    }
}

/// V2, V3.
fn schedule(spec: &Value, faults: &mut Faults) {
    let text = spec.get("schedule").and_then(Value::as_str).unwrap_or_default();
    let named = spec.get("timeZone").filter(|value| !value.is_null());
    if text.is_empty() {
        faults.add(FaultKind::Required, "spec.schedule", "say when, such as \"*/5 * * * *\"");
    } else if let Err(error) = Schedule::read(text, None) {
        faults.invalid("spec.schedule", error.to_string());
    }
    let Some(named) = named else { return };
    let named = named.as_str().unwrap_or_default();
    if says_its_zone(text) {
        faults.invalid(
            "spec.schedule",
            "names a time zone itself: leave spec.timeZone out, or TZ= in the schedule",
        );
    }
    if named.is_empty() || named.eq_ignore_ascii_case("local") || zone(named).is_none() {
        faults.invalid(
            "spec.timeZone",
            format!("{named:?}: use the name of a time zone such as Europe/Berlin"),
        );
    }
}

/// V4 … V6, B13.
fn template(case: &Case<'_, ()>, faults: &mut Faults) {
    let at = |field: &str| case.spec.pointer(&format!("/template/{field}")).filter(|value| !value.is_null());
    match (at(JOB), at(BROADCAST), at(IMAGES)) {
        (Some(job), None, None) => job_template(job.get("spec").unwrap_or(&Value::Null), faults),
        (None, Some(job), None) => broadcast(case, job.get("spec").unwrap_or(&Value::Null), faults),
        (None, None, Some(list)) => image_list(case.spec, list.get("spec").unwrap_or(&Value::Null), faults),
        _ => {
            let message =
                format!("exactly one of {JOB}, {BROADCAST} and {IMAGES} is needed; v1alpha1 has no {IMAGES}");
            faults.add(FaultKind::Forbidden, "spec.template", message);
        }
    }
}

fn job_template(spec: &Value, faults: &mut Faults) {
    let field = format!("spec.template.{JOB}.spec");
    for name in
        ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"]
    {
        let value = spec.get(name).filter(|value| !value.is_null());
        if value.is_some_and(|value| value.as_i64().is_none_or(|count| count < 0)) {
            faults.invalid(format!("{field}.{name}"), "must be a number >= 0");
        }
    }
    let pod = spec.get("template").unwrap_or(&Value::Null);
    let restart = pod.pointer("/spec/restartPolicy").and_then(Value::as_str).unwrap_or_default();
    if ![RESTART_NEVER, RESTART_ON_FAILURE].contains(&restart) {
        let message = format!("{restart:?}: use Never or OnFailure, because the pods run to their end");
        faults.add(FaultKind::NotSupported, format!("{field}.template.spec.restartPolicy"), message);
    }
    if pod.pointer("/spec/containers").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        faults.add(FaultKind::Required, format!("{field}.template.spec.containers"), "say what runs");
    }
    if let Err(error) = canonical("PodTemplateSpec", pod) {
        faults.invalid(format!("{field}.template.{}", error.path), error.problem);
    }
}

/// The rules of the child itself.
fn broadcast(case: &Case<'_, ()>, spec: &Value, faults: &mut Faults) {
    let child = Case { name: "child", spec, old: None, facts: &(), template: &[], gates: case.gates };
    for fault in BroadcastJob::validate(&child).iter() {
        let field = fault.field.strip_prefix("spec").unwrap_or(&fault.field);
        faults.add(fault.kind, format!("spec.template.{BROADCAST}.spec{field}"), fault.message.clone());
    }
}

/// V6.
fn image_list(all: &Value, spec: &Value, faults: &mut Faults) {
    let field = format!("spec.template.{IMAGES}.spec");
    if all.get("concurrencyPolicy").and_then(Value::as_str) == Some(ConcurrencyPolicy::Allow.as_str()) {
        let message = "\"Allow\": use Replace or Forbid with an image list";
        faults.add(FaultKind::NotSupported, "spec.concurrencyPolicy", message);
    }
    let texts = |value: Option<&Value>| -> Vec<String> {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.map(|one| one.as_str().unwrap_or_default().to_owned()).collect()
    };
    let images = texts(spec.get("images"));
    if images.is_empty() || IMAGES_MAX < images.len() {
        faults.invalid(
            format!("{field}.images"),
            format!("name 1 to {IMAGES_MAX} images, not {}", images.len()),
        );
    }
    unique(&images, &format!("{field}.images"), faults);
    let is_image = |image: &String| !image.is_empty() && !image.chars().any(char::is_whitespace);
    if let Some(wrong) = images.iter().find(|image| !is_image(image)) {
        faults.invalid(format!("{field}.images"), format!("{wrong:?} is not the name of an image"));
    }
    selectors(spec, &field, faults);
    let completion = spec.get("completionPolicy").unwrap_or(&Value::Null);
    if completion.get("type") != Some(&json!(CompletionPolicyType::Always)) {
        faults.add(
            FaultKind::NotSupported,
            format!("{field}.completionPolicy.type"),
            "only Always is possible",
        );
    }
    if completion.get("ttlSecondsAfterFinished").is_some_and(|value| !value.is_null()) {
        let message = "children are deleted by the history limits: remove it";
        faults.add(
            FaultKind::Forbidden,
            format!("{field}.completionPolicy.ttlSecondsAfterFinished"),
            message,
        );
    }
    let deadline = completion.get("activeDeadlineSeconds").and_then(Value::as_i64);
    let timeout =
        spec.pointer("/pullPolicy/timeoutSeconds").and_then(Value::as_i64).unwrap_or(PULL_TIMEOUT_SECONDS);
    if deadline.is_some_and(|deadline| deadline < timeout || DEADLINE_MAX < deadline) {
        let message =
            format!("must be at least pullPolicy.timeoutSeconds ({timeout}) and at most {DEADLINE_MAX}");
        faults.invalid(format!("{field}.completionPolicy.activeDeadlineSeconds"), message);
    }
}

fn selectors(spec: &Value, field: &str, faults: &mut Faults) {
    let present =
        |name: &str| spec.get(name).filter(|value| value.as_object().is_some_and(|map| !map.is_empty()));
    let (nodes, pods) = (present("selector"), present("podSelector"));
    if nodes.is_some() && pods.is_some() {
        faults.add(FaultKind::Forbidden, format!("{field}.podSelector"), "cannot be combined with selector");
    }
    for (name, selector) in [("selector", nodes), ("podSelector", pods)] {
        let Some(selector) = selector else { continue };
        let mut labels = selector.clone();
        let names = labels.as_object_mut().and_then(|map| map.shift_remove("names"));
        let names: Vec<String> = names
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect();
        unique(&names, &format!("{field}.{name}.names"), faults);
        match Selector::read(&labels) {
            Err(error) => faults.invalid(format!("{field}.{name}"), error.to_string()),
            Ok(labels) if !names.is_empty() && !labels.is_empty() => {
                faults.add(
                    FaultKind::Forbidden,
                    format!("{field}.{name}.names"),
                    "cannot be combined with labels",
                );
            }
            Ok(_) => {}
        }
    }
}

fn unique(texts: &[String], field: &str, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    if let Some(twice) = texts.iter().find(|text| !seen.insert(*text)) {
        faults.add(FaultKind::Duplicate, field, format!("{twice:?} is listed twice"));
    }
}

/// ACJ-22: Jobs and BroadcastJobs stay as they are, and the kind of the children as well.
fn same_template(spec: &Value, old: &Value, faults: &mut Faults) {
    for field in [JOB, BROADCAST, IMAGES] {
        let path = format!("/template/{field}");
        let at = |of: &Value| of.pointer(&path).cloned().filter(|value| !value.is_null());
        let (new, old) = (at(spec), at(old));
        let is_kept = new == old || (field == IMAGES && new.is_some() && old.is_some());
        if !is_kept {
            let message = "cannot be changed: delete the object and create it again";
            faults.add(FaultKind::Forbidden, format!("spec.template.{field}"), message);
        }
    }
}
