//! NodePodProbe v1alpha1, the only version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, Probe, Time},
};

kind! {
    /// The probes that the agent of one node makes. Has the name of the node; written by markers, read by the node agent.
    Cluster NodePodProbe(APPS_GROUP, "v1alpha1", "nodepodprobes") {
        /// What is probed on the node.
        #[serde(default)]
        spec: NodePodProbeSpec,
        status: NodePodProbeStatus,
    }
}

/// What is probed on the node.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePodProbeSpec {
    /// One entry per pod.
    pub pod_probes: Option<Vec<PodProbe>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The probes of one pod.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodProbe {
    /// Address of the pod.
    #[serde(rename = "IP")]
    pub ip: String,
    /// Name of the pod.
    pub name: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// The probes.
    pub probes: Option<Vec<ContainerProbe>>,
    /// Uid of the pod.
    pub uid: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One probe of one container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerProbe {
    /// The container.
    pub container_name: String,
    /// Name of the marker and of the probe, joined by a #.
    pub name: String,
    /// The check, with port numbers.
    pub probe: Probe,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the node agent observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePodProbeStatus {
    /// One entry per pod.
    pub pod_probe_statuses: Option<Vec<PodProbeStatus>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The results of one pod.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodProbeStatus {
    /// Name of the pod.
    pub name: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// The results.
    pub probe_states: Option<Vec<ContainerProbeState>>,
    /// Uid of the pod.
    pub uid: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One result.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerProbeState {
    /// When the check was last made.
    pub last_probe_time: Option<Time>,
    /// When the result last changed.
    pub last_transition_time: Option<Time>,
    /// What the check said.
    pub message: Option<String>,
    /// Name of the marker and of the probe, joined by a #.
    pub name: String,
    /// Succeeded, Failed or Unknown.
    pub state: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
