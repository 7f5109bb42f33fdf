//! NodeImage v1alpha1: the hub without the mode of pull secrets.

use schemars::Schema;
use serde_json::Value;

use super::v1beta1::{NodeImageSpec, NodeImageStatus};
use crate::{
    convert::json::{Object, child, items},
    crd::older::{at, without},
    kind::kind,
    names::APPS_GROUP,
};

kind! {
    /// The images that one node should pull. Has the name of the node; written by pull jobs, read by the node agent.
    Cluster NodeImage(APPS_GROUP, "v1alpha1", "nodeimages") {
        /// What the node should pull.
        #[serde(default)]
        #[schemars(transform = spec)]
        spec: NodeImageSpec,
        status: NodeImageStatus,
    }
}

fn spec(schema: &mut Schema) {
    if let Some(secret) = at(schema, &["images", "*", "pullSecrets", "*"]) {
        without(secret, &["mode"]);
    }
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
