//! Lifecycle hooks of pods (SM-40 and following).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Extra, StringMap};

/// The points at which a hook can hold a pod.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// Holds a pod before it is deleted.
    pub pre_delete: Option<LifecycleHook>,
    /// Holds a pod before and after it is updated in place.
    pub in_place_update: Option<LifecycleHook>,
    /// Holds a new pod before it counts as normal and available.
    pub pre_normal: Option<LifecycleHook>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What holds a pod: it is held while it has all these labels or any of these finalizers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleHook {
    /// Labels that hold the pod; each key and value is one blocker.
    pub labels_handler: Option<StringMap>,
    /// Finalizers that hold the pod; each is one blocker.
    pub finalizers_handler: Option<Vec<String>>,
    /// Also makes the pod not ready while it is held, so that it leaves its Services first. Has no effect on preNormal.
    pub mark_pod_not_ready: Option<bool>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
