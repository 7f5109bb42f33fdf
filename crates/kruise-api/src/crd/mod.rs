//! CustomResourceDefinitions, generated from the types.

pub(crate) mod rules;
pub(crate) mod schema;
