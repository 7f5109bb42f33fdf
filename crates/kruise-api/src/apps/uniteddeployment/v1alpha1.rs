//! UnitedDeployment v1alpha1: another status, and a CloneSet template that may still have the v1alpha1 shape which
//! releases up to 1.8 stored (UD-B1).

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{self, UnitedDeploymentSpec};
use crate::{
    apps::cloneset::v1alpha1::{has_old_shape, spec_up},
    convert::json::{Object, child, items},
    crd::{
        older::{at, describe, with, without},
        rules,
    },
    kind::kind,
    names::APPS_GROUP,
    parts::Extra,
};

kind! {
    /// Runs one workload per subset of nodes out of one template, and shares the replicas between them.
    #[schemars(transform = rules::uniteddeployment::name)]
    Namespaced UnitedDeployment(APPS_GROUP, "v1alpha1", "uniteddeployments") {
        /// What should run where.
        #[schemars(transform = spec)]
        spec: UnitedDeploymentSpec,
        #[schemars(transform = status)]
        status: UnitedDeploymentStatus,
    }
}

/// What the controller observed last.
pub type UnitedDeploymentStatus = v1beta1::UnitedDeploymentStatus<Progress>;

/// What only the status of this version has; the hub says it per subset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Pods that each subset should have, by name.
    pub subset_replicas: Option<BTreeMap<String, i32>>,
    /// How far the update is.
    pub update_status: Option<UpdateStatus>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How far the update is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateStatus {
    /// Pods held back on the old revision, by subset name.
    pub current_partitions: Option<BTreeMap<String, i32>>,
    /// Revision of the present template.
    pub updated_revision: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The CloneSet template may have either shape.
fn spec(schema: &mut Schema) {
    const CLONESET: [&str; 3] = ["template", "cloneSetTemplate", "spec"];
    if let Some(cloneset) = at(schema, &CLONESET) {
        rules::uniteddeployment::both_shapes(cloneset);
    }
    describe(schema, &CLONESET, "Spec of the workload, in version v1beta1 or v1alpha1.");
}

fn status(schema: &mut Schema) {
    without(schema, &["updatedRevision"]);
    with::<Progress>(schema);
}

pub(crate) fn up(object: &mut Object) {
    let template = child(object, "spec").and_then(|spec| child(spec, "template"));
    let cloneset = template.and_then(|template| child(template, "cloneSetTemplate"));
    if let Some(spec) = cloneset.and_then(|cloneset| child(cloneset, "spec"))
        && has_old_shape(spec)
    {
        spec_up(spec);
    }
    let Some(status) = child(object, "status") else {
        return;
    };
    let replicas = status.shift_remove("subsetReplicas");
    let mut update = status.shift_remove("updateStatus");
    let update = update.as_mut().and_then(Value::as_object_mut);
    let partitions = update.map(|update| {
        if let Some(revision) = update.shift_remove("updatedRevision").filter(|revision| revision != "") {
            status.insert("updatedRevision".to_owned(), revision);
        }
        update.shift_remove("currentPartitions")
    });
    overwrite(status, replicas.as_ref(), "replicas");
    overwrite(status, partitions.flatten().as_ref(), "partition");
}

pub(crate) fn down(object: &mut Object) {
    let Some(status) = child(object, "status") else {
        return;
    };
    let revision = status.shift_remove("updatedRevision");
    let replicas = by_subset(status, "replicas");
    let mut update = Object::new();
    if let Some(replicas) = replicas {
        status.insert("subsetReplicas".to_owned(), replicas);
        update.extend(
            by_subset(status, "partition").map(|partitions| ("currentPartitions".to_owned(), partitions)),
        );
    }
    update.extend(revision.map(|revision| ("updatedRevision".to_owned(), revision)));
    if !update.is_empty() {
        status.insert("updateStatus".to_owned(), Value::Object(update));
    }
}

/// Sets a field in the status of each subset that the map names; missing statuses are added in order of names.
fn overwrite(status: &mut Object, values: Option<&Value>, field: &str) {
    let Some(values) = values.and_then(Value::as_object).filter(|values| !values.is_empty()) else {
        return;
    };
    let values: BTreeMap<_, _> = values.iter().collect();
    let subsets = status.entry("subsetStatuses").or_insert_with(|| json!([]));
    let Some(subsets) = subsets.as_array_mut() else {
        return;
    };
    for (name, value) in values {
        let found = subsets
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .find(|subset| subset.get("name") == Some(&json!(name)));
        match found {
            // Zero is written as nothing.
            Some(subset) if *value == json!(0) => _ = subset.shift_remove(field),
            Some(subset) => _ = subset.insert(field.to_owned(), value.clone()),
            None if *value == json!(0) => subsets.push(json!({ "name": name })),
            None => subsets.push(json!({ "name": name, field: value })),
        }
    }
}

/// A field of all subset statuses, by name; nothing if there are none.
fn by_subset(status: &mut Object, field: &str) -> Option<Value> {
    let entry = |subset: &mut Object| {
        let value = subset.get(field).cloned().unwrap_or_else(|| json!(0));
        Some((subset.get("name")?.as_str()?.to_owned(), value))
    };
    let values: Object = items(status, "subsetStatuses").filter_map(entry).collect();
    (!values.is_empty()).then_some(Value::Object(values))
}
