//! Containers and volumes (6.2 no. 7 and 9). What Kubernetes itself refuses is asked of the API server by a dry run ([`to_try`]).

use std::collections::BTreeSet;

use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::{Value, json};

use super::Case;
use crate::admission::{Fault, FaultKind, Faults};
use crate::pod::EnvSource;
use crate::revision::canonical;
use crate::sidecarset::sidecar::{OWN_FIELDS, Sidecars};

const LISTS: [&str; 2] = ["containers", "initContainers"];
const NAME_MAX: usize = 63;

pub fn validate(case: &Case<'_>, faults: &mut Faults) {
    let items = |list: &str| {
        case.at(&format!("/{list}")).as_array().into_iter().flatten().enumerate().collect::<Vec<_>>()
    };
    if LISTS.iter().all(|list| items(list).is_empty()) {
        faults.add(FaultKind::Required, "spec", "give at least one of containers and initContainers");
        return;
    }
    let before = faults.iter().count();
    let mut names = BTreeSet::new();
    for list in LISTS {
        for (i, one) in items(list) {
            let field = format!("spec.{list}[{i}]");
            container(one, &field, faults);
            let name = text(one, "name");
            if !name.is_empty() && !names.insert(name) {
                let message = format!("{name:?}: another container of the SidecarSet has this name");
                faults.add(FaultKind::Duplicate, format!("{field}.name"), message);
            }
            mounts(case, one, &field, faults);
            of_kruise(case, list, one, &field, faults);
        }
    }
    if case.old.is_some() {
        changes(case, faults);
    }
    if faults.iter().count() > before {
        return;
    }
    match Sidecars::read(case.spec) {
        Err(fault) => faults.invalid(fault.field, fault.problem),
        Ok(sidecars) => policies(&sidecars, faults),
    }
    asked(&case.known.live.template, faults);
}

/// A pod template of its containers for the API server to judge; absent if an update leaves them as they are.
pub fn to_try(spec: &Value, old: Option<&Value>) -> Option<Value> {
    let parts = ["containers", "initContainers", "volumes"];
    if old.is_some_and(|old| parts.iter().all(|part| old.get(part) == spec.get(part))) {
        return None;
    }
    let bare = |list: &str| {
        let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
        let bare = |one: &Value| {
            let mut one = one.clone();
            if let Some(fields) = one.as_object_mut() {
                fields.retain(|field, _| !OWN_FIELDS.contains(&field.as_str()));
            }
            one
        };
        items.map(bare).collect::<Vec<Value>>()
    };
    let mut containers = bare("containers");
    if containers.is_empty() {
        // A pod needs one; the names of sidecars are their own.
        containers.push(json!({"name": "kruise-check-only", "image": "check"}));
    }
    let labels = json!({"labels": {"app": "check"}});
    let volumes = spec.get("volumes").cloned().unwrap_or_else(|| json!([]));
    let pod = json!({"containers": containers, "initContainers": bare("initContainers"), "volumes": volumes});
    Some(json!({"metadata": labels, "spec": pod}))
}

/// What the API server says, at the fields of the SidecarSet.
fn asked(said: &[Fault], faults: &mut Faults) {
    for fault in said {
        let field = fault.field.replacen("spec.template.spec.", "spec.", 1);
        faults.add(fault.kind, field, fault.message.clone());
    }
}

/// What cannot be put into a pod, without asking.
fn container(one: &Value, field: &str, faults: &mut Faults) {
    let name = text(one, "name");
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = name.len() <= NAME_MAX
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(is_plain)
        && name.bytes().last().is_some_and(is_plain);
    if name.is_empty() {
        faults.add(FaultKind::Required, format!("{field}.name"), "give the container a name");
    } else if !is_label {
        let message = format!(
            "{name:?}: use at most {NAME_MAX} lower-case letters, digits and dashes, with a letter or digit at both ends"
        );
        faults.invalid(format!("{field}.name"), message);
    }
    if text(one, "image").is_empty() {
        faults.add(FaultKind::Required, format!("{field}.image"), "say which image");
    }
    if let Err(error) = canonical("SidecarContainer", one) {
        faults.invalid(format!("{field}.{}", error.path), error.problem);
    }
}

/// Only volumes of the SidecarSet can be mounted by name.
fn mounts(case: &Case<'_>, one: &Value, field: &str, faults: &mut Faults) {
    let volumes = case.at("/volumes").as_array().into_iter().flatten();
    let volumes: BTreeSet<&str> = volumes.map(|volume| text(volume, "name")).collect();
    for (list, what) in [("volumeMounts", "mounted"), ("volumeDevices", "used")] {
        for (i, mount) in one.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let name = text(mount, "name");
            if !volumes.contains(name) {
                let message = format!(
                    "{name:?}: only volumes in spec.volumes can be {what}; shareVolumePolicy shares those of the pod"
                );
                faults.invalid(format!("{field}.{list}[{i}].name"), message);
            }
        }
    }
}

fn of_kruise(case: &Case<'_>, list: &str, one: &Value, field: &str, faults: &mut Faults) {
    let word = |path: &str, words: &[&str], into: &mut Faults| {
        let text = one.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if !text.is_empty() && !words.contains(&text) {
            let at = format!("{field}{}", path.replace('/', "."));
            into.add(FaultKind::NotSupported, at, format!("{text:?}: use {}", words.join(" or ")));
        }
    };
    let is_new = case.old.is_none() || !is_in(case.old_at(&format!("/{list}")), one);
    if list == "containers" {
        word("/podInjectPolicy", kruise_api::apps::sidecarset::PodInjectPolicy::WORDS, faults);
        word("/shareVolumePolicy/type", &["enabled", "disabled"], faults);
    }
    if is_new {
        // B7: what is stored stays.
        word("/upgradeStrategy/upgradeType", kruise_api::apps::sidecarset::UpgradeType::WORDS, faults);
        word("/shareVolumeDevicePolicy/type", &["enabled", "disabled"], faults);
        let at = |path: &str| one.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let is_hot = at("/upgradeStrategy/upgradeType")
            == kruise_api::apps::sidecarset::UpgradeType::HotUpgrade.as_str();
        if is_hot && at("/upgradeStrategy/hotUpgradeEmptyImage").is_empty() {
            let message = "HotUpgrade needs the image of the idle twin";
            faults.add(FaultKind::Required, format!("{field}.upgradeStrategy.hotUpgradeEmptyImage"), message);
        }
    }
    for (i, transfer) in one.get("transferEnv").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let Some(from) = transfer.get("sourceContainerNameFrom").filter(|from| !from.is_null()) else {
            continue;
        };
        let path = from.pointer("/fieldRef/fieldPath").and_then(Value::as_str).unwrap_or_default();
        if EnvSource::read(path).is_none() {
            let at = format!("{field}.transferEnv[{i}].sourceContainerNameFrom.fieldRef");
            let message = format!("{path:?}: use metadata.labels['KEY'] or metadata.annotations['KEY']"); // B8
            faults.invalid(at, message);
        }
    }
    resources(list, one, field, faults);
}

fn resources(list: &str, one: &Value, field: &str, faults: &mut Faults) {
    let Some(policy) = one.get("resourcesPolicy").filter(|policy| !policy.is_null()) else { return };
    let at = format!("{field}.resourcesPolicy");
    if list == "initContainers" && text(one, "restartPolicy") != RESTART_ALWAYS {
        faults.invalid(&at, "is only for init containers with restartPolicy Always");
    }
    let is_given =
        |path: &str| one.pointer(path).and_then(Value::as_object).is_some_and(|side| !side.is_empty());
    if is_given("/resources/limits") || is_given("/resources/requests") {
        faults.invalid(&at, "excludes resources.limits and resources.requests: give one of them");
    }
    if policy.get("targetContainersNameRegex").and_then(Value::as_str) == Some("") {
        faults.invalid(
            format!("{at}.targetContainersNameRegex"),
            "must not be empty: use .* for all containers",
        );
    }
    let side = |name: &str| policy.pointer(&format!("/resourcesExpr/{name}")).is_some_and(Value::is_object);
    if !side("limits") && !side("requests") {
        faults.add(FaultKind::Required, format!("{at}.resourcesExpr"), "give limits or requests");
    }
}

/// B9: with values of the right type.
fn policies(sidecars: &Sidecars, faults: &mut Faults) {
    for (list, field) in [(&sidecars.containers, "containers"), (&sidecars.init, "initContainers")] {
        for (i, one) in list.iter().enumerate() {
            if let Some(Err(error)) = one.resources.as_ref().map(super::super::resources::Policy::check) {
                faults.invalid(format!("spec.{field}[{i}].resourcesPolicy.resourcesExpr"), error.to_string());
            }
        }
    }
}

/// 6.2 no. 9.
fn changes(case: &Case<'_>, faults: &mut Faults) {
    let old = case.old_at("/containers").as_array().map_or(&[][..], Vec::as_slice);
    let kind = |one: &Value| {
        let kind = one.pointer("/upgradeStrategy/upgradeType").and_then(Value::as_str).unwrap_or_default();
        if kind.is_empty() {
            kruise_api::apps::sidecarset::UpgradeType::ColdUpgrade.to_string()
        } else {
            kind.to_owned()
        }
    };
    for (i, one) in case.at("/containers").as_array().into_iter().flatten().enumerate() {
        let field = format!("spec.containers[{i}]");
        match old.iter().find(|before| text(before, "name") == text(one, "name")) {
            None => {
                let message = format!(
                    "container {:?} cannot be added or renamed: pods that run could not get it. Create another SidecarSet",
                    text(one, "name")
                );
                faults.add(FaultKind::Forbidden, format!("{field}.name"), message);
            }
            Some(before) if kind(before) != kind(one) => {
                let message = "cannot be changed: create another SidecarSet";
                faults.add(FaultKind::Forbidden, format!("{field}.upgradeStrategy.upgradeType"), message);
            }
            Some(_) => {}
        }
    }
}

fn is_in(list: &Value, one: &Value) -> bool {
    let same = |there: &Value| {
        text(there, "name") == text(one, "name")
            && ["upgradeStrategy", "shareVolumeDevicePolicy"]
                .iter()
                .all(|field| there.get(field) == one.get(field))
    };
    list.as_array().into_iter().flatten().any(same)
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}
