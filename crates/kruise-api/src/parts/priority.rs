//! The order in which pods are updated (SM-62, SM-63).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Extra, LabelSelector};
use crate::crd::rules;

/// Which pods are updated first: by the sum of weights, or by the value of labels. Not both.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = rules::one_priority)]
pub struct UpdatePriorityStrategy {
    /// Label keys, the most important first. Pods whose label value ends in the larger number come first.
    pub order_priority: Option<Vec<OrderTerm>>,
    /// Weighted selectors. The more the weights of the selectors that match a pod add up to, the earlier it is updated.
    #[schemars(transform = rules::bounded)]
    pub weight_priority: Option<Vec<WeightTerm>>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One label key to order pods by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderTerm {
    /// Label key whose value ends in a number.
    #[schemars(length(min = 1))]
    pub ordered_key: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// One weighted selector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WeightTerm {
    /// Weight of a match, from 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub weight: i32,
    /// The pods that get the weight. Must not be empty.
    #[schemars(transform = rules::selector_not_empty)]
    pub match_selector: LabelSelector,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// Pods with this label are spread over the whole update instead of being updated next to each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateScatterTerm {
    /// Label key.
    #[schemars(length(min = 1))]
    pub key: String,
    /// Label value.
    pub value: String,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
