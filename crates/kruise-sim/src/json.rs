//! Changing objects of which nobody knows whether they have the part to be changed.

use serde_json::Value;

/// Sets a member of the object at this pointer; nothing if there is no such object.
pub(crate) fn put(value: &mut Value, parent: &str, key: &str, new: impl Into<Value>) {
    if let Some(parent) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.insert(key.to_owned(), new.into());
    }
}
