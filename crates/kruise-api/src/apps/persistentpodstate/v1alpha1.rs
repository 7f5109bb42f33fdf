//! PersistentPodState v1alpha1: key lists have another name, and an unknown retention policy is not refused.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::v1beta1::{self, PersistentPodStateStatus};
use crate::{
    convert::json::{Object, child, items, rename},
    crd::older::{describe, loosen},
    kind::kind,
    names::APPS_GROUP,
    parts::Extra,
};

kind! {
    /// Remembers where the pods of a workload ran, so that they come back to the same node, zone or rack.
    Namespaced PersistentPodState(APPS_GROUP, "v1alpha1", "persistentpodstates") {
        /// What is remembered, and for which workload.
        #[schemars(transform = spec)]
        spec: PersistentPodStateSpec,
        status: PersistentPodStateStatus,
    }
}

/// What is remembered, and for which workload.
pub type PersistentPodStateSpec = v1beta1::PersistentPodStateSpec<TopologyTerm>;

/// A set of node labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyTerm {
    /// Keys of the node labels.
    pub node_topology_keys: Vec<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

fn spec(schema: &mut Schema) {
    const POLICY: [&str; 1] = ["persistentPodStateRetentionPolicy"];
    loosen(schema, &POLICY);
    describe(
        schema,
        &POLICY,
        "When a record may be dropped: WhenScaled or WhenDeleted. WhenScaled if not given.",
    );
}

pub(crate) fn up(object: &mut Object) {
    rename_keys(object, "nodeTopologyKeys", "keys");
}

pub(crate) fn down(object: &mut Object) {
    rename_keys(object, "keys", "nodeTopologyKeys");
}

fn rename_keys(object: &mut Object, from: &str, to: &str) {
    let Some(spec) = child(object, "spec") else { return };
    if let Some(required) = child(spec, "requiredPersistentTopology") {
        rename(required, from, to);
    }
    for preferred in items(spec, "preferredPersistentTopology") {
        if let Some(preference) = child(preferred, "preference") {
            rename(preference, from, to);
        }
    }
}
