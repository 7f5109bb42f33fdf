//! Rules (section 6 of the specification), on the stored version v1beta1. The words of upstream are kept, because programs look for them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::content::Sort;
use super::object::{OF_RESOURCE, ResourceDistribution, of_resource};
use crate::admission::versions::{self, Case, Rules, Version};
use crate::admission::{Answer, FaultKind, Faults, Known, Operation, Request};
use crate::gates::{Gate, Gates};
use crate::order::Selector;
use crate::revision::Unreadable;

pub fn validate(request: Request, known: &Known<'_>) -> Answer {
    // RD-B14: what is there already can still be let go of; only what is new to the spec is refused.
    let is_new =
        request.operation == Operation::Create || request.object.get("spec") != request.old.get("spec");
    if is_new && !known.gates.on(Gate::ResourceDistribution) {
        let name = Gate::ResourceDistribution.about().name;
        let message = format!(
            "feature-gate {name} is not enabled: nothing would be distributed, set --feature-gates={name}=true"
        );
        return Answer::denied(403, message);
    }
    versions::validate::<ResourceDistribution>(request, known)
}

/// The object that the API server should judge by a dry run; none if it is stored already or refused anyway.
pub fn to_try(request: &Request, namespace: &str) -> Option<(Sort, Value)> {
    let resource = request.object.pointer("/spec/resource")?;
    let old = request.old.pointer("/spec/resource");
    let is_changed = old.is_none_or(|old| identity(old) == identity(resource) && old != resource);
    let sort = Sort::of(resource).filter(|_| is_changed && !name(resource).is_empty())?;
    let mut trial = resource.clone();
    trial.get_mut("metadata")?.as_object_mut()?.insert("namespace".to_owned(), json!(namespace));
    Some((sort, trial))
}

impl Rules for ResourceDistribution {
    /// Other distributions of an object of the same kind and name.
    type Facts = Vec<String>;

    fn facts(request: &Request, known: &Known<'_>) -> Vec<String> {
        let resource = request.object.pointer("/spec/resource").unwrap_or(&Value::Null);
        let Some(sort) = Sort::of(resource) else { return Vec::new() };
        let found = known.lookup.by::<Self>(OF_RESOURCE, &of_resource(sort, name(resource)));
        let names = found.iter().map(|one| one.head.name.to_string());
        names.filter(|name| *name != request.name).collect()
    }

    fn default(_: Version, _: &mut Value, _: Option<&Value>, _: &Gates) -> Result<(), Unreadable> {
        Ok(())
    }

    fn validate(case: &Case<'_, Vec<String>>) -> Faults {
        let mut faults = Faults::default();
        let resource = case.spec.get("resource").unwrap_or(&Value::Null);
        if resource.as_object().is_none_or(serde_json::Map::is_empty) {
            let message = "empty resource is not allowed: give a whole Secret or ConfigMap";
            faults.add(FaultKind::Required, "spec.resource", message);
            return faults;
        }
        object(resource, case, &mut faults);
        targets(case.spec.get("targets").unwrap_or(&Value::Null), &mut faults);
        faults
    }

    fn warn(case: &Case<'_, Vec<String>>) -> Vec<String> {
        let others = case.facts.join(", ");
        let message = format!(
            "{others} distributes an object of the same kind and name: where both have the same namespace, the one that comes second reports a conflict"
        );
        if case.facts.is_empty() { Vec::new() } else { vec![message] }
    }

    fn worded(version: Version, field: &str) -> String {
        match version {
            Version::V1alpha1 => field.replace("namespaceSelector", "namespaceLabelSelector"),
            Version::V1beta1 => field.to_owned(),
        }
    }
}

/// Each rule only if those before it hold.
fn object(resource: &Value, case: &Case<'_, Vec<String>>, faults: &mut Faults) {
    if Sort::of(resource).is_none() {
        let text = |field: &str| resource.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let message = format!(
            "unknown or unsupported resource GroupKind {} {}: use a Secret or a ConfigMap of apiVersion v1",
            text("apiVersion"),
            text("kind")
        );
        faults.add(FaultKind::NotSupported, "spec.resource", message);
        return;
    }
    if name(resource).is_empty() {
        let message = "a name is needed: every copy gets it, and generateName gives none";
        faults.add(FaultKind::Required, "spec.resource.metadata.name", message); // RD-B12
        return;
    }
    let old = case.old.and_then(|old| old.get("resource"));
    if old.is_some_and(|old| identity(old) != identity(resource)) {
        let message = "resource apiVersion, kind, and name are immutable: delete the distribution and create another one";
        faults.invalid("spec.resource", message);
        return;
    }
    for fault in case.template {
        faults.add(fault.kind, fault.field.clone(), fault.message.clone());
    }
}

fn targets(targets: &Value, faults: &mut Faults) {
    let names = |field: &str| -> Vec<String> {
        let list = targets.get(field).and_then(|one| one.get("list")?.as_array());
        let name = |one: &Value| one.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        list.into_iter().flatten().map(name).collect()
    };
    let (included, excluded) = (names("includedNamespaces"), names("excludedNamespaces"));
    for (field, all) in [("includedNamespaces", &included), ("excludedNamespaces", &excluded)] {
        for name in all.iter().filter(|name| !can_be_a_namespace(name)) {
            let message = format!(
                "{name:?} cannot be the name of a namespace: lower-case letters, digits and -, at most 63"
            );
            faults.invalid(format!("spec.targets.{field}.list"), message);
        }
    }
    let excluded: BTreeSet<&String> = excluded.iter().collect();
    let both: Vec<&str> =
        included.iter().filter(|name| excluded.contains(name)).map(String::as_str).collect();
    if !both.is_empty() {
        let message = format!(
            "ambiguous targets because namespace {} is both included and excluded: remove it from one of the lists",
            both.join(", ")
        );
        faults.invalid("spec.targets", message);
    }
    let selector = targets.get("namespaceSelector").filter(|value| !value.is_null());
    if let Some(Err(error)) = selector.map(Selector::read) {
        faults.invalid("spec.targets.namespaceSelector", error.to_string());
    }
}

fn name(resource: &Value) -> &str {
    resource.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn identity(resource: &Value) -> [Option<&Value>; 3] {
    [resource.get("apiVersion"), resource.get("kind"), resource.pointer("/metadata/name")]
}

fn can_be_a_namespace(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
