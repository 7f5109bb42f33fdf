//! What absent fields become (6.1). A different default changes hashes, and with them what counts as upgraded.

use kruise_api::apps::sidecarset::{
    PatchPolicy, PodInjectPolicy, RevisionPolicy, SidecarSetUpdateType, UpgradeType,
};
use kruise_api::kubernetes::{PULL_ALWAYS, PULL_IF_NOT_PRESENT, termination_message};
use serde_json::{Map, Value, json};

use crate::admission::workload::{object_in, set};
use crate::template;

const HISTORY_LIMIT: i32 = 10;

/// On v1beta1.
pub fn apply(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    if let Some(update) = object_in(spec, "updateStrategy") {
        set(update, "type", json!(SidecarSetUpdateType::RollingUpdate));
        set(update, "partition", json!(0));
        set(update, "maxUnavailable", json!(1));
    }
    if let Some(injection) = object_in(spec, "injectionStrategy")
        && let Some(revision) = injection.get_mut("revision").and_then(Value::as_object_mut)
    {
        set(revision, "policy", json!(RevisionPolicy::Always));
    }
    set(spec, "revisionHistoryLimit", json!(HISTORY_LIMIT));
    template::each(spec, "containers", |one| container(one, &PodInjectPolicy::BeforeAppContainer));
    template::each(spec, "initContainers", |one| container(one, &PodInjectPolicy::AfterAppContainer));
    template::each(spec, "volumes", template::volume);
    template::each(spec, "patchPodMetadata", |patch| set(patch, "patchPolicy", json!(PatchPolicy::Retain)));
}

fn container(one: &mut Map<String, Value>, place: &PodInjectPolicy) {
    set(one, "podInjectPolicy", json!(place));
    if let Some(upgrade) = object_in(one, "upgradeStrategy") {
        set(upgrade, "upgradeType", json!(UpgradeType::ColdUpgrade));
    }
    if let Some(share) = object_in(one, "shareVolumePolicy") {
        set(share, "type", json!("disabled"));
    }
    template::each(one, "transferEnv", |transfer| {
        if let Some(field) =
            transfer.get_mut("sourceContainerNameFrom").and_then(|from| from.get_mut("fieldRef"))
        {
            template::field_ref(field);
        }
    });
    core(one);
}

/// As Kubernetes, but not for the startup probe: the original forgets it, and hashes must agree.
fn core(one: &mut Map<String, Value>) {
    let image = one.get("image").and_then(Value::as_str).unwrap_or_default();
    let pull = if template::is_latest(image) { PULL_ALWAYS } else { PULL_IF_NOT_PRESENT };
    set(one, "imagePullPolicy", json!(pull));
    set(one, "terminationMessagePath", json!("/dev/termination-log"));
    set(one, "terminationMessagePolicy", json!(termination_message::FILE));
    template::default(one, "resources", json!({}));
    if let Some(resources) = one.get_mut("resources") {
        template::round_up(resources);
    }
    template::each(one, "ports", |port| set(port, "protocol", json!("TCP")));
    template::each(one, "env", |variable| {
        if let Some(field) = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef")) {
            template::field_ref(field);
        }
    });
    for name in ["livenessProbe", "readinessProbe"] {
        if let Some(probe) = one.get_mut(name).and_then(Value::as_object_mut) {
            for (field, value) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                number(probe, field, value);
            }
            template::http_get(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        let handler =
            one.get_mut("lifecycle").and_then(|all| all.get_mut(hook)).and_then(Value::as_object_mut);
        if let Some(handler) = handler {
            template::http_get(handler);
        }
    }
}

/// A zero counts as absent.
fn number(probe: &mut Map<String, Value>, field: &str, value: i32) {
    if probe.get(field).is_none_or(|there| there.is_null() || there.as_i64() == Some(0)) {
        probe.insert(field.to_owned(), json!(value));
    }
}
