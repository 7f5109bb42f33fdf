//! Rules of ContainerRecreateRequest (section 6 of its specification).

use schemars::Schema;

use super::{keyed_by_name, limit};

/// At least one container, each once.
pub(crate) fn containers(schema: &mut Schema) {
    limit(schema, "minItems", 1);
    keyed_by_name(schema);
}
