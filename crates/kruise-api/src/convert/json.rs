//! Small steps on JSON objects that conversions are made of. What has an unexpected type is left alone.

use serde_json::{Map, Value, json};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// The object under a key, if there is one.
pub(crate) fn child<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    object.get_mut(key)?.as_object_mut()
}

/// The object under a key, made if missing; nothing if something else is there.
pub(crate) fn child_mut<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    object.entry(key).or_insert_with(|| json!({})).as_object_mut()
}

/// The objects of a list under a key.
pub(crate) fn items<'a>(object: &'a mut Object, key: &str) -> impl Iterator<Item = &'a mut Object> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Gives a field another name. An existing field of that name is replaced.
pub(crate) fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.shift_remove(from) {
        object.insert(to.to_owned(), value);
    }
}

/// Value of an annotation.
pub(crate) fn annotation<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Value of a label.
pub(crate) fn label<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// Writes an annotation.
pub(crate) fn set_annotation(object: &mut Object, key: &str, value: &str) {
    set_metadata(object, "annotations", key, value);
}

/// Writes a label.
pub(crate) fn set_label(object: &mut Object, key: &str, value: &str) {
    set_metadata(object, "labels", key, value);
}

/// Removes an annotation, and the map of annotations if it was the last. Returns the value if it was a text.
pub(crate) fn take_annotation(object: &mut Object, key: &str) -> Option<String> {
    take_metadata(object, "annotations", key)
}

/// Removes a label, and the map of labels if it was the last. Returns the value if it was a text.
pub(crate) fn take_label(object: &mut Object, key: &str) -> Option<String> {
    take_metadata(object, "labels", key)
}

/// A scalar as text, without quotes.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn set_metadata(object: &mut Object, map: &str, key: &str, value: &str) {
    let Some(map) = child_mut(object, "metadata").and_then(|metadata| child_mut(metadata, map)) else {
        return;
    };
    map.insert(key.to_owned(), json!(value));
}

fn take_metadata(object: &mut Object, map: &str, key: &str) -> Option<String> {
    let metadata = child(object, "metadata")?;
    let values = child(metadata, map)?;
    let value = values.shift_remove(key)?;
    if values.is_empty() {
        metadata.shift_remove(map);
    }
    value.as_str().map(str::to_owned)
}
