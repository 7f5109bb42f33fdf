//! The rollout part of admission: amounts, policies, ordering rules (CS-102, CS-105, SM-62, SM-63).

use std::collections::BTreeSet;

use kruise_api::parts::{PodUpdatePolicy, UpdateType};
use serde_json::Value;

use crate::admission::workload;
use crate::admission::{FaultKind, Faults};
use crate::amount::{Amount, Bare, Rounding};
use crate::rollout::ROLLING;

pub fn validate(spec: &Value, faults: &mut Faults) {
    let strategy = spec.get("updateStrategy").unwrap_or(&Value::Null);
    let at = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
    workload::one_of(&at(strategy, "type"), "spec.updateStrategy.type", UpdateType::WORDS, faults);
    let rolling = strategy.get("rollingUpdate").unwrap_or(&Value::Null);
    if rolling.is_null() {
        return;
    }
    let policy = at(rolling, "podUpdatePolicy");
    workload::one_of(&policy, &format!("{ROLLING}.podUpdatePolicy"), PodUpdatePolicy::WORDS, faults);
    let policy = policy.as_str().unwrap_or_default();
    amounts(spec, rolling, policy, faults);
    let priority = rolling.get("priorityStrategy").unwrap_or(&Value::Null);
    workload::priority(priority, &format!("{ROLLING}.priorityStrategy"), faults);
    scatter(rolling.get("scatterStrategy").unwrap_or(&Value::Null), faults);
    pre_download(rolling.get("inPlaceUpdateStrategy").unwrap_or(&Value::Null), faults);
}

/// Amounts must parse, and must leave a pod to update (B1: both are evaluated, in every version).
fn amounts(spec: &Value, rolling: &Value, policy: &str, faults: &mut Faults) {
    let mut read = |field: &str| {
        let value = rolling.get(field).filter(|value| !value.is_null())?;
        match Amount::read(value, Bare::Refused) {
            Ok(amount) => Some(amount),
            Err(error) => {
                faults.invalid(format!("{ROLLING}.{field}"), error.to_string());
                None
            }
        }
    };
    // A partition that is not written is 0 (B16).
    let _partition = read("partition");
    let (unavailable, surge) = (read("maxUnavailable"), read("maxSurge"));
    let replicas = spec.get("replicas").and_then(Value::as_u64).unwrap_or(1);
    let replicas = u32::try_from(replicas).unwrap_or(u32::MAX);
    let pods = |amount: Option<Amount>| amount.map_or(0, |amount| amount.of(replicas, Rounding::Up));
    if replicas > 0 && pods(unavailable) == 0 && pods(surge) == 0 {
        let message = "maxUnavailable and maxSurge are both 0: no pod could ever be updated";
        faults.invalid(format!("{ROLLING}.maxUnavailable"), message);
    }
    if policy == PodUpdatePolicy::InPlaceOnly.as_str() && pods(surge) > 0 {
        faults.invalid(format!("{ROLLING}.maxSurge"), "InPlaceOnly creates no pods: maxSurge must be 0");
    }
}

fn scatter(terms: &Value, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for (i, term) in terms.as_array().into_iter().flatten().enumerate() {
        let text = |key: &str| term.get(key).and_then(Value::as_str).unwrap_or_default();
        let at = format!("{ROLLING}.scatterStrategy[{i}]");
        if text("key").is_empty() {
            faults.add(FaultKind::Required, format!("{at}.key"), "name a label");
        }
        if !seen.insert((text("key"), text("value"))) {
            faults.add(FaultKind::Duplicate, at, format!("{}: {}", text("key"), text("value")));
        }
    }
}

fn pre_download(in_place: &Value, faults: &mut Faults) {
    let at = |field: &str| format!("{ROLLING}.inPlaceUpdateStrategy.{field}");
    let present = |field: &str| in_place.get(field).filter(|value| !value.is_null());
    let parallelism = present("imagePreDownloadParallelism");
    let is_count = |value: &Value| match value.as_str() {
        Some(text) => text.parse::<u32>().is_ok(),
        None => value.as_u64().is_some(),
    };
    if parallelism.is_some_and(|value| !is_count(value)) {
        faults.invalid(at("imagePreDownloadParallelism"), "must be a number >= 0, not a percentage");
    }
    for field in ["imagePreDownloadTimeoutSeconds", "imagePreDownloadMinUpdatedReadyPods"] {
        if present(field).is_some_and(|value| value.as_u64().is_none()) {
            faults.invalid(at(field), "must be a number >= 0");
        }
    }
}
