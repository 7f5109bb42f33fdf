//! What tests read of pods and statuses.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;
use serde_json::Value;

pub fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind).map(|condition| condition.status.as_str())
}

pub fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready") == Some("True")
}

/// CS-6: neither over nor being deleted.
pub fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// CS-21 with minReadySeconds 0.
pub fn is_available(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    is_active(pod)
        && phase == Some("Running")
        && is_ready(pod)
        && condition(pod, "InPlaceUpdateReady").is_none_or(|status| status == "True")
        && matches!(state(pod), "" | "Normal")
}

/// The lifecycle state.
pub fn state(pod: &Pod) -> &str {
    label(pod, "lifecycle.apps.kruise.io/state")
}

/// The short hash of the revision.
pub fn hash(pod: &Pod) -> &str {
    label(pod, "controller-revision-hash").rsplit('-').next().unwrap_or_default()
}

pub fn label<'a>(pod: &'a Pod, key: &str) -> &'a str {
    pod.labels().get(key).map_or("", String::as_str)
}

/// The image that the pod asks for.
pub fn image_of<'a>(pod: &'a Pod, container: &str) -> &'a str {
    let containers = &pod.spec.as_ref().unwrap().containers;
    containers.iter().find(|one| one.name == container).unwrap().image.as_deref().unwrap_or_default()
}

pub fn status_of<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|one| one.name == container)
}

pub fn restarts(pod: &Pod, container: &str) -> i32 {
    status_of(pod, container).map_or(0, |status| status.restart_count)
}

/// The container runs this image and is ready.
pub fn runs(pod: &Pod, container: &str, image: &str) -> bool {
    image_of(pod, container) == image
        && status_of(pod, container).is_some_and(|status| status.image == image && status.ready)
}

pub fn uids(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().map(|pod| pod.uid().unwrap()).collect()
}

pub fn names(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().map(ResourceExt::name_any).collect()
}

/// How many pods are at this revision, by name or hash.
pub fn at_revision(pods: &[Pod], revision: &str) -> usize {
    let wanted = revision.rsplit('-').next().unwrap();
    pods.iter().filter(|pod| hash(pod) == wanted).count()
}

/// A field of a status as text.
pub fn text<'a>(status: &'a Value, field: &str) -> &'a str {
    status[field].as_str().unwrap_or_default()
}

/// The reason of a condition of a workload; empty if there is none.
pub fn reason<'a>(status: &'a Value, kind: &str) -> &'a str {
    let all = status["conditions"].as_array();
    let found = all.into_iter().flatten().find(|condition| condition["type"] == kind);
    found.map_or("", |condition| condition["reason"].as_str().unwrap_or_default())
}

pub fn has_condition(status: &Value, kind: &str) -> bool {
    status["conditions"].as_array().into_iter().flatten().any(|condition| condition["type"] == kind)
}
