//! SidecarSet v1alpha1: one namespace may be given by name, and the custom version is a label (SS-1 … SS-4).

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{self, SidecarSetStatus};
use crate::{
    convert::json::{Object, child, child_mut, label, set_label, take_label},
    crd::{
        older::{describe, with, without},
        rules,
    },
    kind::kind,
    labels::{NAMESPACE_NAME, SIDECARSET_CUSTOM_VERSION},
    names::APPS_GROUP,
    parts::Extra,
};

kind! {
    /// Puts containers into pods when they are created, and upgrades them later without touching the application.
    #[schemars(transform = rules::jobs::name)]
    Cluster SidecarSet(APPS_GROUP, "v1alpha1", "sidecarsets") {
        /// Which containers go into which pods.
        #[schemars(transform = spec)]
        spec: SidecarSetSpec,
        status: SidecarSetStatus,
    }
}

/// Which containers go into which pods.
pub type SidecarSetSpec = v1beta1::SidecarSetSpec<Namespace>;

/// What only this version has.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Namespace {
    /// The one namespace of the pods. All namespaces if neither this nor namespaceSelector is given.
    pub namespace: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

fn spec(schema: &mut Schema) {
    without(schema, &["customVersion"]);
    with::<Namespace>(schema);
    describe(schema, &["namespaceSelector"], "Namespaces of the pods. Ignored if namespace is given.");
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
