//! DaemonSet v1alpha1: partitioned scaling is an annotation, the update type `Surging` still exists, and the revision
//! in the status has another name.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{self, DaemonSetSpec};
use crate::{
    annotations::DAEMONSET_PROGRESSIVE_CREATE,
    convert::json::{Object, annotation, child, child_mut, rename, set_annotation},
    crd::{
        older::{at, with, without},
        rules,
    },
    kind::kind,
    labels::TRUE,
    names::APPS_GROUP,
    parts::Extra,
};

kind! {
    /// Runs one pod on every node that fits, updated step by step and in place where possible.
    Namespaced DaemonSet(APPS_GROUP, "v1alpha1", "daemonsets") {
        /// What should run.
        #[schemars(transform = spec)]
        spec: DaemonSetSpec,
        #[schemars(transform = status)]
        status: DaemonSetStatus,
    }
}

/// What the controller observed last.
pub type DaemonSetStatus = v1beta1::DaemonSetStatus<Revision>;

/// What the status has under another name than in the hub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Hash of the present template's revision.
    pub daemon_set_hash: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Create the new pod first; the same as Standard with maxSurge.
pub const SURGING: &str = "Surging";

fn spec(schema: &mut Schema) {
    without(schema, &["scaleStrategy"]);
    let Some(rolling) = at(schema, &["updateStrategy", "rollingUpdate"]) else { return };
    rules::daemonset::surging(rolling);
}

fn status(schema: &mut Schema) {
    without(schema, &["updateRevision"]);
    with::<Revision>(schema);
}

pub(crate) fn up(object: &mut Object) {
    let partitioned = annotation(object, DAEMONSET_PROGRESSIVE_CREATE).is_some_and(|value| value == TRUE);
    if let Some(spec) = child(object, "spec") {
        let rolling = child(spec, "updateStrategy").and_then(|strategy| child(strategy, "rollingUpdate"));
        if let Some(Value::String(kind)) = rolling.and_then(|rolling| rolling.get_mut("rollingUpdateType"))
            && kind == SURGING
        {
            v1beta1::RollingUpdateType::Standard.as_str().clone_into(kind);
        }
        if partitioned && let Some(scale) = child_mut(spec, "scaleStrategy") {
            scale.insert("partitionedScaling".to_owned(), json!(true));
        }
    }
    if let Some(status) = child(object, "status") {
        rename(status, "daemonSetHash", "updateRevision");
    }
}

pub(crate) fn down(object: &mut Object) {
    let scale = child(object, "spec").and_then(|spec| spec.shift_remove("scaleStrategy"));
    if scale.is_some_and(|scale| scale.get("partitionedScaling") == Some(&json!(true))) {
        set_annotation(object, DAEMONSET_PROGRESSIVE_CREATE, TRUE);
    }
    if let Some(status) = child(object, "status") {
        rename(status, "updateRevision", "daemonSetHash");
    }
}
