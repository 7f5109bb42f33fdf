//! UnitedDeployment v1alpha1: another status, and a CloneSet template that may still have the v1alpha1 shape which
//! releases up to 1.8 stored (UD-B1).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{
    AdvancedStatefulSetTemplate, ForeignTemplate, Topology, UnitedDeploymentCondition,
    UnitedDeploymentSubsetStatus, UnitedDeploymentUpdateStrategy,
};
use crate::{
    apps::cloneset::{
        CloneSetSpec,
        v1alpha1::{has_old_shape, spec_up},
    },
    convert::json::{Object, child, items},
    crd::rules,
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, LabelSelector, RawJson},
};

kind! {
    /// Runs one workload per subset of nodes out of one template, and shares the replicas between them.
    #[schemars(transform = rules::uniteddeployment::name)]
    Namespaced UnitedDeployment(APPS_GROUP, "v1alpha1", "uniteddeployments") {
        /// What should run where.
        spec: UnitedDeploymentSpec,
        status: UnitedDeploymentStatus,
    }
}

/// What should run where.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::uniteddeployment::spec)]
pub struct UnitedDeploymentSpec {
    /// Pods over all subsets. 1 if not given.
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many old revisions are kept for going back. 10 if not given.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// Which workloads belong to this object. Must match the labels of the template.
    #[schemars(transform = rules::selector)]
    pub selector: LabelSelector,
    /// The workload to run: exactly one of the templates.
    pub template: Option<SubsetTemplate>,
    /// The subsets.
    pub topology: Option<Topology>,
    /// How subsets are brought to a changed template.
    pub update_strategy: Option<UnitedDeploymentUpdateStrategy>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// The workload to run: exactly one of the templates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::uniteddeployment::one_template)]
pub struct SubsetTemplate {
    /// A StatefulSet of this project.
    pub advanced_stateful_set_template: Option<AdvancedStatefulSetTemplate>,
    /// A CloneSet.
    pub clone_set_template: Option<CloneSetTemplate>,
    /// A built-in Deployment.
    pub deployment_template: Option<ForeignTemplate>,
    /// A built-in StatefulSet.
    pub stateful_set_template: Option<ForeignTemplate>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// A CloneSet.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloneSetTemplate {
    /// Labels and annotations of the workload.
    #[serde(default, deserialize_with = "crate::parts::null_too")]
    pub metadata: Option<RawJson>,
    /// Spec of the workload, in version v1beta1 or v1alpha1.
    #[schemars(transform = rules::unchecked, transform = rules::uniteddeployment::both_shapes)]
    pub spec: CloneSetSpec,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the controller observed last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UnitedDeploymentStatus {
    /// Number of hash collisions that revision names had to avoid.
    pub collision_count: Option<i32>,
    /// What went well or wrong.
    pub conditions: Option<Vec<UnitedDeploymentCondition>>,
    /// Revision that was in place before.
    pub current_revision: String,
    /// The selector as text, for autoscalers.
    pub label_selector: Option<String>,
    /// Generation of the spec that this status belongs to.
    pub observed_generation: Option<i64>,
    /// Pods that are ready.
    pub ready_replicas: Option<i32>,
    /// Pods that exist, without reserved ones.
    pub replicas: i32,
    /// Pods that are kept although they are pending.
    pub reserved_pods: Option<i32>,
    /// Pods that each subset should have, by name.
    pub subset_replicas: Option<BTreeMap<String, i32>>,
    /// State of the subsets.
    pub subset_statuses: Option<Vec<UnitedDeploymentSubsetStatus>>,
    /// How far the update is.
    pub update_status: Option<UpdateStatus>,
    /// Updated pods that are ready.
    pub updated_ready_replicas: Option<i32>,
    /// Pods at the updated revision.
    pub updated_replicas: i32,
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
