//! Keeps what a version cannot express.
//!
//! A conversion first translates what has a counterpart. Whatever would be lost on the way back is then found by going
//! back and comparing, and is written into an annotation of the translated object as a list of changes. Coming back, a
//! change is made only where the value is still the one that was seen when it was recorded: an edit in the other
//! version wins over what was kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::Object;

/// One difference: at this place there was one value and should be the other. A missing member means "nothing there".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Keys from the root.
    path: Vec<String>,
    /// What the translation gives.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    from: Option<Value>,
    /// What was there before.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    to: Option<Value>,
}

/// The changes that turn one object into the other.
pub(crate) fn changes(from: &Object, to: &Object) -> Vec<Change> {
    let mut found = Vec::new();
    compare(&mut Vec::new(), from, to, &mut found);
    found
}

/// Makes those changes that still fit.
pub(crate) fn apply(object: &mut Object, changes: Vec<Change>) {
    for change in changes {
        make(object, change);
    }
}

fn compare(path: &mut Vec<String>, from: &Object, to: &Object, found: &mut Vec<Change>) {
    let added = to.keys().filter(|key| !from.contains_key(*key));
    for key in from.keys().chain(added) {
        let (old, new) = (from.get(key), to.get(key));
        if old == new {
            continue;
        }
        path.push(key.clone());
        if let (Some(Value::Object(old)), Some(Value::Object(new))) = (old, new) {
            compare(path, old, new, found);
        } else {
            found.push(Change { path: path.clone(), from: old.cloned(), to: new.cloned() });
        }
        path.pop();
    }
}

fn make(object: &mut Object, change: Change) {
    let Some((key, parents)) = change.path.split_last() else {
        return;
    };
    let mut place = object;
    for parent in parents {
        let Some(Value::Object(next)) = place.get_mut(parent) else {
            return;
        };
        place = next;
    }
    if place.get(key) != change.from.as_ref() {
        return;
    }
    match change.to {
        Some(value) => place.insert(key.clone(), value),
        None => place.shift_remove(key),
    };
}

/// Tells `null` from nothing, which serde otherwise reads alike.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[expect(clippy::ref_option, reason = "the signature that serde's `with` demands")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn changes_turn_one_object_into_the_other() {
        let from = object(&json!({"a": 1, "b": {"c": null, "d": [1]}, "gone": {}}));
        let to = object(&json!({"a": 2, "b": {"c": 1, "d": [1, 2], "e": null}, "new": {"x": 1}}));
        let found = changes(&from, &to);
        let text = serde_json::to_string(&found).unwrap();

        let mut result = from;
        apply(&mut result, serde_json::from_str(&text).unwrap());

        assert_eq!(result, to);
    }

    #[test]
    fn an_edited_value_wins_over_what_was_kept() {
        let from = object(&json!({"a": 1, "b": 1}));
        let kept = changes(&from, &object(&json!({"a": 2, "b": 2})));

        let mut edited = object(&json!({"a": 7, "b": 1}));
        apply(&mut edited, kept);

        assert_eq!(edited, object(&json!({"a": 7, "b": 2})));
    }
}
