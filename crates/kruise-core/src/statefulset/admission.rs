//! Defaults, refusals and warnings (sections 2.1 and 6 of the specification), on the stored version v1beta1.

use std::collections::BTreeMap;

use kruise_api::apps::statefulset::{ClaimRetention, ClaimUpdateType, PodManagementPolicy};
use kruise_api::conditions::IN_PLACE_UPDATE_READY;
use kruise_api::parts::{PodUpdatePolicy, UpdateType};
use serde_json::{Map, Value, json};

use super::StatefulSet;
use super::ordinals::interval;
use super::spec::defaults;
use crate::admission::versions::{Case, Rules, Version};
use crate::admission::workload::{self, default_templates, object_in, one_of, set};
use crate::admission::{FaultKind, Faults, Known, Request};
use crate::amount::{Amount, Bare, Rounding};
use crate::cluster::claim::template_name;
use crate::cluster::quantity::Quantity;
use crate::cluster::storage_class::{Expansion, StorageClass};
use crate::gates::{Gate, Gates};
use crate::inplace::{Blocked, Change};
use crate::revision::Unreadable;
use crate::rollout::ROLLING;
use crate::workload::base::defaults as base;

/// A pod that is not available after five minutes of readiness is a mistake in the spec.
const MIN_READY_SECONDS_MAX: i64 = 300;
/// Pods and labels carry the name; the API server takes no longer label values.
const LABEL_BYTES_MAX: usize = 63;
/// Characters of a revision's hash and the dash before it, which follow the name in the label controller-revision-hash.
const HASH_BYTES: usize = 11;
const SPEC_MUTABLE: [&str; 11] = [
    "replicas",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "reserveOrdinals",
    "ordinals",
    "lifecycle",
    "scaleStrategy",
    "persistentVolumeClaimRetentionPolicy",
    "volumeClaimTemplates",
    "volumeClaimUpdateStrategy",
];

/// What an object is checked against besides itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Storage {
    pub classes: BTreeMap<String, Expansion>,
    /// The class that claims without one get.
    pub default: Option<String>,
}

impl Rules for StatefulSet {
    type Facts = Storage;

    /// The storage classes that PVCs of a StatefulSet may have; of several defaults the newest counts.
    fn facts(_: &Request, known: &Known<'_>) -> Storage {
        let all = known.lookup.all::<StorageClass>();
        let newest = all.iter().filter_map(|one| Some((one.default_since()?, one.name()))).max();
        Storage {
            classes: all.iter().map(|one| (one.name().to_owned(), one.expansion())).collect(),
            default: newest.map(|(_, name)| name.to_owned()),
        }
    }

    fn default(
        version: Version,
        spec: &mut Value,
        old: Option<&Value>,
        gates: &Gates,
    ) -> Result<(), Unreadable> {
        default(spec, old, gates)?;
        if let (Version::V1beta1, Some(spec)) = (version, spec.as_object_mut()) {
            default_claims(spec, gates);
        }
        Ok(())
    }

    fn validate(case: &Case<'_, Storage>) -> Faults {
        let mut faults = validate(case.spec, case.old, case.facts, case.gates);
        if case.old.is_none() {
            for fault in validate_name(case.name).iter() {
                faults.add(fault.kind, fault.field.clone(), fault.message.clone());
            }
        }
        faults
    }

    /// The original does not look into pod templates; that its pods would be refused is told, not refused.
    fn warn(case: &Case<'_, Storage>) -> Vec<String> {
        let mut warnings = warn(case.name, case.spec, case.old);
        warnings.extend(case.template.iter().map(|fault| format!("pods would be refused: {fault}")));
        warnings
    }
}

/// Writes defaults into `spec`; `old` is the stored spec of an update.
pub fn default(spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
    default_templates(spec, old, gates)?;
    let Some(object) = spec.as_object_mut() else { return Ok(()) };
    set(object, "replicas", json!(base::REPLICAS));
    set(object, "revisionHistoryLimit", json!(base::HISTORY_LIMIT));
    set(object, "podManagementPolicy", json!(PodManagementPolicy::OrderedReady));
    if let Some(strategy) = object_in(object, "updateStrategy") {
        set(strategy, "type", json!(UpdateType::RollingUpdate));
        if strategy.get("type").and_then(Value::as_str) == Some(UpdateType::RollingUpdate.as_str())
            && let Some(rolling) = object_in(strategy, "rollingUpdate")
        {
            set(rolling, "podUpdatePolicy", json!(PodUpdatePolicy::ReCreate));
            set(rolling, "partition", json!(0));
            set(rolling, "maxUnavailable", json!(defaults::MAX_UNAVAILABLE));
            set(rolling, "minReadySeconds", json!(0));
        }
    }
    Ok(())
}

/// Defaults of what only v1beta1 has: a v1alpha1 object says nothing about it and gets nothing.
pub fn default_claims(spec: &mut Map<String, Value>, gates: &Gates) {
    if gates.on(Gate::StatefulSetAutoDeletePvc)
        && let Some(policy) = object_in(spec, "persistentVolumeClaimRetentionPolicy")
    {
        set(policy, "whenDeleted", json!(ClaimRetention::Retain));
        set(policy, "whenScaled", json!(ClaimRetention::Retain));
    }
    if gates.on(Gate::StatefulSetAutoResizePvc)
        && let Some(strategy) = object_in(spec, "volumeClaimUpdateStrategy")
    {
        set(strategy, "type", json!(ClaimUpdateType::OnDelete));
    }
}

/// Refuses what the schema cannot. Collects every fault.
pub fn validate(spec: &Value, old: Option<&Value>, storage: &Storage, gates: &Gates) -> Faults {
    let mut faults = Faults::default();
    let paths = [
        "/replicas",
        "/revisionHistoryLimit",
        "/ordinals/start",
        "/updateStrategy/rollingUpdate/partition",
        "/updateStrategy/rollingUpdate/inPlaceUpdateStrategy/gracePeriodSeconds",
    ];
    workload::counts(spec, &paths, &mut faults);
    workload::selector(spec, &mut faults);
    workload::template_rules(spec, &mut faults);
    words(spec, &mut faults);
    reserved(spec, &mut faults);
    amount(spec, "/scaleStrategy/maxUnavailable", &mut faults);
    rolling(spec, &mut faults);
    if let Some(old) = old {
        workload::immutable(spec, old, &SPEC_MUTABLE, &mut faults);
        in_place_only(spec, old, gates, &mut faults);
        if gates.on(Gate::StatefulSetAutoResizePvc) {
            claims(spec, old, storage, &mut faults);
        }
    }
    faults
}

/// The name of a new object: pods are named after it, and their host names are labels (B25: an old one is left in peace).
pub fn validate_name(name: &str) -> Faults {
    let mut faults = Faults::default();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = name.len() <= LABEL_BYTES_MAX
        && name.chars().all(|c| is_plain(c) || c == '-')
        && name.starts_with(is_plain)
        && name.ends_with(is_plain);
    if !is_label {
        let message =
            "must be a DNS label: at most 63 lower case letters, digits and dashes, no dash at its ends";
        faults.invalid("metadata.name", message);
    }
    faults
}

/// Things that work but will surprise.
pub fn warn(name: &str, spec: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for path in ["/updateStrategy/rollingUpdate/maxUnavailable", "/scaleStrategy/maxUnavailable"] {
        warnings.extend(workload::rounds_to_zero(spec, path, "it counts as 1"));
    }
    if name.len() + HASH_BYTES > LABEL_BYTES_MAX {
        warnings.push(format!(
            "metadata.name has {} characters: with more than {} the label controller-revision-hash can become too long and \
             pods cannot be created; use a shorter name",
            name.len(),
            LABEL_BYTES_MAX - HASH_BYTES
        ));
    }
    let names = |of: &Value| -> Vec<String> {
        let all = of.get("volumeClaimTemplates").and_then(Value::as_array).into_iter().flatten();
        all.map(|one| template_name(one).to_owned()).collect()
    };
    if old.is_some_and(|old| names(old) != names(spec)) {
        warnings.push(
            "spec.volumeClaimTemplates gained, lost or renamed a claim: running pods keep their volumes until an update \
             recreates them"
                .to_owned(),
        );
    }
    warnings
}

fn words(spec: &Value, faults: &mut Faults) {
    let rows: [(&str, &[&str]); 5] = [
        ("/podManagementPolicy", PodManagementPolicy::WORDS),
        ("/updateStrategy/type", UpdateType::WORDS),
        ("/updateStrategy/rollingUpdate/podUpdatePolicy", PodUpdatePolicy::WORDS),
        ("/persistentVolumeClaimRetentionPolicy/whenDeleted", ClaimRetention::WORDS),
        ("/persistentVolumeClaimRetentionPolicy/whenScaled", ClaimRetention::WORDS),
    ];
    for (path, words) in rows {
        let value = spec.pointer(path).unwrap_or(&Value::Null);
        one_of(value, &format!("spec{}", path.replace('/', ".")), words, faults);
    }
    let rolling = spec.pointer("/updateStrategy/rollingUpdate").filter(|value| !value.is_null());
    if rolling.is_some()
        && spec.pointer("/updateStrategy/type").is_some_and(|kind| kind == UpdateType::OnDelete.as_str())
    {
        faults.add(FaultKind::Forbidden, ROLLING, "allowed only with type RollingUpdate");
    }
}

fn reserved(spec: &Value, faults: &mut Faults) {
    let entries = spec.get("reserveOrdinals").and_then(Value::as_array).into_iter().flatten();
    for (i, entry) in entries.enumerate().filter(|(_, entry)| !is_ordinal(entry)) {
        let message = format!("{entry}: write a number >= 0 or a range like \"3-5\"");
        faults.invalid(format!("spec.reserveOrdinals[{i}]"), message);
    }
}

fn is_ordinal(entry: &Value) -> bool {
    kruise_api::read_part(entry.clone()).is_ok_and(|entry| interval(&entry).is_some())
}

fn rolling(spec: &Value, faults: &mut Faults) {
    let Some(rolling) = spec.pointer("/updateStrategy/rollingUpdate").filter(|value| value.is_object())
    else {
        return;
    };
    amount(spec, "/updateStrategy/rollingUpdate/maxUnavailable", faults);
    let seconds = rolling.get("minReadySeconds").and_then(Value::as_i64).unwrap_or(0);
    if !(0..=MIN_READY_SECONDS_MAX).contains(&seconds) {
        faults.invalid(format!("{ROLLING}.minReadySeconds"), "must be 0 to 300");
    }
    let policy = rolling.get("podUpdatePolicy").and_then(Value::as_str).unwrap_or_default();
    let gates = spec.pointer("/template/spec/readinessGates").and_then(Value::as_array).into_iter().flatten();
    let is_gated =
        gates.clone().any(|gate| gate.get("conditionType").is_some_and(|kind| kind == IN_PLACE_UPDATE_READY));
    if policy.starts_with("InPlace") && !is_gated {
        let message = format!("must contain InPlaceUpdateReady when podUpdatePolicy is {policy}");
        faults.invalid("spec.template.spec.readinessGates", message);
    }
    let Some(unordered) = rolling.get("unorderedUpdate").filter(|value| !value.is_null()) else { return };
    if !is_parallel(spec) {
        let message = "needs podManagementPolicy Parallel";
        faults.add(FaultKind::Forbidden, format!("{ROLLING}.unorderedUpdate"), message);
    }
    let field = format!("{ROLLING}.unorderedUpdate.priorityStrategy");
    workload::priority(unordered.get("priorityStrategy").unwrap_or(&Value::Null), &field, faults);
}

/// A limit of pods that may be down: at least one, and more only where several may move at once.
fn amount(spec: &Value, path: &str, faults: &mut Faults) {
    let Some(value) = spec.pointer(path).filter(|value| !value.is_null()) else { return };
    let field = format!("spec{}", path.replace('/', "."));
    match Amount::read(value, Bare::Refused) {
        Err(error) => faults.invalid(field.clone(), error.to_string()),
        Ok(amount) if amount.of(1, Rounding::Up) == 0 => {
            faults.invalid(field.clone(), "must let at least one pod be down");
        }
        Ok(_) => {}
    }
    if *value != json!(1) && !is_parallel(spec) {
        faults.invalid(field, "anything but 1 needs podManagementPolicy Parallel");
    }
}

fn is_parallel(spec: &Value) -> bool {
    spec.get("podManagementPolicy").is_some_and(|policy| policy == PodManagementPolicy::Parallel.as_str())
}

/// With InPlaceOnly a change that needs new pods would never be made: refused at once, by the rule that the update itself
/// follows (AS-59, B14).
fn in_place_only(spec: &Value, old: &Value, gates: &Gates, faults: &mut Faults) {
    let policy = spec.pointer("/updateStrategy/rollingUpdate/podUpdatePolicy").and_then(Value::as_str);
    if policy != Some(PodUpdatePolicy::InPlaceOnly.as_str()) {
        return;
    }
    let template = |of: &Value| of.get("template").cloned().unwrap_or_default();
    match Change::between(&template(old), &template(spec), gates) {
        Err(Blocked::Field(path)) => {
            let field = format!("spec.template.{path}");
            faults.add(FaultKind::Forbidden, field, "InPlaceOnly cannot change this on a running pod");
        }
        Err(Blocked::QosClass) => {
            let message = "InPlaceOnly cannot change the quality-of-service class of a running pod";
            faults.add(FaultKind::Forbidden, "spec.template.spec.containers", message);
        }
        // What cannot be read has its fault already.
        Ok(_) | Err(Blocked::Unreadable(_)) => {}
    }
}

/// Claim templates whose changes existing claims follow (B12, B13: by the new object's strategy, and only classes that say that
/// they can grow).
fn claims(spec: &Value, old: &Value, storage: &Storage, faults: &mut Faults) {
    let strategy =
        spec.pointer("/volumeClaimUpdateStrategy/type").and_then(Value::as_str).unwrap_or_default();
    if ["", ClaimUpdateType::OnDelete.as_str()].contains(&strategy) {
        return;
    }
    let field = "spec.volumeClaimTemplates";
    let list =
        |of: &Value| of.get("volumeClaimTemplates").and_then(Value::as_array).cloned().unwrap_or_default();
    let (before, after) = (list(old), list(spec));
    if !before.iter().map(template_name).eq(after.iter().map(template_name)) {
        let message = "claims cannot be added, removed or renamed while volumeClaimUpdateStrategy is OnPodRollingUpdate";
        faults.add(FaultKind::Forbidden, field, message);
        return;
    }
    for (i, (was, is)) in before.iter().zip(&after).enumerate() {
        let at = format!("{field}[{i}].spec");
        for key in ["storageClassName", "accessModes"] {
            let read = |of: &Value| of.pointer(&format!("/spec/{key}")).cloned().unwrap_or_default();
            if read(was) != read(is) {
                faults.add(FaultKind::Forbidden, format!("{at}.{key}"), "cannot be changed");
            }
        }
        let size = |of: &Value, side: &str| {
            let text = of.pointer(&format!("/spec/resources/{side}/storage"))?.as_str()?;
            Quantity::read(text).ok()
        };
        let sizes = |of: &Value| (size(of, "requests"), size(of, "limits"));
        if sizes(was) != sizes(is)
            && let Err(message) = can_grow(is, storage)
        {
            faults.add(FaultKind::Forbidden, format!("{at}.resources"), message);
        }
    }
}

fn can_grow(template: &Value, storage: &Storage) -> Result<(), String> {
    let named =
        template.pointer("/spec/storageClassName").and_then(Value::as_str).filter(|name| !name.is_empty());
    let Some(class) = named.or(storage.default.as_deref()) else { return Ok(()) };
    match storage.classes.get(class) {
        Some(Expansion::Allowed) => Ok(()),
        Some(Expansion::Refused) => {
            Err(format!("storage class {class:?} does not set allowVolumeExpansion: true"))
        }
        None => Err(format!("storage class {class:?} cannot be read")),
    }
}
