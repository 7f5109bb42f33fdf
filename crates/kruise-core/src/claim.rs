//! PersistentVolumeClaims made from claim templates, the same for every kind that has them (CS-62, AS-81).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::ids::ClaimName;

pub fn template_name(template: &Value) -> &str {
    template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The object to create, with its labels and owner references.
pub fn body(
    namespace: &str,
    name: &ClaimName,
    template: &Value,
    (labels, owners): (&BTreeMap<String, String>, &[Value]),
) -> Value {
    let mut metadata = json!({"name": name.as_str(), "namespace": namespace, "labels": labels});
    if let Some(object) = metadata.as_object_mut() {
        if !owners.is_empty() {
            object.insert("ownerReferences".to_owned(), json!(owners));
        }
        if let Some(annotations) = template.pointer("/metadata/annotations").filter(|value| value.is_object())
        {
            object.insert("annotations".to_owned(), annotations.clone());
        }
    }
    let claim_spec = template.get("spec").cloned().unwrap_or_else(|| json!({}));
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim_spec})
}
