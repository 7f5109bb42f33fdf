//! What the server knows about the kinds of Kubernetes itself: defaults on create, what may change later.
//!
//! Pods get the defaults that planners and kubelets read; what admission plug-ins add (tokens, tolerations, priority)
//! is left out.

use serde_json::{Map, Value, json};

use super::failure::Cause;
use super::resources::{Kind, Rules};

/// Defaults of a new object.
pub fn prepare_new(kind: &Kind, object: &mut Value) {
    match &kind.rules {
        Rules::Pod => new_pod(object),
        Rules::Claim => new_claim(object),
        Rules::Custom(custom) => {
            custom.schema.prune_object(object);
            custom.schema.default(object);
        }
        Rules::Revision | Rules::Plain => {}
    }
}

/// A changed object of ours goes through its schema again.
pub fn prepare_changed(kind: &Kind, object: &mut Value) {
    if let Rules::Custom(custom) = &kind.rules {
        custom.schema.prune_object(object);
        custom.schema.default(object);
    }
}

pub fn validate_new(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match &kind.rules {
        Rules::Pod => {
            let containers = object.pointer("/spec/containers").and_then(Value::as_array);
            if containers.is_none_or(Vec::is_empty) {
                causes.push(Cause::new("FieldValueRequired", "spec.containers", "Required value"));
            }
        }
        Rules::Claim => {
            if object.pointer("/spec/accessModes").and_then(Value::as_array).is_none_or(Vec::is_empty) {
                let message = "Required value: at least 1 access mode is required";
                causes.push(Cause::new("FieldValueRequired", "spec.accessModes", message));
            }
        }
        Rules::Custom(custom) => custom.schema.validate_object(object, &mut causes),
        Rules::Revision | Rules::Plain => {}
    }
    causes
}

pub fn validate_changed(kind: &Kind, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match &kind.rules {
        Rules::Pod if !same_but_images(old.get("spec"), new.get("spec")) => {
            let message = "Forbidden: pod updates may not change fields other than images";
            causes.push(Cause::new("FieldValueForbidden", "spec", message));
        }
        Rules::Claim if !same_but_requests(old.get("spec"), new.get("spec")) => {
            let message = "Forbidden: spec is immutable after creation except resources.requests";
            causes.push(Cause::new("FieldValueForbidden", "spec", message));
        }
        Rules::Revision if old.get("data") != new.get("data") => {
            causes.push(Cause::new("FieldValueInvalid", "data", "Invalid value: field is immutable"));
        }
        Rules::Custom(custom) => custom.schema.validate_object(new, &mut causes),
        Rules::Pod | Rules::Claim | Rules::Revision | Rules::Plain => {}
    }
    causes
}

fn same_but_images(old: Option<&Value>, new: Option<&Value>) -> bool {
    let bare = |spec: Option<&Value>| {
        let mut spec = spec.cloned().unwrap_or_default();
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                remove(container, &["image"]);
            }
        }
        remove(&mut spec, &["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"]);
        spec
    };
    bare(old) == bare(new)
}

fn same_but_requests(old: Option<&Value>, new: Option<&Value>) -> bool {
    let bare = |spec: Option<&Value>| {
        let mut spec = spec.cloned().unwrap_or_default();
        remove(&mut spec, &["resources", "volumeName", "volumeAttributesClassName"]);
        spec
    };
    bare(old) == bare(new)
}

fn remove(value: &mut Value, fields: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        for field in fields {
            map.shift_remove(*field);
        }
    }
}

fn new_pod(pod: &mut Value) {
    let Some(object) = pod.as_object_mut() else { return };
    let Some(spec) = member(object, "spec") else { return };
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            new_container(container);
        }
    }
    let defaults = json!({
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "securityContext": {}, "schedulerName": "default-scheduler", "enableServiceLinks": true,
    });
    fill(spec, &defaults);
    let quality = quality(spec);
    object.insert("status".into(), json!({"phase": "Pending", "qosClass": quality}));
}

fn new_container(container: &mut Value) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let moves = !image.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
    let policy = if moves { "Always" } else { "IfNotPresent" };
    let Some(container) = container.as_object_mut() else { return };
    let defaults = json!({
        "resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": policy,
    });
    fill(container, &defaults);
    // What is limited and not requested is requested as much.
    let limits = container.get("resources").and_then(|all| all.get("limits")).cloned();
    if let (Some(limits), Some(resources)) = (
        limits.as_ref().and_then(Value::as_object),
        container.get_mut("resources").and_then(Value::as_object_mut),
    ) {
        for (name, amount) in limits {
            let Some(requests) = member(resources, "requests") else { break };
            requests.entry(name.clone()).or_insert_with(|| amount.clone());
        }
    }
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            port.entry("protocol").or_insert_with(|| "TCP".into());
        }
    }
}

/// Only whether anything is asked for matters here; equal limits and requests of all make it guaranteed.
fn quality(spec: &Map<String, Value>) -> &'static str {
    let containers = spec.get("containers").and_then(Value::as_array).cloned().unwrap_or_default();
    let of = |container: &Value, field: &str| container.pointer(&format!("/resources/{field}")).cloned();
    let asks = containers.iter().any(|one| of(one, "requests").is_some() || of(one, "limits").is_some());
    let is_full = |one: &Value| {
        let limits = of(one, "limits");
        limits == of(one, "requests")
            && limits.is_some_and(|limits| limits.get("cpu").is_some() && limits.get("memory").is_some())
    };
    match (asks, containers.iter().all(is_full)) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn new_claim(claim: &mut Value) {
    let Some(object) = claim.as_object_mut() else { return };
    if let Some(spec) = member(object, "spec") {
        fill(spec, &json!({"volumeMode": "Filesystem"}));
    }
    object.insert("status".into(), json!({"phase": "Pending"}));
    let Some(metadata) = member(object, "metadata") else { return };
    if let Some(list) = metadata.entry("finalizers").or_insert_with(|| json!([])).as_array_mut()
        && !list.iter().any(|one| one == CLAIM_PROTECTION)
    {
        list.push(CLAIM_PROTECTION.into());
    }
}

/// Keeps a claim that a pod uses; a controller of Kubernetes takes it off.
pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// The member as an object, made if it is not there; nothing if it is something else.
pub fn member<'a>(map: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    map.entry(name).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

fn fill(map: &mut Map<String, Value>, defaults: &Value) {
    for (name, value) in defaults.as_object().into_iter().flatten() {
        map.entry(name.clone()).or_insert_with(|| value.clone());
    }
}
