//! ContainerRecreateRequest v1alpha1: snapshot and unready time are annotations, the live protocol with the node
//! agents of released upstream versions.

use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{ContainerSnapshot, RecreateContainer, RecreateFailurePolicy};
use crate::{
    annotations::{CRR_SYNC_CONTAINER_STATUSES, CRR_UNREADY_ACQUIRED},
    conditions::PRE_RECREATE_GRACE,
    convert::json::{Object, annotation, child, child_mut, set_annotation, text},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, Time},
    read::read_part,
    reasons,
    wire_enum::wire_enum,
};

kind! {
    /// Asks the node agent to restart containers of a running pod.
    Namespaced ContainerRecreateRequest(APPS_GROUP, "v1alpha1", "containerrecreaterequests") {
        /// What is restarted. Cannot be changed.
        #[schemars(transform = rules::immutable)]
        spec: ContainerRecreateRequestSpec,
        status: ContainerRecreateRequestStatus,
    }
}

/// What is restarted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRecreateRequestSpec {
    /// Seconds after its creation at which the request ends, done or not; at least 3.
    #[schemars(range(min = 3))]
    pub active_deadline_seconds: Option<i64>,
    /// The containers, in the order in which they are restarted.
    #[schemars(transform = rules::recreate::containers)]
    pub containers: Vec<RecreateContainer>,
    /// The pod, in the namespace of the request.
    #[schemars(length(min = 1))]
    pub pod_name: String,
    /// How containers are restarted.
    pub strategy: Option<RecreateStrategy>,
    /// Seconds after its end at which the request is deleted. It stays if not given.
    pub ttl_seconds_after_finished: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How containers are restarted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecreateStrategy {
    /// Fail stops at the first container that could not be restarted; Ignore goes on. Fail if not given.
    pub failure_policy: Option<RecreateFailurePolicy>,
    /// Restarts a container even if it restarted by itself since the request.
    pub force_recreate: Option<bool>,
    /// Seconds a new container must run before its restart counts as done.
    pub min_started_seconds: Option<i32>,
    /// Restarts a container only after the one before is done.
    pub ordered_recreate: Option<bool>,
    /// Seconds a container gets to stop. The pod's value if not given.
    #[schemars(range(min = 0))]
    pub termination_grace_period_seconds: Option<i64>,
    /// Makes the pod not ready and waits this many seconds before containers are stopped.
    #[schemars(range(min = 0))]
    pub unready_grace_period_seconds: Option<i64>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How far the request is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerRecreateRequestStatus {
    /// When it ended.
    pub completion_time: Option<Time>,
    /// How far each container is.
    pub container_recreate_states: Option<Vec<RecreateState>>,
    /// Why it ended, if not well.
    pub message: Option<String>,
    /// Where the request stands. Completed says nothing about success.
    pub phase: RecreatePhase,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How far one container is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RecreateState {
    /// Whether the old container was stopped.
    pub is_killed: Option<bool>,
    /// Explanation for people.
    pub message: Option<String>,
    /// Name of the container.
    pub name: String,
    /// Where the container stands.
    pub phase: RecreatePhase,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Where a request or a container stands.
    open enum RecreatePhase {
        /// Nothing done yet.
        Pending = "Pending",
        /// Being restarted.
        Recreating = "Recreating",
        /// The container was restarted.
        Succeeded = "Succeeded",
        /// The container could not be restarted.
        Failed = "Failed",
        /// The request is over.
        Completed = "Completed",
    }
}

impl Default for RecreatePhase {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// Annotations that can be read become status fields; they stay, because old agents read them.
pub(crate) fn up(object: &mut Object) {
    let snapshot = annotation(object, CRR_SYNC_CONTAINER_STATUSES).and_then(snapshot_of);
    let unready =
        annotation(object, CRR_UNREADY_ACQUIRED).filter(|time| time.parse::<Timestamp>().is_ok()).map(grace);
    if snapshot.is_none() && unready.is_none() {
        return;
    }
    let Some(status) = child_mut(object, "status") else {
        return;
    };
    if let Some(snapshot) = snapshot {
        status.insert("containerStatusSnapshot".to_owned(), snapshot);
    }
    if let Some(unready) = unready {
        status.insert("conditions".to_owned(), json!([unready]));
    }
}

/// Status fields become annotations; conditions other than the one that has an annotation are kept aside.
pub(crate) fn down(object: &mut Object) {
    let Some(status) = child(object, "status") else {
        return;
    };
    let snapshot = status.shift_remove("containerStatusSnapshot");
    let conditions = status.shift_remove("conditions");
    if let Some(snapshot) = snapshot {
        set_annotation(object, CRR_SYNC_CONTAINER_STATUSES, &snapshot.to_string());
    }
    let holds = |condition: &&Value| condition["type"] == PRE_RECREATE_GRACE && condition["status"] == "True";
    let acquired = conditions.as_ref().and_then(Value::as_array).and_then(|all| all.iter().find(holds));
    if let Some(time) = acquired.and_then(|condition| condition.get("lastTransitionTime")) {
        set_annotation(object, CRR_UNREADY_ACQUIRED, &text(time));
    }
}

fn snapshot_of(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    read_part::<Vec<ContainerSnapshot>>(value.clone()).is_ok().then_some(value)
}

fn grace(time: &str) -> Value {
    json!({
        "type": PRE_RECREATE_GRACE,
        "status": "True",
        "lastTransitionTime": time,
        "reason": reasons::condition::PRE_RECREATE_GRACE,
        "message": reasons::PRE_RECREATE_GRACE_MESSAGE,
    })
}
