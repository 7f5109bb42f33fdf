//! NodeImage v1alpha1: the hub without the mode of pull secrets.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::v1beta1::{ImageTagSpec, NodeImageStatus};
use crate::{
    convert::json::{Object, child, items},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, SandboxConfig},
};

kind! {
    /// The images that one node should pull. Has the name of the node; written by pull jobs, read by the node agent.
    Cluster NodeImage(APPS_GROUP, "v1alpha1", "nodeimages") {
        /// What the node should pull.
        #[serde(default)]
        spec: NodeImageSpec,
        status: NodeImageStatus,
    }
}

/// What the node should pull.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeImageSpec {
    /// Tags to pull, by repository name.
    #[schemars(transform = rules::images::node_images)]
    pub images: Option<BTreeMap<String, ImageSpec>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What to pull from one repository.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageSpec {
    /// Secrets with credentials.
    pub pull_secrets: Option<Vec<ReferenceObject>>,
    /// What the container runtime is told about who pulls.
    pub sandbox_config: Option<SandboxConfig>,
    /// The tags.
    #[schemars(transform = rules::images::tags)]
    pub tags: Vec<ImageTagSpec>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A secret in any namespace.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceObject {
    /// Name.
    pub name: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Every field of this version is in the hub under the same name.
pub(crate) fn up(_: &mut Object) {}

pub(crate) fn down(object: &mut Object) {
    let Some(images) = child(object, "spec").and_then(|spec| child(spec, "images")) else {
        return;
    };
    for image in images.values_mut().filter_map(Value::as_object_mut) {
        for secret in items(image, "pullSecrets") {
            secret.shift_remove("mode");
        }
    }
}
