//! Rules that every workload has: defaults of templates, selectors, counts, the order of updates.

use std::collections::BTreeSet;

use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::{Map, Value, json};

use super::{FaultKind, Faults};
use crate::amount::{Amount, Bare, Rounding};
use crate::gates::{Gate, Gates};
use crate::order::Selector;
use crate::pod::string_map;
use crate::revision::{Unreadable, canonical};
use crate::template;

/// Gives a field that is absent, null or empty its value.
pub fn set(object: &mut Map<String, Value>, field: &str, value: Value) {
    if object.get(field).is_none_or(|there| there.is_null() || there == "") {
        object.insert(field.to_owned(), value);
    }
}

/// The object in a field, made if it is absent; `None` if something else stands there.
pub fn object_in<'a>(object: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.to_owned(), json!({}));
    }
    object.get_mut(field).and_then(Value::as_object_mut)
}

/// Defaults of pod and claim templates, only where the template is new (CS-101, AS-99): a stored one stays as it is, or a
/// new release of ours would roll every workload.
pub fn default_templates(spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
    let is_new = old.is_none_or(|old| old.get("template") != spec.get("template"));
    if !is_new || gates.on(Gate::TemplateNoDefaults) {
        return Ok(());
    }
    if let Some(found) = spec.get_mut("template") {
        *found = template::with_defaults(found.take(), gates)?;
    }
    let claims = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
    for claim in claims.into_iter().flatten() {
        *claim = template::claim_with_defaults(claim.take())?;
    }
    Ok(())
}

/// Numbers at these paths under `spec` must not be negative.
pub fn counts(spec: &Value, paths: &[&str], faults: &mut Faults) {
    for path in paths {
        let value = spec.pointer(path).filter(|value| !value.is_null());
        if value.is_some_and(|value| value.as_i64().is_none_or(|count| count < 0)) {
            faults.invalid(format!("spec{}", path.replace('/', ".")), "must be a number >= 0");
        }
    }
}

/// A text field that must be one of these words, or absent.
pub fn one_of(value: &Value, field: &str, words: &[&str], faults: &mut Faults) {
    let text = value.as_str().unwrap_or_default();
    if !text.is_empty() && !words.contains(&text) {
        faults.add(FaultKind::NotSupported, field, format!("{text:?}: use {}", words.join(", ")));
    }
}

/// A warning about a percentage at this path that is more than nothing and yet, rounded down, no pod at all.
pub fn rounds_to_zero(spec: &Value, path: &str, effect: &str) -> Option<String> {
    let written = spec.pointer(path)?;
    let replicas = spec.get("replicas").and_then(Value::as_u64).unwrap_or(1);
    let replicas = u32::try_from(replicas).unwrap_or(u32::MAX);
    let amount = Amount::read(written, Bare::Refused).ok()?;
    let (down, up) = (amount.of(replicas, Rounding::Down), amount.of(replicas, Rounding::Up));
    (down == 0 && up > 0).then(|| {
        let (field, text) = (path.replace('/', "."), written.as_str().unwrap_or_default());
        format!("spec{field}: {text} of {replicas} replicas rounds to 0 pods; {effect}")
    })
}

pub fn selector(spec: &Value, faults: &mut Faults) {
    let value = spec.get("selector").unwrap_or(&Value::Null);
    match Selector::read(value) {
        _ if value.is_null() => faults.add(FaultKind::Required, "spec.selector", "say which pods count"),
        Err(error) => faults.invalid("spec.selector", error.to_string()),
        Ok(selector) if selector.is_empty() => {
            faults.invalid("spec.selector", "must not be empty: it would select every pod");
        }
        Ok(selector) if !selector.matches_map(&string_map(spec.pointer("/template/metadata/labels"))) => {
            faults.invalid("spec.template.metadata.labels", "must be matched by spec.selector");
        }
        Ok(_) => {}
    }
}

/// What pods of a workload that keeps them running cannot have.
pub fn template_rules(spec: &Value, faults: &mut Faults) {
    let restart = spec.pointer("/template/spec/restartPolicy").and_then(Value::as_str).unwrap_or_default();
    if !["", RESTART_ALWAYS].contains(&restart) {
        let message = format!("{restart:?}: only Always is possible");
        faults.add(FaultKind::NotSupported, "spec.template.spec.restartPolicy", message);
    }
    if spec.pointer("/template/spec/activeDeadlineSeconds").is_some_and(|value| !value.is_null()) {
        let message = "pods of a workload run until they are deleted";
        faults.add(FaultKind::Forbidden, "spec.template.spec.activeDeadlineSeconds", message);
    }
    if let Err(error) = canonical("PodTemplateSpec", spec.get("template").unwrap_or(&Value::Null)) {
        faults.invalid(format!("spec.template.{}", error.path), error.problem);
    }
}

/// Fields of `spec` beyond these cannot be changed.
pub fn immutable(spec: &Value, old: &Value, mutable: &[&str], faults: &mut Faults) {
    let fields = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<BTreeSet<_>>());
    let all = fields(spec).into_iter().flatten().chain(fields(old).into_iter().flatten());
    for field in all.collect::<BTreeSet<_>>() {
        if !mutable.contains(&field.as_str()) && spec.get(&field) != old.get(&field) {
            faults.add(FaultKind::Forbidden, format!("spec.{field}"), "cannot be changed");
        }
    }
}

/// A priority strategy (SM-62), at that field.
pub fn priority(priority: &Value, field: &str, faults: &mut Faults) {
    let list = |name: &str| priority.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (weights, keys) = (list("weightPriority"), list("orderPriority"));
    if !weights.is_empty() && !keys.is_empty() {
        faults.invalid(field, "use either weightPriority or orderPriority");
    }
    for (i, term) in weights.iter().enumerate() {
        let at = format!("{field}.weightPriority[{i}]");
        if !term.get("weight").and_then(Value::as_i64).is_some_and(|weight| (0..=100).contains(&weight)) {
            faults.invalid(format!("{at}.weight"), "must be 0 to 100");
        }
        match Selector::read(term.get("matchSelector").unwrap_or(&Value::Null)) {
            Ok(selector) if !selector.is_empty() => {}
            Ok(_) => faults.invalid(format!("{at}.matchSelector"), "must not be empty"),
            Err(error) => faults.invalid(format!("{at}.matchSelector"), error.to_string()),
        }
    }
    for (i, term) in keys.iter().enumerate() {
        if term.get("orderedKey").and_then(Value::as_str).is_none_or(str::is_empty) {
            faults.add(FaultKind::Required, format!("{field}.orderPriority[{i}].orderedKey"), "name a label");
        }
    }
}
