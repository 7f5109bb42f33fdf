//! ResourceDistribution v1alpha1: two fields have other names.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::v1beta1;
use crate::{
    convert::json::{Object, child, items, rename},
    crd::{
        older::{at, with, without},
        rules,
    },
    kind::kind,
    names::APPS_GROUP,
    parts::{Extra, LabelSelector},
};

kind! {
    /// Copies a Secret or ConfigMap into many namespaces and keeps the copies equal.
    Cluster ResourceDistribution(APPS_GROUP, "v1alpha1", "resourcedistributions") {
        /// What is copied, and where.
        #[schemars(transform = spec)]
        spec: ResourceDistributionSpec,
        #[schemars(transform = status)]
        status: ResourceDistributionStatus,
    }
}

/// What is copied, and where.
pub type ResourceDistributionSpec = v1beta1::ResourceDistributionSpec<Selector>;

/// What the controller observed last.
pub type ResourceDistributionStatus = v1beta1::ResourceDistributionStatus<Failed>;

/// What the targets have under another name than in the hub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// Namespaces by their labels. An empty selector selects none.
    #[schemars(transform = rules::selector_valid)]
    pub namespace_label_selector: Option<LabelSelector>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What a condition has under another name than in the hub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// Where it happened.
    pub failed_namespace: Option<Vec<String>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

fn spec(schema: &mut Schema) {
    if let Some(targets) = at(schema, &["targets"]) {
        without(targets, &["namespaceSelector"]);
        with::<Selector>(targets);
    }
}

fn status(schema: &mut Schema) {
    if let Some(condition) = at(schema, &["conditions", "*"]) {
        without(condition, &["failedNamespaces"]);
        with::<Failed>(condition);
    }
}

pub(crate) fn up(object: &mut Object) {
    rename_both(
        object,
        ("namespaceLabelSelector", "namespaceSelector"),
        ("failedNamespace", "failedNamespaces"),
    );
}

pub(crate) fn down(object: &mut Object) {
    rename_both(
        object,
        ("namespaceSelector", "namespaceLabelSelector"),
        ("failedNamespaces", "failedNamespace"),
    );
}

fn rename_both(object: &mut Object, selector: (&str, &str), failed: (&str, &str)) {
    if let Some(targets) = child(object, "spec").and_then(|spec| child(spec, "targets")) {
        rename(targets, selector.0, selector.1);
    }
    if let Some(status) = child(object, "status") {
        for condition in items(status, "conditions") {
            rename(condition, failed.0, failed.1);
        }
    }
}
