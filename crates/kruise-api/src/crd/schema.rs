//! Structural schemas out of types.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The schema of a type: nothing referred to, only keywords that the API server knows.
pub(crate) fn of<T: JsonSchema>() -> Schema {
    // The serialize contract says what we always write, and that is what is required of others.
    let settings = SchemaSettings::openapi3().for_serialize().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.transforms.clear();
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if let Some(object) = schema.as_object_mut() {
        tidy(object);
    }
    schema
}

/// Turns JSON schema into what a CRD may contain.
fn tidy(schema: &mut Map<String, Value>) {
    for unknown in ["title", "default", "nullable", "$schema"] {
        schema.shift_remove(unknown);
    }
    // A default of ours; those above only come from how serde reads missing fields.
    if let Some(default) = schema.shift_remove("x-default") {
        schema.insert("default".to_owned(), default);
    }
    // `Option` says "or null", which no API server stores.
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let Some(kind) = kinds.pop() {
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Object(only)) = only_choice(schema) {
        schema.shift_remove("anyOf");
        schema.extend(only);
    }
    for child in ["items", "additionalProperties"] {
        if let Some(Value::Object(child)) = schema.get_mut(child) {
            tidy(child);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(tidy);
    }
}

/// The schema in "this or null".
fn only_choice(schema: &Map<String, Value>) -> Option<Value> {
    match schema.get("anyOf")?.as_array()?.as_slice() {
        [only, null] if null.get("type").is_some_and(|kind| kind == "null") => Some(only.clone()),
        _ => None,
    }
}
