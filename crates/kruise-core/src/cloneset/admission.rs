//! Defaults, refusals and warnings (CS-100 … CS-106), on the stored version v1beta1. The pod template itself is validated by
//! the API server (a dry-run create), never by a copy of its rules.

use std::collections::BTreeSet;

use kruise_api::kubernetes::RESTART_ALWAYS;
use kruise_api::names::APPS_GROUP;
use kruise_api::parts::{PodUpdatePolicy, UpdateType};
use serde_json::{Map, Value, json};

use super::strategy;
use crate::admission::{FaultKind, Faults};
use crate::gates::{Gate, Gates};
use crate::merge::{Change, differences};
use crate::order::Selector;
use crate::pod::string_map;
use crate::revision::{Unreadable, canonical};
use crate::template;

/// Names longer than this make the revision label longer than a label may be (B20).
const NAME_BYTES_MAX: usize = 52;
const SPEC_MUTABLE: [&str; 9] = [
    "replicas",
    "template",
    "scaleStrategy",
    "updateStrategy",
    "minReadySeconds",
    "lifecycle",
    "revisionHistoryLimit",
    "volumeClaimTemplates",
    "progressDeadlineSeconds",
];

/// What the API server knows about the pods that an object names; looked up by the webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Names of pods that exist, are not being deleted and are controlled by this object.
    pub owned: BTreeSet<String>,
}

/// Writes defaults into `spec` (CS-100, CS-101); `old` is the stored spec of an update.
pub fn default(spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
    let is_new_template = old.is_none_or(|old| old.get("template") != spec.get("template"));
    let Some(object) = spec.as_object_mut() else { return Ok(()) };
    set(object, "replicas", json!(1));
    set(object, "revisionHistoryLimit", json!(10));
    if let Some(scale) = object_in(object, "scaleStrategy") {
        set(scale, "enablePVCReuse", json!(false));
    }
    if let Some(strategy) = object_in(object, "updateStrategy") {
        set(strategy, "type", json!(UpdateType::RollingUpdate));
        if strategy.get("type").and_then(Value::as_str) == Some(UpdateType::RollingUpdate.as_str()) {
            default_rolling(strategy);
        }
    }
    if is_new_template && !gates.on(Gate::TemplateNoDefaults) {
        if let Some(found) = object.get_mut("template") {
            *found = template::with_defaults(found, gates)?;
        }
        let claims = object.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
        for claim in claims.into_iter().flatten() {
            *claim = template::claim_with_defaults(claim)?;
        }
    }
    Ok(())
}

fn default_rolling(strategy: &mut Map<String, Value>) {
    let Some(rolling) = object_in(strategy, "rollingUpdate") else { return };
    set(rolling, "podUpdatePolicy", json!(PodUpdatePolicy::ReCreate));
    let policy = rolling.get("podUpdatePolicy").and_then(Value::as_str).map(PodUpdatePolicy::from);
    if matches!(policy, Some(PodUpdatePolicy::InPlaceIfPossible | PodUpdatePolicy::InPlaceOnly)) {
        set(rolling, "inPlaceUpdateStrategy", json!({}));
    }
    set(rolling, "partition", json!(0));
    set(rolling, "maxUnavailable", json!("20%"));
    set(rolling, "maxSurge", json!(0));
}

/// Refuses what the schema cannot. Collects every fault.
pub fn validate(spec: &Value, old: Option<&Value>, named: &Named) -> Faults {
    let mut faults = Faults::default();
    counts(spec, &mut faults);
    selector(spec, &mut faults);
    template_rules(spec, &mut faults);
    pods_to_delete(spec, old, named, &mut faults);
    strategy::validate(spec, &mut faults);
    if let Some(old) = old {
        immutable(spec, old, &mut faults);
        in_place_only(spec, old, &mut faults);
    }
    faults
}

/// What v1alpha1 refuses beyond that: it never had OnDelete (CS-104).
pub fn validate_v1alpha1(spec: &Value) -> Faults {
    let mut faults = Faults::default();
    let kind = spec.pointer("/updateStrategy/type").and_then(Value::as_str).unwrap_or_default();
    if matches!(PodUpdatePolicy::from(kind), PodUpdatePolicy::Other(_)) && !kind.is_empty() {
        let message = format!(
            "{kind:?}: use ReCreate, InPlaceIfPossible or InPlaceOnly; OnDelete needs {APPS_GROUP}/v1beta1"
        );
        faults.add(FaultKind::NotSupported, "spec.updateStrategy.type", message);
    }
    faults
}

/// Things that work but will surprise.
pub fn warn(name: &str, gates: &Gates) -> Vec<String> {
    let mut warnings = Vec::new();
    if name.len() > NAME_BYTES_MAX && !gates.on(Gate::CloneSetShortHash) {
        warnings.push(format!(
            "metadata.name has {} characters: with more than {NAME_BYTES_MAX} the label controller-revision-hash can \
             become too long and pods cannot be created; use a shorter name or the gate CloneSetShortHash",
            name.len()
        ));
    }
    warnings
}

fn counts(spec: &Value, faults: &mut Faults) {
    let number = |path: &str| spec.pointer(path).filter(|value| !value.is_null());
    for path in [
        "/replicas",
        "/minReadySeconds",
        "/revisionHistoryLimit",
        "/progressDeadlineSeconds",
        "/updateStrategy/rollingUpdate/inPlaceUpdateStrategy/gracePeriodSeconds",
    ] {
        if number(path).is_some_and(|value| value.as_i64().is_none_or(|count| count < 0)) {
            faults.invalid(format!("spec{}", path.replace('/', ".")), "must be a number >= 0");
        }
    }
    let deadline = number("/progressDeadlineSeconds").and_then(Value::as_i64);
    let min_ready = number("/minReadySeconds").and_then(Value::as_i64).unwrap_or(0);
    if deadline.is_some_and(|seconds| seconds != i64::from(i32::MAX) && seconds <= min_ready) {
        faults.invalid("spec.progressDeadlineSeconds", "must be greater than minReadySeconds");
    }
}

fn selector(spec: &Value, faults: &mut Faults) {
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

fn template_rules(spec: &Value, faults: &mut Faults) {
    let restart = spec.pointer("/template/spec/restartPolicy").and_then(Value::as_str).unwrap_or_default();
    if !["", RESTART_ALWAYS].contains(&restart) {
        let message = format!("{restart:?}: only Always is possible");
        faults.add(FaultKind::NotSupported, "spec.template.spec.restartPolicy", message);
    }
    if spec.pointer("/template/spec/activeDeadlineSeconds").is_some_and(|value| !value.is_null()) {
        let message = "pods of a CloneSet run until they are deleted";
        faults.add(FaultKind::Forbidden, "spec.template.spec.activeDeadlineSeconds", message);
    }
    if let Err(error) = canonical("PodTemplateSpec", spec.get("template").unwrap_or(&Value::Null)) {
        faults.invalid(format!("spec.template.{}", error.path), error.problem);
    }
}

/// No name twice; new names must be pods of this object (CS-104, for both versions by CS-106).
fn pods_to_delete(spec: &Value, old: Option<&Value>, named: &Named, faults: &mut Faults) {
    let field = "spec.scaleStrategy.podsToDelete";
    let names = |of: &Value| -> Vec<String> {
        let list = of.pointer("/scaleStrategy/podsToDelete").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let before = old.map(names).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for name in names(spec) {
        if !seen.insert(name.clone()) {
            faults.add(FaultKind::Duplicate, field, format!("{name:?} is listed twice"));
        } else if old.is_some() && !before.contains(&name) && !named.owned.contains(&name) {
            faults.invalid(field, format!("{name:?} is no running pod of this CloneSet"));
        }
    }
}

/// CS-103.
fn immutable(spec: &Value, old: &Value, faults: &mut Faults) {
    let fields = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<BTreeSet<_>>());
    let all = fields(spec).into_iter().flatten().chain(fields(old).into_iter().flatten());
    for field in all.collect::<BTreeSet<_>>() {
        if !SPEC_MUTABLE.contains(&field.as_str()) && spec.get(&field) != old.get(&field) {
            faults.add(FaultKind::Forbidden, format!("spec.{field}"), "cannot be changed");
        }
    }
}

/// With InPlaceOnly a change that needs new pods would never be made: refused at once (CS-104, CS-106).
fn in_place_only(spec: &Value, old: &Value, faults: &mut Faults) {
    let policy = spec.pointer("/updateStrategy/rollingUpdate/podUpdatePolicy").and_then(Value::as_str);
    if policy != Some(PodUpdatePolicy::InPlaceOnly.as_str()) {
        return;
    }
    let read =
        |value: &Value| canonical("PodTemplateSpec", value.get("template").unwrap_or(&Value::Null)).ok();
    let (Some(before), Some(after)) = (read(old), read(spec)) else { return };
    for difference in differences(&before, &after) {
        let path: Vec<&str> = difference.path.iter().map(String::as_str).collect();
        let is_possible = match path.as_slice() {
            ["metadata", ..] => true,
            ["spec", "containers", _, "image"] => matches!(difference.change, Change::Replace(_)),
            _ => false,
        };
        if !is_possible {
            let field = format!("spec.template.{}", path.join("."));
            faults.add(FaultKind::Forbidden, field, "InPlaceOnly allows only images of containers to change");
        }
    }
}

fn set(object: &mut Map<String, Value>, field: &str, value: Value) {
    if object.get(field).is_none_or(|there| there.is_null() || there == "") {
        object.insert(field.to_owned(), value);
    }
}

/// The object in a field, made if it is absent; `None` if something else stands there.
fn object_in<'a>(object: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.to_owned(), json!({}));
    }
    object.get_mut(field).and_then(Value::as_object_mut)
}
