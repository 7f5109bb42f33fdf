//! From the wire object to the slim pod. What the API server leaves out counts as absent or zero.

use std::collections::BTreeMap;
use std::sync::Arc;

use kruise_api::kubernetes::{
    RESIZE_RESTARTS_CONTAINER, RESTART_ALWAYS, RESTART_NEVER, RESTART_ON_FAILURE, phase, status,
};
use kruise_api::{annotations, env, names};
use serde::Deserialize;
use serde_json::Value;

use super::JobSidecar;
use super::ephemeral::{self, EphemeralStatus, EphemeralWire};
use super::texts::Texts;
use super::view::{
    Condition, Container, ContainerStatus, Ended, EnvRef, EnvSource, Owner, Phase, PodView, Resources,
    RestartPolicy, Status,
};
use crate::cluster::quantity::Quantity;
use crate::eligibility::Term;
use crate::ids::{PodName, ResourceVersion, Uid};
use crate::revision::{canonical, gojson, hash};
use crate::time;

#[derive(Deserialize)]
pub(super) struct Wire {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default)]
    namespace: Arc<str>,
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<Arc<str>>>,
    owner_references: Option<Vec<Reference>>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    kind: Arc<str>,
    controller: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<Arc<str>>,
    affinity: Option<Affinity>,
    restart_policy: Option<String>,
    readiness_gates: Option<Vec<ReadinessGate>>,
    containers: Option<Vec<Value>>,
    init_containers: Option<Vec<InitContainer>>,
    volumes: Option<Vec<Volume>>,
    ephemeral_containers: Option<Vec<EphemeralWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Affinity {
    node_affinity: Option<NodeAffinity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeAffinity {
    required_during_scheduling_ignored_during_execution: Option<Required>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Required {
    node_selector_terms: Option<Vec<Term>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    name: Arc<str>,
    persistent_volume_claim: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadinessGate {
    condition_type: Arc<str>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PodStatus {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    conditions: Option<Vec<WireCondition>>,
    container_statuses: Option<Vec<WireStatus>>,
    init_container_statuses: Option<Vec<WireStatus>>,
    ephemeral_container_statuses: Option<Vec<EphemeralStatus>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitContainer {
    name: Arc<str>,
    restart_policy: Option<String>,
}

#[derive(Deserialize, Default)]
struct WireState {
    running: Option<serde::de::IgnoredAny>,
    terminated: Option<WireEnd>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireEnd {
    exit_code: i32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCondition {
    r#type: Arc<str>,
    #[serde(default)]
    status: String,
    reason: Option<Arc<str>>,
    message: Option<Arc<str>>,
    last_transition_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireStatus {
    name: Arc<str>,
    image: Option<Arc<str>>,
    #[serde(rename = "imageID")]
    image_id: Option<Arc<str>>,
    #[serde(rename = "containerID")]
    container_id: Option<Arc<str>>,
    #[serde(default)]
    ready: bool,
    #[serde(default)]
    restart_count: u32,
    #[serde(default)]
    state: WireState,
    resources: Option<Value>,
}

impl From<Wire> for PodView {
    fn from(wire: Wire) -> Self {
        let Wire { metadata, spec, status } = wire;
        let annotations: Texts = metadata.annotations.into_iter().flatten().collect();
        // The older plain hash needs the whole container; it is only ever compared while an update is recorded.
        let is_updating = annotations.has(annotations::INPLACE_UPDATE_STATE)
            || annotations.has(annotations::INPLACE_UPDATE_STATE_LEGACY);
        let mut containers: Vec<Container> = spec.containers.iter().flatten().map(Container::read).collect();
        let node = spec.node_name.filter(|node| !node.is_empty());
        let sidecars = native_sidecars(spec.init_containers);
        if is_updating {
            for (container, object) in containers.iter_mut().zip(spec.containers.iter().flatten()) {
                container.full_hash = full_hash(object);
            }
        }
        Self {
            namespace: metadata.namespace,
            name: PodName::new(metadata.name),
            uid: Uid::new(metadata.uid),
            version: ResourceVersion::new(metadata.resource_version),
            created: metadata.creation_timestamp.as_deref().and_then(time::read),
            deleted: metadata.deletion_timestamp.as_deref().and_then(time::read),
            labels: metadata.labels.into_iter().flatten().collect(),
            annotations,
            finalizers: metadata.finalizers.unwrap_or_default().into(),
            owners: metadata.owner_references.into_iter().flatten().map(Owner::from).collect(),
            phase: Phase::read(status.phase.as_deref().unwrap_or_default()),
            wanted_node: node.is_none().then(|| spec.affinity.and_then(Affinity::only_node)).flatten(),
            node,
            ip: status.pod_ip.and_then(|text| text.parse().ok()),
            restart_policy: RestartPolicy::read(spec.restart_policy.as_deref().unwrap_or_default()),
            init_restarts: restarts(status.init_container_statuses.as_deref()),
            readiness_gates: spec
                .readiness_gates
                .into_iter()
                .flatten()
                .map(|one| one.condition_type)
                .collect(),
            claim_volumes: spec
                .volumes
                .into_iter()
                .flatten()
                .filter(|one| one.persistent_volume_claim.is_some())
                .map(|one| one.name)
                .collect(),
            conditions: status.conditions.into_iter().flatten().map(Condition::from).collect(),
            containers: containers.into(),
            statuses: status.container_statuses.into_iter().flatten().map(ContainerStatus::from).collect(),
            sidecar_statuses: status
                .init_container_statuses
                .into_iter()
                .flatten()
                .filter(|one| sidecars.contains(&one.name))
                .map(ContainerStatus::from)
                .collect(),
            ephemeral: ephemeral::read(
                spec.ephemeral_containers.unwrap_or_default(),
                &status.ephemeral_container_statuses.unwrap_or_default(),
            ),
        }
    }
}

/// Names of init containers that run as long as the pod.
fn native_sidecars(containers: Option<Vec<InitContainer>>) -> Vec<Arc<str>> {
    let stays = |one: &InitContainer| one.restart_policy.as_deref() == Some(RESTART_ALWAYS);
    containers.into_iter().flatten().filter(stays).map(|one| one.name).collect()
}

fn restarts(statuses: Option<&[WireStatus]>) -> u32 {
    statuses.into_iter().flatten().map(|one| one.restart_count).fold(0, u32::saturating_add)
}

impl Affinity {
    /// The node that a single required term names (BJ-7).
    fn only_node(self) -> Option<Arc<str>> {
        let required = self.node_affinity?.required_during_scheduling_ignored_during_execution?;
        match required.node_selector_terms?.as_slice() {
            [term] => term.only_node().map(Arc::from),
            _ => None,
        }
    }
}

impl RestartPolicy {
    fn read(text: &str) -> Self {
        match text {
            RESTART_ON_FAILURE => Self::OnFailure,
            RESTART_NEVER => Self::Never,
            _ => Self::Always,
        }
    }
}

impl From<Reference> for Owner {
    fn from(wire: Reference) -> Self {
        Self { uid: Uid::new(wire.uid), kind: wire.kind, is_controller: wire.controller.unwrap_or(false) }
    }
}

impl Phase {
    fn read(text: &str) -> Self {
        match text {
            phase::RUNNING => Self::Running,
            phase::SUCCEEDED => Self::Succeeded,
            phase::FAILED => Self::Failed,
            phase::PENDING | "" => Self::Pending,
            _ => Self::Unknown,
        }
    }
}

impl From<WireCondition> for Condition {
    fn from(wire: WireCondition) -> Self {
        let status = match wire.status.as_str() {
            status::TRUE => Status::True,
            status::FALSE => Status::False,
            _ => Status::Unknown,
        };
        let since = wire.last_transition_time.as_deref().and_then(time::read);
        Self::new(wire.r#type, status, since).saying(wire.reason, wire.message)
    }
}

impl From<WireStatus> for ContainerStatus {
    fn from(wire: WireStatus) -> Self {
        Self {
            name: wire.name,
            image: wire.image.unwrap_or_default(),
            image_id: wire.image_id.unwrap_or_default(),
            container_id: wire.container_id.unwrap_or_default(),
            is_ready: wire.ready,
            is_running: wire.state.running.is_some(),
            ended: wire
                .state
                .terminated
                .map(|end| if end.exit_code == 0 { Ended::Well } else { Ended::Badly }),
            restarts: wire.restart_count,
            resources: wire.resources.as_ref().map(|one| Arc::new(Resources::read(one))),
        }
    }
}

impl Container {
    /// Reads a container of a pod or of a template.
    pub fn read(object: &Value) -> Self {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let items = |key: &str| object.get(key).and_then(Value::as_array).into_iter().flatten();
        Self {
            name: text("name").into(),
            image: text("image").into(),
            env: items("env").filter_map(EnvRef::read).collect(),
            ports: items("ports").filter_map(named_port).collect(),
            priority: items("env").find_map(barrier_priority),
            resources: object.get("resources").map(Resources::read).unwrap_or_default(),
            restarts_on_resize: items("resizePolicy")
                .filter(|one| {
                    one.get("restartPolicy").and_then(Value::as_str) == Some(RESIZE_RESTARTS_CONTAINER)
                })
                .filter_map(|one| one.get("resourceName").and_then(Value::as_str).map(Arc::from))
                .collect(),
            job_sidecar: JobSidecar::read(object).map(Box::new),
            full_hash: None,
        }
    }
}

impl EnvRef {
    /// `None` unless the variable is taken from one label or annotation of the pod (SM-24).
    fn read(object: &Value) -> Option<Self> {
        let name = object.get("name").and_then(Value::as_str)?;
        let has_value = object.get("value").and_then(Value::as_str).is_some_and(|value| !value.is_empty());
        if has_value || [env::SIDECARSET_VERSION, env::SIDECARSET_VERSION_ALT].contains(&name) {
            return None;
        }
        let path = object.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str)?;
        Some(Self { name: name.into(), source: EnvSource::read(path)? })
    }
}

impl EnvSource {
    /// Reads `metadata.labels['key']` and `metadata.annotations['key']`.
    pub fn read(path: &str) -> Option<Self> {
        let key = |prefix: &str| {
            let quoted = path.strip_prefix(prefix)?.strip_suffix(']')?;
            Some(quoted.strip_prefix('\'')?.strip_suffix('\'')?.into())
        };
        key("metadata.labels[")
            .map(Self::Label)
            .or_else(|| key("metadata.annotations[").map(Self::Annotation))
    }
}

impl Resources {
    pub(crate) fn read(object: &Value) -> Self {
        let side = |key: &str| {
            let entries = object.get(key).and_then(Value::as_object).into_iter().flatten();
            let read = entries.filter_map(|(name, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Some((Arc::from(name.as_str()), Quantity::read(&text).ok()?))
            });
            read.collect()
        };
        Self { limits: side("limits"), requests: side("requests") }
    }
}

fn named_port(port: &Value) -> Option<(Arc<str>, u16)> {
    let number = port.get("containerPort").and_then(Value::as_u64)?;
    Some((port.get("name").and_then(Value::as_str)?.into(), u16::try_from(number).ok()?))
}

/// The number in the barrier's key `p_<n>`; a barrier that somebody set by hand counts as none (M9).
fn barrier_priority(variable: &Value) -> Option<i64> {
    if variable.get("name").and_then(Value::as_str) != Some(env::CONTAINER_BARRIER) {
        return None;
    }
    let key = variable.pointer("/valueFrom/configMapKeyRef/key").and_then(Value::as_str)?;
    key.strip_prefix(names::BARRIER_KEY_PREFIX)?.parse().ok()
}

fn full_hash(container: &Value) -> Option<u32> {
    let canonical = canonical("Container", container).ok()?;
    Some(hash::deep(gojson::in_order(&canonical).as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shared_machinery_m9_a_malformed_barrier_counts_as_none() {
        let with = |barrier: Value| Container::read(&json!({"name": "a", "env": [barrier]})).priority;
        let keyed = |key: &str| {
            with(json!({"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": {"configMapKeyRef": {"key": key}}}))
        };

        assert_eq!(keyed("p_10"), Some(10));
        assert_eq!(keyed("p_-2"), Some(-2));
        assert_eq!(keyed("p"), None);
        assert_eq!(keyed("p_x"), None);
        assert_eq!(with(json!({"name": "KRUISE_CONTAINER_BARRIER", "value": "x"})), None);
    }

    #[test]
    fn sm_24_only_unset_variables_from_labels_and_annotations_count() {
        let path = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let read = |name: &str, from: &str| EnvRef::read(&json!({"name": name, "valueFrom": path(from)}));

        assert_eq!(read("A", "metadata.labels['k']").unwrap().source, EnvSource::Label("k".into()));
        assert_eq!(
            read("A", "metadata.annotations['a.b/c']").unwrap().source,
            EnvSource::Annotation("a.b/c".into())
        );
        assert_eq!(read("A", "metadata.name"), None);
        assert_eq!(read("SIDECARSET_VERSION", "metadata.labels['k']"), None);
        let literal = json!({"name": "A", "value": "v", "valueFrom": path("metadata.labels['k']")});
        assert_eq!(EnvRef::read(&literal), None);
    }

    #[test]
    fn sm_65_deletion_cost_is_a_plain_decimal_int32() {
        let cost = |text: &str| {
            let pod = json!({"metadata": {"name": "a", "annotations": {"controller.kubernetes.io/pod-deletion-cost": text}}});
            serde_json::from_value::<PodView>(pod).unwrap().deletion_cost()
        };

        assert_eq!(["0", "7", "-7", "+1", "007", "3000000000", "x", ""].map(cost), [0, 7, -7, 0, 0, 0, 0, 0]);
    }
}
