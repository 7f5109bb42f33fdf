//! Node selectors and tolerations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Extra;

/// Selects nodes by labels and fields. All requirements must match.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct NodeSelectorTerm {
    /// Conditions on node labels.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<NodeSelectorRequirement>>,
    /// Conditions on node fields.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_fields: Option<Vec<NodeSelectorRequirement>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One condition on a node label or field.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorRequirement {
    /// Label key or field name.
    pub key: String,
    /// In, NotIn, Exists, DoesNotExist, Gt or Lt.
    pub operator: String,
    /// Values, as many as the operator takes.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Nodes that the scheduler should prefer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreferredSchedulingTerm {
    /// The preferred nodes.
    pub preference: NodeSelectorTerm,
    /// Weight of the preference, from 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub weight: i32,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Lets pods run on nodes with a taint.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// Effect of the taint; all effects if not given.
    pub effect: Option<String>,
    /// Key of the taint; all keys if not given.
    pub key: Option<String>,
    /// Equal or Exists. Equal if not given.
    pub operator: Option<String>,
    /// Seconds a NoExecute taint is tolerated; for ever if not given.
    pub toleration_seconds: Option<i64>,
    /// Value of the taint for Equal.
    pub value: Option<String>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
