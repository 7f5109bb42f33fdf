//! Points in time, to the second, as Kubernetes writes them.

use std::borrow::Cow;

use k8s_openapi::{apimachinery::pkg::apis::meta::v1, jiff::Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A point in time, `2026-01-31T12:00:00Z`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub v1::Time);

impl Time {
    /// The instant behind it.
    pub fn timestamp(&self) -> Timestamp {
        self.0.0
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        Self(v1::Time(timestamp))
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
