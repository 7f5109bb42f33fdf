//! What a request has to be, and what is frozen in it: labels, grace period, hooks and the identity of each container. There is no
//! validating webhook (as upstream): this one refuses, too. Messages are upstream's, because programs look for them.

use std::collections::BTreeSet;

use kruise_api::kubernetes::{RESTART_ALWAYS, phase};
use kruise_api::{annotations, conditions, labels};
use serde_json::{Map, Value, json};

use crate::admission::{Answer, Denial, Known, Operation, Request, patch};
use crate::cluster::node::Node;
use crate::gates::Gate;
use crate::object::Key;

const DEADLINE_SECONDS_MIN: i64 = 3;
const FAIL: &str = "Fail";
const IGNORE: &str = "Ignore";

pub fn admit(request: Request, known: &Known<'_>) -> Answer {
    match request.operation {
        Operation::Create => create(request, known).unwrap_or_else(Answer::from),
        Operation::Update => update(&request).map_or_else(Answer::from, |()| Answer::allowed()),
        Operation::Delete | Operation::Connect => Answer::allowed(),
    }
}

fn create(request: Request, known: &Known<'_>) -> Result<Answer, Denial> {
    if !known.gates.on(Gate::KruiseDaemon) {
        return Err(Denial::new(
            403,
            "feature-gate KruiseDaemon is not enabled: no node agent would restart the containers",
        ));
    }
    let stored = request.object;
    let mut object = stored.clone();
    judge(object.get("spec").unwrap_or(&Value::Null))?;
    let pod = pod_of(&stored, known)?;
    default(&mut object);
    freeze_labels(&mut object, &pod, known)?;
    let grace = pod.pointer("/spec/terminationGracePeriodSeconds").cloned();
    let strategy = part(&mut object, "spec").and_then(|spec| child(spec, "strategy"));
    if let (Some(strategy), Some(grace)) = (strategy, grace) {
        strategy.entry("terminationGracePeriodSeconds").or_insert(grace);
    }
    let containers = object.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
    let mut names = BTreeSet::new();
    for container in containers.into_iter().flatten() {
        let name = text(container, "name").to_owned();
        if !names.insert(name.clone()) {
            return bad(format!("can not recreate {name} multi times"));
        }
        freeze(container, &name, &pod)?;
    }
    Ok(Answer::patched(patch(&stored, object)))
}

/// What can be said without the pod.
fn judge(spec: &Value) -> Result<(), Denial> {
    if text(spec, "podName").is_empty() {
        return bad("podName can not be empty");
    }
    if spec.get("containers").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return bad("containers list can not be null");
    }
    let number = |at: &str| spec.pointer(at).and_then(Value::as_i64);
    if number("/activeDeadlineSeconds").is_some_and(|seconds| seconds < DEADLINE_SECONDS_MIN) {
        return bad("activeDeadlineSeconds can not be less than 3s");
    }
    for field in ["unreadyGracePeriodSeconds", "terminationGracePeriodSeconds", "minStartedSeconds"] {
        if number(&format!("/strategy/{field}")).is_some_and(|seconds| seconds < 0) {
            return bad(format!("strategy.{field} can not be less than 0"));
        }
    }
    if spec.get("strategy").is_some_and(|strategy| !strategy.is_null() && !strategy.is_object()) {
        return bad("strategy must be an object");
    }
    let policy = spec.pointer("/strategy/failurePolicy").and_then(Value::as_str).unwrap_or_default();
    if !["", FAIL, IGNORE].contains(&policy) {
        return bad(format!("unknown failurePolicy {policy}: use {FAIL} or {IGNORE}"));
    }
    Ok(())
}

/// The pod, if its containers can be restarted.
fn pod_of(object: &Value, known: &Known<'_>) -> Result<Value, Denial> {
    let name = object.pointer("/spec/podName").and_then(Value::as_str).unwrap_or_default();
    let pod = known
        .live
        .pod
        .clone()
        .map_err(|error| Denial::bad_request(format!("failed to get Pod {name}: {error}")))?;
    let Some(pod) = pod else {
        return bad(format!("no found Pod named {name}"));
    };
    let phase = pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    let is_inactive = [phase::SUCCEEDED, phase::FAILED].contains(&phase)
        || pod.pointer("/metadata/deletionTimestamp").is_some();
    let mut said = pod.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let is_terminated = said.any(|one| text(one, "type") == conditions::SIDECAR_TERMINATED);
    if is_inactive && !is_terminated {
        return bad("not allowed to recreate containers in an inactive Pod");
    }
    if pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default().is_empty() {
        return bad("not allowed to recreate containers in a pending Pod");
    }
    Ok(pod)
}

fn default(object: &mut Value) {
    let Some(strategy) = part(object, "spec").and_then(|spec| child(spec, "strategy")) else { return };
    let policy = strategy.get("failurePolicy").and_then(Value::as_str).unwrap_or_default();
    if policy.is_empty() {
        strategy.insert("failurePolicy".to_owned(), json!(FAIL));
    }
}

/// A field that is an object; an absent one is empty from now on.
fn part<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    child(object.as_object_mut()?, field)
}

fn child<'a>(fields: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    let value = fields.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// Whatever the user has set there.
fn freeze_labels(object: &mut Value, pod: &Value, known: &Known<'_>) -> Result<(), Denial> {
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
    let found = known.lookup.get::<Node>(&Key::cluster(node));
    if found.is_none() && known.lookup.is_complete::<Node>() {
        return bad(format!("failed to get Node {node} of the Pod: it does not exist"));
    }
    let uid = pod.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    let mut frozen = vec![
        (labels::CRR_POD_UID, uid.to_owned()),
        (labels::CRR_NODE_NAME, labels::node_value(node).into_owned()),
        (labels::CRR_ACTIVE, "true".to_owned()),
    ];
    if found.is_some_and(|found| found.is_virtual()) {
        frozen.push((labels::NODE_TYPE, labels::NODE_TYPE_VIRTUAL_KUBELET.to_owned()));
    }
    let all = part(object, "metadata").and_then(|metadata| child(metadata, "labels"));
    if let Some(all) = all {
        all.extend(frozen.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))));
    }
    Ok(())
}

/// Identity, hook and ports of one container.
fn freeze(container: &mut Value, name: &str, pod: &Value) -> Result<(), Denial> {
    let is_set = |field: &str| container.get(field).is_some_and(|value| !value.is_null());
    if ["preStop", "ports", "statusContext"].into_iter().any(is_set) {
        return bad("preStop, ports, statusContext in container are ready-only fields");
    }
    let named = |list: &str| {
        let all = pod.pointer(list).and_then(Value::as_array);
        all.into_iter().flatten().find(|one| text(one, "name") == name)
    };
    let template = named("/spec/containers").or_else(|| named("/spec/initContainers"));
    let Some(template) = template else {
        return bad(format!("container {name} not found in Pod"));
    };
    // Of init containers only native sidecars can be restarted.
    let sidecar =
        named("/status/initContainerStatuses").filter(|_| text(template, "restartPolicy") == RESTART_ALWAYS);
    let Some(status) = named("/status/containerStatuses").or(sidecar) else {
        return bad(format!("not found {name} containerStatus in Pod Status"));
    };
    let id = text(status, "containerID");
    if id.is_empty() {
        return bad(format!(
            "no containerID in {name} containerStatus, maybe the container has not been initialized"
        ));
    }
    let restarts = status.get("restartCount").and_then(Value::as_i64).unwrap_or(0);
    let Some(fields) = container.as_object_mut() else { return Ok(()) };
    if let Some(hook) = template.pointer("/lifecycle/preStop").and_then(runnable) {
        if let (true, Some(ports)) = (hook.contains_key("httpGet"), template.get("ports")) {
            fields.insert("ports".to_owned(), ports.clone());
        }
        fields.insert("preStop".to_owned(), Value::Object(hook));
    }
    fields.insert("statusContext".to_owned(), json!({"containerID": id, "restartCount": restarts}));
    Ok(())
}

/// What the agent can run of a hook: the fields that the API has. A hook without any is none (4).
fn runnable(hook: &Value) -> Option<Map<String, Value>> {
    let known = |field: &&str| hook.get(field).is_some_and(|value| !value.is_null());
    let fields = ["exec", "httpGet", "tcpSocket"].into_iter().filter(known);
    let fields: Map<String, Value> =
        fields.filter_map(|field| Some((field.to_owned(), hook.get(field)?.clone()))).collect();
    (!fields.is_empty()).then_some(fields)
}

/// The spec and the labels that the agent finds it by never change.
fn update(request: &Request) -> Result<(), Denial> {
    let (new, old) = (&request.object, &request.old);
    let forbidden = |message: String| Err(Denial::new(403, message));
    if new.get("spec") != old.get("spec") {
        return forbidden("spec of ContainerRecreateRequest is immutable: create another request".to_owned());
    }
    let text_at = |object: &Value, map: &str, key: &str| {
        object.pointer(map).and_then(|all| all.get(key)?.as_str()).unwrap_or_default().to_owned()
    };
    for key in [labels::CRR_POD_UID, labels::CRR_NODE_NAME] {
        if text_at(new, "/metadata/labels", key) != text_at(old, "/metadata/labels", key) {
            return forbidden(format!("not allowed to update immutable label {key}"));
        }
    }
    let acquired =
        |object: &Value| text_at(object, "/metadata/annotations", annotations::CRR_UNREADY_ACQUIRED);
    if request.resource.version == "v1alpha1" && !acquired(old).is_empty() && acquired(old) != acquired(new) {
        let key = annotations::CRR_UNREADY_ACQUIRED;
        return forbidden(format!("not allowed to update immutable annotation {key}"));
    }
    Ok(())
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn bad<T>(message: impl Into<String>) -> Result<T, Denial> {
    Err(Denial::bad_request(message))
}
