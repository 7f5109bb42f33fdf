//! The record of an update in progress, as it stands in the pod's annotations. Same bytes as the original's, so that either
//! can finish what the other began.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kruise_api::annotations;
use serde::{Deserialize, Serialize};

use super::change::{Change, RefMetadata, ResourceDelta};
use crate::merge::MetadataPatch;
use crate::pod::{Edit, PodView};

/// Annotation `apps.kruise.io/inplace-update-state`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the wire has three flags")]
pub struct InPlaceState {
    pub revision: String,
    pub update_timestamp: String,
    /// Image ids before the change; `null` if none.
    pub last_container_statuses: Option<BTreeMap<String, LastStatus>>,
    #[serde(skip_serializing_if = "is_false")]
    pub update_env_from_metadata: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub update_resources: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub update_images: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub next_container_images: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub next_container_ref_metadata: BTreeMap<String, RefMetadata>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub next_container_resources: BTreeMap<String, ResourceDelta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_check_before_next: Option<PreCheck>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_batches_record: Vec<Batch>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastStatus {
    #[serde(rename = "imageID", default, skip_serializing_if = "String::is_empty")]
    pub image_id: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreCheck {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers_required_ready: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Batch {
    pub timestamp: String,
    pub containers: Vec<String>,
}

/// Annotation `apps.kruise.io/inplace-update-grace`: the whole change, waiting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Grace {
    pub revision: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    container_images: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    container_ref_metadata: BTreeMap<String, RefMetadata>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    container_resources: BTreeMap<String, ResourceDelta>,
    /// Base64 of a strategic merge patch.
    #[serde(skip_serializing_if = "String::is_empty")]
    meta_data_patch: String,
    #[serde(skip_serializing_if = "is_false")]
    update_env_from_metadata: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub grace_seconds: i64,
}

/// What stands in an annotation.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded<T> {
    Absent,
    /// There, but not readable: surfaced and recovered from (M13).
    Malformed,
    Present(T),
}

impl InPlaceState {
    pub fn of(pod: &PodView) -> Recorded<Self> {
        recorded(pod, annotations::INPLACE_UPDATE_STATE, annotations::INPLACE_UPDATE_STATE_LEGACY)
    }

    pub fn has_next(&self) -> bool {
        !self.next().is_empty()
    }

    /// What is still to do (M1: resources count too).
    pub fn next(&self) -> Change {
        Change {
            images: self.next_container_images.clone(),
            resources: self.next_container_resources.clone(),
            ref_metadata: self.next_container_ref_metadata.clone(),
            metadata: MetadataPatch::default(),
        }
    }

    pub fn set_next(&mut self, rest: Change, changed: Vec<String>) {
        self.pre_check_before_next =
            (!rest.is_empty()).then_some(PreCheck { containers_required_ready: changed });
        self.next_container_images = rest.images;
        self.next_container_resources = rest.resources;
        self.next_container_ref_metadata = rest.ref_metadata;
    }

    pub fn write(&self, edit: &mut Edit<'_>) {
        edit.annotation(annotations::INPLACE_UPDATE_STATE, &text(self));
        edit.drop_annotation(annotations::INPLACE_UPDATE_STATE_LEGACY);
    }
}

impl Grace {
    pub fn of(pod: &PodView) -> Recorded<Self> {
        recorded(pod, annotations::INPLACE_UPDATE_GRACE, annotations::INPLACE_UPDATE_GRACE_LEGACY)
    }

    pub fn new(revision: &str, change: &Change, seconds: i64) -> Self {
        let patch = change.metadata.strategic();
        Self {
            revision: revision.to_owned(),
            container_images: change.images.clone(),
            container_ref_metadata: change.ref_metadata.clone(),
            container_resources: change.resources.clone(),
            meta_data_patch: if change.metadata.is_empty() {
                String::new()
            } else {
                STANDARD.encode(patch.to_string())
            },
            update_env_from_metadata: !change.ref_metadata.is_empty(),
            grace_seconds: seconds,
        }
    }

    pub fn change(&self) -> Change {
        let patch = STANDARD.decode(&self.meta_data_patch).ok();
        let patch = patch.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Change {
            images: self.container_images.clone(),
            resources: self.container_resources.clone(),
            ref_metadata: self.container_ref_metadata.clone(),
            metadata: MetadataPatch::read(&patch),
        }
    }

    pub fn write(&self, edit: &mut Edit<'_>) {
        edit.annotation(annotations::INPLACE_UPDATE_GRACE, &text(self));
        edit.drop_annotation(annotations::INPLACE_UPDATE_GRACE_LEGACY);
    }

    pub fn drop(edit: &mut Edit<'_>) {
        edit.drop_annotation(annotations::INPLACE_UPDATE_GRACE);
        edit.drop_annotation(annotations::INPLACE_UPDATE_GRACE_LEGACY);
    }
}

impl<T> Recorded<T> {
    pub fn present(self) -> Option<T> {
        match self {
            Self::Present(value) => Some(value),
            Self::Absent | Self::Malformed => None,
        }
    }
}

fn recorded<T: serde::de::DeserializeOwned>(pod: &PodView, key: &str, legacy: &str) -> Recorded<T> {
    let text = pod.annotations.get(key).or_else(|| pod.annotations.get(legacy)).unwrap_or_default();
    if text.is_empty() {
        return Recorded::Absent;
    }
    serde_json::from_str(text).map_or(Recorded::Malformed, Recorded::Present)
}

/// Our own types always serialize; an empty text would be read back as absent.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}
