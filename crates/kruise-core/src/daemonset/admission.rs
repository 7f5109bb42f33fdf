//! Defaults and rules (§6 of the specification: V1 … V8), on the stored version v1beta1. The pod template itself is validated by the API
//! server (a dry-run create) and never given defaults.

use kruise_api::annotations::DAEMONSET_PROGRESSIVE_CREATE;
use kruise_api::apps::daemonset::RollingUpdateType;
use kruise_api::apps::daemonset::v1alpha1::SURGING;
use kruise_api::labels::TRUE;
use kruise_api::parts::UpdateType;
use serde_json::{Map, Value, json};

use super::object::DaemonSet;
use super::spec::defaults;
use crate::admission::versions::{Case, Rules, Version};
use crate::admission::workload::{self, object_in, set};
use crate::admission::{FaultKind, Faults, Known, Request};
use crate::amount::{Amount, Bare, Rounding};
use crate::gates::Gates;
use crate::order::Selector;
use crate::revision::Unreadable;
use crate::rollout::ROLLING;
use crate::workload::base::defaults as base;

/// V8.
const SPEC_MUTABLE: [&str; 7] = [
    "template",
    "updateStrategy",
    "lifecycle",
    "burstReplicas",
    "minReadySeconds",
    "revisionHistoryLimit",
    "scaleStrategy",
];

impl Rules for DaemonSet {
    type Facts = ();

    fn facts(_: &Request, _: &Known<'_>) {}

    /// Surging means maxSurge 1 and maxUnavailable 0 where nothing is said; its name does not survive the conversion.
    fn complete_v1alpha1(object: &mut Value) {
        let rolling = object.pointer_mut("/spec/updateStrategy/rollingUpdate").and_then(Value::as_object_mut);
        let Some(rolling) = rolling else { return };
        if rolling.get("rollingUpdateType").and_then(Value::as_str) == Some(SURGING) {
            set(rolling, "maxSurge", json!(1));
            set(rolling, "maxUnavailable", json!(0));
        }
    }

    fn default(_: Version, spec: &mut Value, _: Option<&Value>, _: &Gates) -> Result<(), Unreadable> {
        let Some(fields) = spec.as_object_mut() else { return Ok(()) };
        set(fields, "burstReplicas", json!(defaults::BURST_REPLICAS));
        set(fields, "revisionHistoryLimit", json!(base::HISTORY_LIMIT));
        if let Some(strategy) = object_in(fields, "updateStrategy") {
            set(strategy, "type", json!(UpdateType::RollingUpdate));
            if strategy.get("type") == Some(&json!(UpdateType::RollingUpdate)) {
                default_rolling(strategy);
            }
        }
        Ok(())
    }

    /// B17: the annotation that v1alpha1 reads says what the field says.
    fn align(version: Version, object: &mut Value) {
        let is_partitioned = object.pointer("/spec/scaleStrategy/partitionedScaling") == Some(&json!(true));
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        if let (Version::V1beta1, false, Some(annotations)) = (version, is_partitioned, annotations)
            && annotations.get(DAEMONSET_PROGRESSIVE_CREATE) == Some(&json!(TRUE))
        {
            annotations.shift_remove(DAEMONSET_PROGRESSIVE_CREATE);
        }
    }

    fn validate(case: &Case<'_, ()>) -> Faults {
        let mut faults = Faults::default();
        let spec = case.spec;
        workload::counts(spec, &["/minReadySeconds", "/revisionHistoryLimit"], &mut faults);
        workload::selector(spec, &mut faults); // V2
        workload::template_rules(spec, &mut faults); // V4
        lifecycle(spec, &mut faults);
        burst(spec, &mut faults);
        strategy(spec, &mut faults);
        if let Some(old) = case.old {
            workload::immutable(spec, old, &SPEC_MUTABLE, &mut faults); // V8
        }
        for fault in case.template {
            faults.add(fault.kind, fault.field.clone(), fault.message.clone()); // V3
        }
        faults
    }

    /// V6: it always surges, so it has nothing to do with unavailable pods.
    fn validate_v1alpha1(spec: &Value) -> Faults {
        let mut faults = Faults::default();
        let rolling = spec.pointer("/updateStrategy/rollingUpdate").unwrap_or(&Value::Null);
        let is_surging = rolling.get("rollingUpdateType").and_then(Value::as_str) == Some(SURGING);
        if is_surging && is_set(rolling.get("maxUnavailable")) {
            faults.invalid(format!("{ROLLING}.maxUnavailable"), "must be 0 or left out with Surging");
        }
        faults
    }

    fn warn(case: &Case<'_, ()>) -> Vec<String> {
        let kind =
            case.spec.pointer("/updateStrategy/rollingUpdate/rollingUpdateType").and_then(Value::as_str);
        let unknown = kind.filter(|kind| !kind.is_empty() && !RollingUpdateType::WORDS.contains(kind));
        let warning = |word: &str| {
            let words = RollingUpdateType::WORDS.join(" or ");
            format!(
                "{ROLLING}.rollingUpdateType: {word:?} is unknown and works as Standard does: use {words}"
            )
        };
        unknown.map(warning).into_iter().collect()
    }
}

/// With one of the two amounts given, the other stays as it is.
fn default_rolling(strategy: &mut Map<String, Value>) {
    let Some(rolling) = object_in(strategy, "rollingUpdate") else { return };
    set(rolling, "rollingUpdateType", json!(RollingUpdateType::Standard));
    let is_absent = |field: &str| rolling.get(field).is_none_or(Value::is_null);
    if is_absent("maxUnavailable") && is_absent("maxSurge") {
        rolling.insert("maxUnavailable".to_owned(), json!(defaults::MAX_UNAVAILABLE));
        rolling.insert("maxSurge".to_owned(), json!(0));
    }
}

/// V4: only the preDelete hook exists.
fn lifecycle(spec: &Value, faults: &mut Faults) {
    if spec.pointer("/lifecycle/inPlaceUpdate").is_some_and(|hook| !hook.is_null()) {
        let message = "is not supported by DaemonSet: use preDelete";
        faults.add(FaultKind::Forbidden, "spec.lifecycle.inPlaceUpdate", message);
    }
}

/// B6.
fn burst(spec: &Value, faults: &mut Faults) {
    let Some(value) = spec.get("burstReplicas").filter(|value| !value.is_null()) else { return };
    if let Err(error) = Amount::read(value, Bare::Refused) {
        faults.invalid("spec.burstReplicas", error.to_string());
    }
}

/// V5, V6, V7.
fn strategy(spec: &Value, faults: &mut Faults) {
    let strategy = spec.get("updateStrategy").unwrap_or(&Value::Null);
    let kind = strategy.get("type").and_then(Value::as_str).unwrap_or_default();
    if !UpdateType::WORDS.contains(&kind) {
        let message = format!("{kind:?}: use {}", UpdateType::WORDS.join(" or "));
        faults.add(FaultKind::NotSupported, "spec.updateStrategy.type", message);
    }
    let rolling = strategy.get("rollingUpdate").filter(|rolling| !rolling.is_null());
    match rolling {
        Some(rolling) => amounts(rolling, faults),
        None if kind == UpdateType::RollingUpdate.as_str() => {
            faults.add(FaultKind::Required, ROLLING, "say how pods are replaced");
        }
        None => {}
    }
}

fn amounts(rolling: &Value, faults: &mut Faults) {
    for field in ["maxUnavailable", "maxSurge", "partition"] {
        let Some(value) = rolling.get(field).filter(|value| !value.is_null()) else { continue };
        match Amount::read(value, Bare::Refused) {
            Err(error) => faults.invalid(format!("{ROLLING}.{field}"), error.to_string()),
            Ok(amount @ Amount::Percent(_)) if 100 < amount.of(100, Rounding::Up) => {
                faults.invalid(format!("{ROLLING}.{field}"), "must not be more than 100%");
            }
            Ok(_) => {}
        }
    }
    let (unavailable, surge) = (is_set(rolling.get("maxUnavailable")), is_set(rolling.get("maxSurge")));
    let is_in_place = rolling.get("rollingUpdateType") == Some(&json!(RollingUpdateType::InPlaceIfPossible));
    match (unavailable, surge) {
        (true, true) => {
            let message = "cannot be more than 0 together with maxUnavailable: set one of them to 0";
            faults.invalid(format!("{ROLLING}.maxSurge"), message);
        }
        (false, false) => {
            faults.invalid(format!("{ROLLING}.maxUnavailable"), "cannot be 0 when maxSurge is 0");
        }
        (true, false) | (false, true) => {}
    }
    if is_in_place && surge {
        faults.invalid(format!("{ROLLING}.maxSurge"), "must be 0 with InPlaceIfPossible");
    }
    if let Some(selector) = rolling.get("selector").filter(|selector| !selector.is_null())
        && let Err(error) = Selector::read(selector)
    {
        faults.invalid(format!("{ROLLING}.selector"), error.to_string()); // B6
    }
}

/// Whether an amount is more than nothing (V6); what cannot be read counts as more.
fn is_set(value: Option<&Value>) -> bool {
    let present = value.filter(|value| !value.is_null());
    present.is_some_and(|amount| match Amount::read(amount, Bare::Refused) {
        Ok(amount) => amount.of(100, Rounding::Up) > 0,
        Err(_) => true,
    })
}
