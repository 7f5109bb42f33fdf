//! Probes and handlers, in the form of core/v1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Extra, IntOrString};
use crate::crd::rules;

/// A check inside or against a container, and how often it is made.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Runs a command in the container; exit code 0 is success.
    pub exec: Option<ExecAction>,
    /// Failures in a row after which the probe counts as failed.
    #[schemars(range(min = 0))]
    pub failure_threshold: Option<i32>,
    /// Calls a gRPC health service. Not supported here.
    pub grpc: Option<GrpcAction>,
    /// Makes an HTTP request; a code from 200 to 399 is success.
    pub http_get: Option<HttpGetAction>,
    /// Seconds after the start of the container before the first check.
    #[schemars(range(min = 0))]
    pub initial_delay_seconds: Option<i32>,
    /// Seconds between two checks.
    #[schemars(range(min = 0))]
    pub period_seconds: Option<i32>,
    /// Successes in a row after which the probe counts as succeeded.
    #[schemars(range(min = 0))]
    pub success_threshold: Option<i32>,
    /// Opens a TCP connection; an open port is success.
    pub tcp_socket: Option<TcpSocketAction>,
    /// Seconds the pod gets to end when the probe fails. Only the kubelet's own probes use it.
    pub termination_grace_period_seconds: Option<i64>,
    /// Seconds one check may take.
    #[schemars(range(min = 0))]
    pub timeout_seconds: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A command in the container.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecAction {
    /// The command and its arguments. No shell is started.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub command: Option<Vec<String>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A gRPC health check.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrpcAction {
    /// Port number.
    pub port: i32,
    /// Name of the service to ask for.
    #[schemars(extend("x-default" = ""))]
    pub service: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// An HTTP request.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpGetAction {
    /// Host name; the pod's address if not given.
    pub host: Option<String>,
    /// Headers of the request.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub http_headers: Option<Vec<HttpHeader>>,
    /// Path on the server.
    pub path: Option<String>,
    /// Number from 1 to 65535, or name of a port of the container.
    #[schemars(transform = rules::port)]
    pub port: IntOrString,
    /// HTTP or HTTPS.
    pub scheme: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One header of an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpHeader {
    /// Name of the header.
    pub name: String,
    /// Value of the header.
    pub value: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A TCP connection.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TcpSocketAction {
    /// Host name; the pod's address if not given.
    pub host: Option<String>,
    /// Number from 1 to 65535, or name of a port of the container.
    #[schemars(transform = rules::port)]
    pub port: IntOrString,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
