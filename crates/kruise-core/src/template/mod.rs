//! Defaults that admission writes into pod templates and claim templates. Specification: SM-90, SM-91.
//!
//! A different default changes revision bytes and would roll every workload: this set is part of the take-over contract.
//! Never: enableServiceLinks, requests from limits, resizePolicy (pod-level defaults only, SM-91).

use kruise_api::kubernetes::{PULL_ALWAYS, PULL_IF_NOT_PRESENT, RESTART_ALWAYS, phase, termination_message};
use serde_json::{Map, Value, json};

use crate::cluster::quantity::Quantity;
use crate::gates::{Gate, Gates};
use crate::revision::{Unreadable, canonical};

/// The pod template with its defaults, in canonical form.
pub fn with_defaults(template: Value, gates: &Gates) -> Result<Value, Unreadable> {
    let mut template = canonical("PodTemplateSpec", template)?;
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        pod(spec, gates);
    }
    canonical("PodTemplateSpec", template)
}

/// A claim template with its defaults, in canonical form.
pub fn claim_with_defaults(claim: Value) -> Result<Value, Unreadable> {
    let mut claim = canonical("PersistentVolumeClaim", claim)?;
    if let Some(status) = claim.get_mut("status").and_then(Value::as_object_mut) {
        default(status, "phase", phase::PENDING);
    }
    if let Some(resources) = claim.pointer_mut("/spec/resources") {
        round_up(resources);
    }
    canonical("PersistentVolumeClaim", claim)
}

fn pod(spec: &mut Map<String, Value>, gates: &Gates) {
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", RESTART_ALWAYS);
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "schedulerName", "default-scheduler");
    each(spec, "volumes", volume);
    let is_host_network = spec.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    for (list, pull_policy) in [("containers", Pull::Always), ("initContainers", Pull::ByTag)] {
        each(spec, list, |one| {
            container(one, pull_policy);
            if is_host_network && gates.on(Gate::DefaultHostNetworkHostPortsInPodTemplates) {
                each(one, "ports", host_port);
            }
        });
    }
    each(spec, "ephemeralContainers", shared);
}

/// Which pull policy a container without one gets.
#[derive(Clone, Copy)]
enum Pull {
    /// Containers, whatever their tag: not the Kubernetes rule.
    Always,
    /// Init containers: Always for latest, else IfNotPresent.
    ByTag,
}

fn container(one: &mut Map<String, Value>, pull: Pull) {
    default(one, "terminationMessagePath", "/dev/termination-log");
    default(one, "terminationMessagePolicy", termination_message::FILE);
    let image = one.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = match pull {
        Pull::ByTag if !is_latest(image) => PULL_IF_NOT_PRESENT,
        Pull::ByTag | Pull::Always => PULL_ALWAYS,
    };
    default(one, "imagePullPolicy", policy);
    shared(one);
}

/// What ephemeral containers get too.
fn shared(one: &mut Map<String, Value>) {
    each(one, "ports", |port| default(port, "protocol", "TCP"));
    each(one, "env", |variable| {
        if let Some(field) = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef")) {
            field_ref(field);
        }
    });
    if let Some(resources) = one.get_mut("resources") {
        round_up(resources);
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = one.get_mut(name).and_then(Value::as_object_mut) {
            for (field, value) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                default(probe, field, value);
            }
            http_get(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        let handler =
            one.get_mut("lifecycle").and_then(|all| all.get_mut(hook)).and_then(Value::as_object_mut);
        if let Some(handler) = handler {
            http_get(handler);
        }
    }
}

pub(crate) fn http_get(handler: &mut Map<String, Value>) {
    if let Some(get) = handler.get_mut("httpGet").and_then(Value::as_object_mut) {
        default(get, "path", "/");
        default(get, "scheme", "HTTP");
    }
}

fn host_port(port: &mut Map<String, Value>) {
    if let Some(number) = port.get("containerPort").cloned() {
        default(port, "hostPort", number);
    }
}

pub(crate) fn volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        default(path, "type", "");
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
            default(source, "defaultMode", 420);
            items(source);
            each(source, "sources", projection);
        }
    }
}

fn projection(source: &mut Map<String, Value>) {
    if let Some(token) = source.get_mut("serviceAccountToken").and_then(Value::as_object_mut) {
        default(token, "expirationSeconds", 3600);
    }
    if let Some(downward) = source.get_mut("downwardAPI").and_then(Value::as_object_mut) {
        items(downward);
    }
}

fn items(source: &mut Map<String, Value>) {
    each(source, "items", |item| {
        if let Some(field) = item.get_mut("fieldRef") {
            field_ref(field);
        }
    });
}

pub(crate) fn field_ref(field: &mut Value) {
    if let Some(field) = field.as_object_mut() {
        default(field, "apiVersion", "v1");
    }
}

/// No tag and no digest, or the tag latest.
pub(crate) fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    let (name, digest) = last.split_once('@').unwrap_or((last, ""));
    match name.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_empty(),
    }
}

/// Quantities of limits and requests, to whole thousandths.
pub(crate) fn round_up(resources: &mut Value) {
    for side in ["limits", "requests"] {
        let quantities = resources.get_mut(side).and_then(Value::as_object_mut).into_iter().flatten();
        for (_, value) in quantities {
            if let Some(quantity) = value.as_str().and_then(|text| Quantity::read(text).ok()) {
                *value = Value::from(quantity.rounded_up_to_milli().to_string());
            }
        }
    }
}

/// A field that is absent or null gets a value; in canonical form a plain zero is absent too.
pub(crate) fn default(object: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.to_owned(), value.into());
    }
}

pub(crate) fn each(
    object: &mut Map<String, Value>,
    list: &str,
    mut edit: impl FnMut(&mut Map<String, Value>),
) {
    let items = object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut).for_each(&mut edit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_91_pod_level_defaults_stay_out_of_templates() {
        let template = json!({"spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}});

        let spec = with_defaults(template, &Gates::default()).unwrap()["spec"].clone();

        assert_eq!(spec.get("enableServiceLinks"), None);
        assert_eq!(spec["containers"][0].get("resizePolicy"), None);
        assert_eq!(
            spec["containers"][0]["resources"],
            json!({"limits": {"cpu": "1"}}),
            "no requests from limits"
        );
    }

    #[test]
    fn sm_90_pull_policy_is_always_for_containers_and_by_tag_for_init_containers() {
        let policy = |list: &str, image: &str| {
            let template = json!({"spec": {"containers": [], list: [{"name": "a", "image": image}]}});
            with_defaults(template, &Gates::default()).unwrap()["spec"][list][0]["imagePullPolicy"].clone()
        };

        assert_eq!(policy("containers", "a:1"), "Always");
        for (image, wanted) in [
            ("a:1", "IfNotPresent"),
            ("a", "Always"),
            ("a:latest", "Always"),
            ("registry:5000/a", "Always"),
            ("a@sha256:00", "IfNotPresent"),
        ] {
            assert_eq!(policy("initContainers", image), wanted, "{image}");
        }
    }

    #[test]
    fn sm_90_host_ports_only_under_host_network_and_with_the_gate() {
        let template = |host: bool| json!({"spec": {"hostNetwork": host, "containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}});
        let port = |host: bool, gates: &Gates| {
            let ports = &with_defaults(template(host), gates).unwrap()["spec"]["containers"][0]["ports"][0];
            ports["hostPort"].clone()
        };
        let gated = Gates::default().with(Gate::DefaultHostNetworkHostPortsInPodTemplates);

        assert_eq!(port(true, &gated), 80);
        assert_eq!(port(false, &gated), Value::Null);
        assert_eq!(port(true, &Gates::default()), Value::Null);
    }

    #[test]
    fn sm_90_ephemeral_containers_and_odd_volumes_get_theirs() {
        let template = json!({"spec": {
            "containers": [],
            "ephemeralContainers": [{"name": "e", "ports": [{"containerPort": 1}], "readinessProbe": {"httpGet": {"port": 1}}}],
            "volumes": [{"name": "v"}],
        }});

        let spec = with_defaults(template, &Gates::default()).unwrap()["spec"].clone();

        assert_eq!(spec["ephemeralContainers"][0]["ports"][0]["protocol"], "TCP");
        assert_eq!(spec["ephemeralContainers"][0]["readinessProbe"]["httpGet"]["scheme"], "HTTP");
        assert_eq!(spec["ephemeralContainers"][0].get("imagePullPolicy"), None);
        assert_eq!(spec["volumes"][0]["emptyDir"], json!({}));
    }
}
