//! How a pod is updated in place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Extra, IntOrString};

/// Settings of in-place updates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlaceUpdateStrategy {
    /// Seconds between the pod becoming not ready and the change of its containers, so that traffic can leave. 0 means at once.
    #[schemars(range(min = 0))]
    pub grace_period_seconds: Option<i32>,
    /// How many nodes may pull the new image at the same time before the update reaches them: a number, also as text. One if not given.
    pub image_pre_download_parallelism: Option<IntOrString>,
    /// Seconds one pull of the new image may take. 300 if not given.
    pub image_pre_download_timeout_seconds: Option<i32>,
    /// How many updated pods must be ready before images are pulled ahead. 0 if not given.
    pub image_pre_download_min_updated_ready_pods: Option<i32>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}
