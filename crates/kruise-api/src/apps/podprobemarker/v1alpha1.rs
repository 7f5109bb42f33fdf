//! PodProbeMarker v1alpha1, the only version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, LabelSelector, Probe, StringMap},
    wire_enum::wire_enum,
};

kind! {
    /// Probes containers of pods and marks the pods with the results: as a condition, labels or annotations.
    Namespaced PodProbeMarker(APPS_GROUP, "v1alpha1", "podprobemarkers") {
        /// What is probed, and how results are shown.
        spec: PodProbeMarkerSpec,
        status: PodProbeMarkerStatus,
    }
}

/// What is probed, and how results are shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodProbeMarkerSpec {
    /// The probes, each with a name of its own.
    #[schemars(transform = rules::podprobemarker::probes)]
    pub probes: Vec<PodContainerProbe>,
    /// The pods, in the namespace of the marker. Must not be empty and cannot be changed.
    #[schemars(transform = rules::workload_selector)]
    pub selector: LabelSelector,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One probe.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::podprobemarker::probe)]
pub struct PodContainerProbe {
    /// The container that is probed.
    #[schemars(length(min = 1))]
    pub container_name: String,
    /// Labels and annotations that the pod gets for a result.
    #[schemars(transform = rules::podprobemarker::policies)]
    pub marker_policy: Option<Vec<ProbeMarkerPolicy>>,
    /// Name of the probe. Neither a native condition nor with a #.
    #[schemars(transform = rules::podprobemarker::name)]
    pub name: String,
    /// Condition of the pod that shows the result. Needed unless markerPolicy is given.
    #[schemars(transform = rules::podprobemarker::condition_type)]
    pub pod_condition_type: Option<String>,
    /// The check: exactly one of exec, httpGet and tcpSocket.
    #[schemars(transform = rules::podprobemarker::handler)]
    pub probe: Probe,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the pod gets for one result.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::podprobemarker::policy)]
pub struct ProbeMarkerPolicy {
    /// Annotations for this result.
    pub annotations: Option<StringMap>,
    /// Labels for this result.
    pub labels: Option<StringMap>,
    /// The result.
    pub state: ProbeState,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// Result of a probe that marks a pod.
    closed enum ProbeState {
        /// The check succeeded.
        Succeeded = "Succeeded",
        /// The check failed.
        Failed = "Failed",
    }
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodProbeMarkerStatus {
    /// Pods that match.
    pub matched_pods: Option<i64>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: i64,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
