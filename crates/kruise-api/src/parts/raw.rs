//! What belongs to somebody else and is kept as given: templates, patches, embedded objects.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Declares one newtype over JSON that the API server neither checks nor prunes.
macro_rules! raw {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Value);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
            }
        }
    };
}

raw! {
    /// A pod template. Revisions are made of its bytes, so the order of keys stays too.
    RawTemplate
}
raw! {
    /// A list of claim templates.
    RawClaims
}
raw! {
    /// Any other JSON: a patch, volumes, ephemeral containers, a template of a foreign kind.
    RawJson
}

/// Reads a field that may be left out, but keeps a `null` that was given: the API server stores it where it has no schema.
pub(crate) fn null_too<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
