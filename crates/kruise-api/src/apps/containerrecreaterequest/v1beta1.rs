//! ContainerRecreateRequest v1beta1, the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{ExecAction, Extra, HttpGetAction, StrictCondition, TcpSocketAction, Time},
    wire_enum::wire_enum,
};

kind! {
    /// Asks the node agent to restart containers of a running pod.
    Namespaced ContainerRecreateRequest(APPS_GROUP, "v1beta1", "containerrecreaterequests") {
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
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One container to restart. Everything but the name is filled in by admission.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecreateContainer {
    /// Name of the container.
    pub name: String,
    /// Copy of the container's ports, for a pre-stop hook that names one.
    pub ports: Option<Vec<ContainerPort>>,
    /// Copy of the container's pre-stop hook.
    pub pre_stop: Option<PreStopHandler>,
    /// The container at the time of the request.
    pub status_context: Option<StatusContext>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One port of a container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// Number of the port.
    pub container_port: i32,
    /// Address of the node to bind to.
    #[serde(rename = "hostIP")]
    pub host_ip: Option<String>,
    /// Port of the node.
    pub host_port: Option<i32>,
    /// Name of the port.
    pub name: Option<String>,
    /// TCP, UDP or SCTP.
    #[schemars(extend("x-default" = "TCP"))]
    pub protocol: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What is done before the container is stopped.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreStopHandler {
    /// Runs a command in the container.
    pub exec: Option<ExecAction>,
    /// Makes an HTTP request.
    pub http_get: Option<HttpGetAction>,
    /// Opens a TCP connection.
    pub tcp_socket: Option<TcpSocketAction>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A container at the time of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusContext {
    /// Its id.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// How often it had been restarted.
    pub restart_count: i32,
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
    #[schemars(range(min = 0))]
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

wire_enum! {
    /// What happens when a container cannot be restarted.
    closed enum RecreateFailurePolicy {
        /// Stop there.
        Fail = "Fail",
        /// Go on with the next.
        Ignore = "Ignore",
    }
}

/// How far the request is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerRecreateRequestStatus {
    /// When it ended.
    pub completion_time: Option<Time>,
    /// Steps that were reached.
    #[schemars(transform = rules::keyed_by_type)]
    pub conditions: Option<Vec<StrictCondition>>,
    /// How far each container is.
    pub container_recreate_states: Option<Vec<RecreateState>>,
    /// The pod's view of the new containers, written by the manager for the node agent.
    pub container_status_snapshot: Option<Vec<ContainerSnapshot>>,
    /// Why it ended, if not well.
    pub message: Option<String>,
    /// Where the request stands. Completed says nothing about success.
    pub phase: RecreatePhase,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Where a request or a container stands.
    closed enum RecreatePhase {
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

/// The pod's view of one new container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerSnapshot {
    /// Its id.
    #[serde(rename = "containerID")]
    pub container_id: Option<String>,
    /// Name of the container.
    pub name: String,
    /// Whether it is ready.
    pub ready: bool,
    /// How often it was restarted.
    pub restart_count: i32,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
