//! CustomResourceDefinitions, generated from the types.
//!
//! `schema` turns a type into a structural schema, `rules` are the checks in it, `older` what an
//! older version has different, `catalog` holds what types do not know
//! (short names, columns, subresources), `definition` puts all together.

mod catalog;
mod definition;
pub(crate) mod older;
pub(crate) mod rules;
pub(crate) mod schema;

use serde_json::Value;

/// The CRDs of all kinds, as JSON manifests.
pub fn all_crds() -> Vec<Value> {
    catalog::definitions().iter().map(definition::Definition::manifest).collect()
}
