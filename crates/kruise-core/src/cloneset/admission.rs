//! Defaults, refusals and warnings (CS-100 … CS-106), on the stored version v1beta1. The pod template itself is validated by
//! the API server (a dry-run create), never by a copy of its rules.

use std::collections::BTreeSet;

use kruise_api::names::APPS_GROUP;
use kruise_api::parts::{PodUpdatePolicy, UpdateType};
use serde_json::{Map, Value, json};

use super::spec::defaults;
use super::{CloneSet, strategy};
use crate::admission::versions::{Case, Rules, Version};
use crate::admission::workload::{self, default_templates, object_in, set};
use crate::admission::{FaultKind, Faults, Known, Request};
use crate::amount::{Amount, Bare, Rounding};
use crate::gates::{Gate, Gates};
use crate::merge::{Change, differences};
use crate::object::Key;
use crate::pod::PodView;
use crate::revision::{Unreadable, canonical};
use crate::workload::base::defaults as base;

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

/// What is known about the pods that an object names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Names of pods that exist, are not being deleted and are controlled by this object.
    pub owned: BTreeSet<String>,
}

impl Rules for CloneSet {
    type Facts = Named;

    /// Of the pods that the object names, those that are its own.
    fn facts(request: &Request, known: &Known<'_>) -> Named {
        let uid = request.old.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let is_own = |name: &String| {
            let pod = known.lookup.get::<PodView>(&Key::new(request.namespace.as_str(), name.as_str()));
            pod.is_some_and(|pod| {
                let is_controlled = pod.controller().is_some_and(|owner| owner.uid.as_str() == uid);
                pod.deleted.is_none() && is_controlled
            })
        };
        let names = |object: &Value| object.get("spec").map(named_to_delete).unwrap_or_default();
        let before = names(&request.old);
        let new = names(&request.object).into_iter().filter(|name| !before.contains(name));
        Named { owned: new.filter(is_own).collect() }
    }

    fn complete_v1alpha1(object: &mut Value) {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
        for field in ["scaleStrategy", "updateStrategy"] {
            let place = spec.entry(field).or_insert(Value::Null);
            if place.is_null() {
                *place = json!({});
            }
        }
        let strategy = spec.get_mut("updateStrategy").and_then(Value::as_object_mut);
        if let Some(strategy) = strategy
            && strategy.get("type").is_none_or(|kind| kind.is_null() || kind == "")
        {
            strategy.insert("type".to_owned(), json!(PodUpdatePolicy::ReCreate));
        }
    }

    fn default(_: Version, spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
        default(spec, old, gates)
    }

    fn validate(case: &Case<'_, Named>) -> Faults {
        let mut faults = validate(case.spec, case.old, case.facts);
        for fault in case.template {
            faults.add(fault.kind, fault.field.clone(), fault.message.clone());
        }
        faults
    }

    fn validate_v1alpha1(spec: &Value) -> Faults {
        validate_v1alpha1(spec)
    }

    fn warn(case: &Case<'_, Named>) -> Vec<String> {
        warn(case.name, case.spec, case.gates)
    }

    fn worded(version: Version, field: &str) -> String {
        match version {
            Version::V1alpha1 => field
                .replace("spec.updateStrategy.rollingUpdate.podUpdatePolicy", "spec.updateStrategy.type")
                .replace("spec.updateStrategy.rollingUpdate", "spec.updateStrategy"),
            Version::V1beta1 => field.to_owned(),
        }
    }
}

/// Writes defaults into `spec` (CS-100, CS-101); `old` is the stored spec of an update.
pub fn default(spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
    default_templates(spec, old, gates)?;
    let Some(object) = spec.as_object_mut() else { return Ok(()) };
    set(object, "replicas", json!(base::REPLICAS));
    set(object, "revisionHistoryLimit", json!(base::HISTORY_LIMIT));
    if let Some(scale) = object_in(object, "scaleStrategy") {
        set(scale, "enablePVCReuse", json!(false));
    }
    if let Some(strategy) = object_in(object, "updateStrategy") {
        set(strategy, "type", json!(UpdateType::RollingUpdate));
        if strategy.get("type").and_then(Value::as_str) == Some(UpdateType::RollingUpdate.as_str()) {
            default_rolling(strategy);
        }
    }
    Ok(())
}

fn default_rolling(strategy: &mut Map<String, Value>) {
    let Some(rolling) = object_in(strategy, "rollingUpdate") else { return };
    set(rolling, "podUpdatePolicy", json!(PodUpdatePolicy::ReCreate));
    if rolling
        .get("podUpdatePolicy")
        .and_then(Value::as_str)
        .is_some_and(|policy| policy.starts_with("InPlace"))
    {
        set(rolling, "inPlaceUpdateStrategy", json!({}));
    }
    set(rolling, "partition", json!(0));
    set(rolling, "maxUnavailable", json!(format!("{}%", defaults::MAX_UNAVAILABLE_PERCENT)));
    set(rolling, "maxSurge", json!(0));
}

/// Refuses what the schema cannot. Collects every fault.
pub fn validate(spec: &Value, old: Option<&Value>, named: &Named) -> Faults {
    let mut faults = Faults::default();
    counts(spec, &mut faults);
    workload::selector(spec, &mut faults);
    workload::template_rules(spec, &mut faults);
    pods_to_delete(spec, old, named, &mut faults);
    strategy::validate(spec, &mut faults);
    if let Some(old) = old {
        workload::immutable(spec, old, &SPEC_MUTABLE, &mut faults); // CS-103
        in_place_only(spec, old, &mut faults);
    }
    faults
}

/// What v1alpha1 refuses beyond that: it never had OnDelete (CS-104).
pub fn validate_v1alpha1(spec: &Value) -> Faults {
    let mut faults = Faults::default();
    let kind = spec.pointer("/updateStrategy/type").and_then(Value::as_str).unwrap_or_default();
    if !kind.is_empty() && !PodUpdatePolicy::WORDS.contains(&kind) {
        let message = format!(
            "{kind:?}: use ReCreate, InPlaceIfPossible or InPlaceOnly; OnDelete needs {APPS_GROUP}/v1beta1"
        );
        faults.add(FaultKind::NotSupported, "spec.updateStrategy.type", message);
    }
    faults
}

/// Things that work but will surprise.
pub fn warn(name: &str, spec: &Value, gates: &Gates) -> Vec<String> {
    let mut warnings = Vec::new();
    let rolling = "/updateStrategy/rollingUpdate";
    let written = spec.pointer(&format!("{rolling}/maxSurge"));
    let surge = written.and_then(|value| Amount::read(value, Bare::Refused).ok());
    // Without extra pods it is rounded up (CS-30).
    if surge.is_some_and(|surge| surge.of(u32::MAX, Rounding::Up) > 0) {
        let effect = "with maxSurge it rounds down, so pods are replaced only after extra pods are created";
        warnings.extend(workload::rounds_to_zero(spec, &format!("{rolling}/maxUnavailable"), effect));
    }
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
    let paths = [
        "/replicas",
        "/minReadySeconds",
        "/revisionHistoryLimit",
        "/progressDeadlineSeconds",
        "/updateStrategy/rollingUpdate/inPlaceUpdateStrategy/gracePeriodSeconds",
    ];
    workload::counts(spec, &paths, faults);
    let number = |path: &str| spec.pointer(path).and_then(Value::as_i64);
    let deadline = number("/progressDeadlineSeconds");
    let min_ready = number("/minReadySeconds").unwrap_or(0);
    if deadline.is_some_and(|seconds| seconds != i64::from(i32::MAX) && seconds <= min_ready) {
        faults.invalid("spec.progressDeadlineSeconds", "must be greater than minReadySeconds");
    }
}

/// No name twice; new names must be pods of this object, so a new object can name none (CS-104, for both versions by CS-106).
fn pods_to_delete(spec: &Value, old: Option<&Value>, named: &Named, faults: &mut Faults) {
    let field = "spec.scaleStrategy.podsToDelete";
    let before = old.map(named_to_delete).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for name in named_to_delete(spec) {
        if !seen.insert(name.clone()) {
            faults.add(FaultKind::Duplicate, field, format!("{name:?} is listed twice"));
        } else if !before.contains(&name) && !named.owned.contains(&name) {
            faults.invalid(field, format!("{name:?} is not a running pod of this CloneSet"));
        }
    }
}

fn named_to_delete(spec: &Value) -> Vec<String> {
    let list = spec.pointer("/scaleStrategy/podsToDelete").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
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
