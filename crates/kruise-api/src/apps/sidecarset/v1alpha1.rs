//! SidecarSet v1alpha1: one namespace may be given by name, and the custom version is a label (SS-1 … SS-4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{
    InjectionStrategy, PatchPodMetadata, SidecarContainer, SidecarSetStatus, SidecarSetUpdateStrategy,
};
use crate::{
    convert::json::{Object, child, child_mut, label, set_label, take_label},
    crd::rules,
    kind::kind,
    labels::{NAMESPACE_NAME, SIDECARSET_CUSTOM_VERSION},
    names::APPS_GROUP,
    parts::{Extra, LabelSelector, LocalObjectReference, RawJson},
};

kind! {
    /// Puts containers into pods when they are created, and upgrades them later without touching the application.
    #[schemars(transform = rules::jobs::name)]
    Cluster SidecarSet(APPS_GROUP, "v1alpha1", "sidecarsets") {
        /// Which containers go into which pods.
        spec: SidecarSetSpec,
        status: SidecarSetStatus,
    }
}

/// Which containers go into which pods.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::sidecarset::spec)]
pub struct SidecarSetSpec {
    /// Sidecars.
    #[schemars(transform = rules::bounded)]
    pub containers: Option<Vec<SidecarContainer>>,
    /// Secrets that pods get to pull the sidecars.
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Init containers. With restartPolicy Always they are sidecars.
    #[schemars(transform = rules::sidecarset::init_containers)]
    pub init_containers: Option<Vec<SidecarContainer>>,
    /// Whether, and in which revision, new pods get the containers.
    pub injection_strategy: Option<InjectionStrategy>,
    /// The one namespace of the pods. All namespaces if neither this nor namespaceSelector is given.
    pub namespace: Option<String>,
    /// Namespaces of the pods. Ignored if namespace is given.
    #[schemars(transform = rules::selector)]
    pub namespace_selector: Option<LabelSelector>,
    /// Annotations that pods get.
    #[schemars(transform = rules::sidecarset::patches)]
    pub patch_pod_metadata: Option<Vec<PatchPodMetadata>>,
    /// How many old revisions are kept. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// The pods. Must be given and must not be empty.
    #[schemars(transform = rules::selector)]
    pub selector: Option<LabelSelector>,
    /// How sidecars of running pods are upgraded.
    pub update_strategy: Option<SidecarSetUpdateStrategy>,
    /// Volumes that the containers may mount.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub volumes: Option<RawJson>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

pub(crate) fn up(object: &mut Object) {
    let version = label(object, SIDECARSET_CUSTOM_VERSION).is_some();
    let version = if version { take_label(object, SIDECARSET_CUSTOM_VERSION) } else { None };
    let Some(spec) = child_mut(object, "spec") else {
        return;
    };
    let namespace = spec.shift_remove("namespace");
    if let Some(namespace) = namespace.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty()) {
        let selector = json!({ "matchLabels": { NAMESPACE_NAME: namespace } });
        spec.insert("namespaceSelector".to_owned(), selector);
    }
    if let Some(version) = version {
        spec.insert("customVersion".to_owned(), json!(version));
    }
}

pub(crate) fn down(object: &mut Object) {
    let version = child(object, "spec").and_then(|spec| spec.shift_remove("customVersion"));
    if let Some(version) = version.as_ref().and_then(Value::as_str).filter(|version| !version.is_empty()) {
        set_label(object, SIDECARSET_CUSTOM_VERSION, version);
    }
}
