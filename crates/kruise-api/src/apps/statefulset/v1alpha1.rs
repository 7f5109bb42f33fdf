//! StatefulSet v1alpha1: a part of the hub's fields.

use schemars::Schema;

use super::v1beta1::{StatefulSetSpec, StatefulSetStatus};
use crate::{
    convert::json::{Object, child},
    crd::{older::without, rules},
    kind::kind,
    names::APPS_GROUP,
};

kind! {
    /// Runs pods with fixed names and claims of their own, in order or in parallel, updated in place where possible.
    #[schemars(transform = rules::statefulset::name)]
    Namespaced StatefulSet(APPS_GROUP, "v1alpha1", "statefulsets") {
        /// What should run.
        #[schemars(transform = spec)]
        spec: StatefulSetSpec,
        #[schemars(transform = status)]
        status: StatefulSetStatus,
    }
}

/// Fields of the hub's spec that this version does not have.
const NEWER_SPEC: [&str; 6] = [
    "lifecycle",
    "ordinals",
    "persistentVolumeClaimRetentionPolicy",
    "reserveOrdinals",
    "scaleStrategy",
    "volumeClaimUpdateStrategy",
];

/// Fields of the hub's status that this version does not have.
const NEWER_STATUS: [&str; 3] = ["updatedAvailableReplicas", "updatedReadyReplicas", "volumeClaims"];

fn spec(schema: &mut Schema) {
    without(schema, &NEWER_SPEC);
}

fn status(schema: &mut Schema) {
    without(schema, &NEWER_STATUS);
}

/// Every field of this version is in the hub under the same name.
pub(crate) fn up(_: &mut Object) {}

pub(crate) fn down(object: &mut Object) {
    for (part, newer) in [("spec", NEWER_SPEC.as_slice()), ("status", NEWER_STATUS.as_slice())] {
        if let Some(part) = child(object, part) {
            part.retain(|field, _| !newer.contains(&field.as_str()));
        }
    }
}
