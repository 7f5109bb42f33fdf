//! Rules of ResourceDistribution (section 6 of its specification, RD-B12).

use schemars::Schema;

use super::{limit, rule};

/// A Secret or ConfigMap that stays the same object.
pub(crate) fn resource(schema: &mut Schema) {
    limit(schema, "type", "object");
    limit(schema, "x-kubernetes-embedded-resource", true);
    rule(
        schema,
        "self.apiVersion == 'v1' && self.kind in ['Secret', 'ConfigMap']",
        "must be a Secret or a ConfigMap of apiVersion v1",
    );
    rule(
        schema,
        "has(self.metadata.name) && self.metadata.name != ''",
        "metadata.name must be given: every copy gets this name",
    );
    rule(
        schema,
        "self.apiVersion == oldSelf.apiVersion && self.kind == oldSelf.kind && self.metadata.name == oldSelf.metadata.name",
        "apiVersion, kind and metadata.name cannot be changed; delete the object and create it anew",
    );
}

/// A list of namespaces. No bound: a cluster may have very many.
pub(crate) fn namespaces(schema: &mut Schema) {
    super::keyed(schema, &["name"]);
    if let Some(item) = schema.pointer_mut("/items").and_then(|item| item.as_object_mut()) {
        item.insert("required".to_owned(), serde_json::json!(["name"]));
    }
}

/// A name that a namespace can have.
pub(crate) fn namespace(schema: &mut Schema) {
    limit(schema, "pattern", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$");
}
