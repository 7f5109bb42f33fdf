//! How the schema of an older version is made out of the hub's: what is taken out, put in or loosened.
//!
//! The older versions use the hub's structs. A field that only the older version has stands in the place of the hub's
//! `extra`; a field that only the hub has is never there. The schema must say both, and these functions do.

use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use super::{rules::VALIDATIONS, schema};

/// The schema at a path of field names; `*` steps into the items of a list or the values of a map.
pub(crate) fn at<'a>(schema: &'a mut Schema, path: &[&str]) -> Option<&'a mut Schema> {
    path.iter().try_fold(schema, |found, step| {
        let next = match *step {
            "*" if found.get("items").is_some() => found.get_mut("items"),
            "*" => found.get_mut("additionalProperties"),
            field => found.get_mut("properties").and_then(|fields| fields.get_mut(field)),
        };
        next.and_then(|next| next.try_into().ok())
    })
}

/// Takes out fields that came later.
pub(crate) fn without(schema: &mut Schema, fields: &[&str]) {
    if let Some(properties) = properties(schema) {
        properties.retain(|name, _| !fields.contains(&name.as_str()));
    }
    // A rule about a field that is not there would not compile.
    let mentions = |rule: &Value| {
        let text = rule.get("rule").and_then(Value::as_str).unwrap_or_default();
        fields.iter().any(|field| text.contains(&format!(".{field}")))
    };
    if let Some(Value::Array(rules)) = schema.get_mut(VALIDATIONS) {
        rules.retain(|rule| !mentions(rule));
    }
}

/// Puts in the fields of `T`, in the order of names.
pub(crate) fn with<T: JsonSchema>(schema: &mut Schema) {
    let mut more = schema::of::<T>();
    let (Some(properties), Some(more)) = (properties(schema), properties(&mut more)) else {
        return;
    };
    properties.append(more);
    properties.sort_keys();
}

/// Lets every value pass that has the right type: the older version never refused one.
pub(crate) fn loosen(schema: &mut Schema, path: &[&str]) {
    if let Some(field) = at(schema, path) {
        for check in ["enum", "minimum"] {
            field.remove(check);
        }
    }
}

/// Says what the field means in the older version.
pub(crate) fn describe(schema: &mut Schema, path: &[&str], text: &str) {
    if let Some(field) = at(schema, path) {
        field.insert("description".to_owned(), text.into());
    }
}

fn properties(schema: &mut Schema) -> Option<&mut Map<String, Value>> {
    schema.get_mut("properties")?.as_object_mut()
}
