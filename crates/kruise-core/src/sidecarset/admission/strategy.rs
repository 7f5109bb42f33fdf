//! `spec.updateStrategy` (6.2 no. 3 and 6).

use std::collections::BTreeSet;

use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::Value;

use super::Case;
use crate::admission::workload::priority;
use crate::admission::{FaultKind, Faults};
use crate::amount::{Amount, Bare};
use crate::order::Selector;

pub fn update(case: &Case<'_>, faults: &mut Faults) {
    let kind = case.at("/updateStrategy/type").as_str().unwrap_or_default();
    if !kind.is_empty()
        && !kruise_api::apps::sidecarset::SidecarSetUpdateType::WORDS.contains(&kind)
        && !case.is_kept("/updateStrategy/type")
    {
        let message = format!("{kind:?}: use RollingUpdate or NotUpdate"); // B7
        faults.add(FaultKind::NotSupported, "spec.updateStrategy.type", message);
    }
    if !case.is_rolling() {
        return;
    }
    let init = case.at("/initContainers").as_array().into_iter().flatten();
    let is_native = |one: &Value| one.get("restartPolicy").and_then(Value::as_str) == Some(RESTART_ALWAYS);
    if init.into_iter().any(is_native) {
        let message =
            "must be NotUpdate: init containers with restartPolicy Always cannot be upgraded in place";
        faults.invalid("spec.updateStrategy.type", message);
    }
    rolling(case, faults);
}

fn rolling(case: &Case<'_>, faults: &mut Faults) {
    let at = |name: &str| case.at(&format!("/updateStrategy/{name}"));
    let partition = at("partition");
    if !at("selector").is_null() {
        if partition.is_string() || partition.as_i64().is_some_and(|count| count != 0) {
            faults.invalid(
                "spec.updateStrategy",
                "selector and partition exclude each other: give one of them",
            );
        }
        match Selector::read(at("selector")) {
            Err(error) => faults.invalid("spec.updateStrategy.selector", error.to_string()),
            Ok(selector) if selector.is_empty() => faults.invalid(
                "spec.updateStrategy.selector",
                "must not be empty: give matchLabels or matchExpressions, or remove it",
            ),
            Ok(_) => {}
        }
    }
    for name in ["partition", "maxUnavailable"] {
        let value = at(name);
        if !value.is_null()
            && let Err(error) = Amount::read(value, Bare::Refused)
        {
            faults.invalid(format!("spec.updateStrategy.{name}"), error.to_string());
        }
    }
    priority(at("priorityStrategy"), "spec.updateStrategy.priorityStrategy", faults);
    let mut seen = BTreeSet::new();
    for (i, term) in at("scatterStrategy").as_array().into_iter().flatten().enumerate() {
        let text = |name: &str| term.get(name).and_then(Value::as_str).unwrap_or_default();
        let field = format!("spec.updateStrategy.scatterStrategy[{i}]");
        if text("key").is_empty() {
            faults.add(FaultKind::Required, format!("{field}.key"), "name a label");
        }
        if !seen.insert((text("key"), text("value"))) {
            faults.add(FaultKind::Duplicate, field, "the same key and value stand above");
        }
    }
}
