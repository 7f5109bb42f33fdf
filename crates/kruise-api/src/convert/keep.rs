//! Keeps what a version cannot express.
//!
//! A conversion first translates what has a counterpart. Whatever would be lost on the way back is then found by going
//! back and comparing, and is written into an annotation of the translated object as a list of changes. Coming back, a
//! change is made only where the value is still the one that was seen when it was recorded: an edit in the other
//! version wins over what was kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::Object;

/// Members by which items of lists are known. An item keeps its changes when the list is reordered or grows.
const NAMES: [&str; 2] = ["name", "type"];

/// One difference: at this place there was one value and should be the other. A missing member means "nothing there".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// The way from the root.
    path: Vec<Step>,
    /// What the translation gives.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    from: Option<Value>,
    /// What was there before.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    to: Option<Value>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Step {
    /// To a member of an object.
    Key(String),
    /// To the item of a list with this name.
    Item([String; 2]),
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

fn compare(path: &mut Vec<Step>, from: &Object, to: &Object, found: &mut Vec<Change>) {
    let added = to.keys().filter(|key| !from.contains_key(*key));
    for key in from.keys().chain(added) {
        let (old, new) = (from.get(key), to.get(key));
        if old == new {
            continue;
        }
        path.push(Step::Key(key.clone()));
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare(path, old, new, found),
            (Some(Value::Array(old)), Some(Value::Array(new))) if let Some(items) = same_items(old, new) => {
                for (name, before, after) in items {
                    path.push(Step::Item(name));
                    compare(path, before, after, found);
                    path.pop();
                }
            }
            _ => found.push(Change { path: path.clone(), from: old.cloned(), to: new.cloned() }),
        }
        path.pop();
    }
}

/// The items of two lists in pairs, if both hold objects of the same names in the same order, each name once.
fn same_items<'a>(old: &'a [Value], new: &'a [Value]) -> Option<Vec<([String; 2], &'a Object, &'a Object)>> {
    if old.len() != new.len() {
        return None;
    }
    NAMES.iter().find_map(|member| {
        let name = |item: &Value| item.get(member)?.as_str().map(str::to_owned);
        let mut pairs: Vec<([String; 2], _, _)> = Vec::new();
        for (before, after) in old.iter().zip(new) {
            let item = [(*member).to_owned(), name(before)?];
            if name(after) != name(before) || pairs.iter().any(|(seen, ..)| *seen == item) {
                return None;
            }
            pairs.push((item, before.as_object()?, after.as_object()?));
        }
        Some(pairs)
    })
}

fn make(object: &mut Object, change: Change) {
    let Some((Step::Key(last), parents)) = change.path.split_last() else { return };
    let Some(place) = follow(object, parents) else { return };
    if place.get(last) != change.from.as_ref() {
        return;
    }
    match change.to {
        Some(value) => place.insert(last.clone(), value),
        None => place.shift_remove(last),
    };
}

/// The object at the end of a path. A step to an item follows the step to its list.
fn follow<'a>(object: &'a mut Object, path: &[Step]) -> Option<&'a mut Object> {
    match path {
        [] => Some(object),
        [Step::Key(key), Step::Item([member, name]), rest @ ..] => {
            let mut items = object.get_mut(key)?.as_array_mut()?.iter_mut().filter_map(Value::as_object_mut);
            let item = items.find(|item| item.get(member).is_some_and(|value| value == name))?;
            follow(item, rest)
        }
        [Step::Key(key), rest @ ..] => follow(object.get_mut(key)?.as_object_mut()?, rest),
        [Step::Item(_), ..] => None,
    }
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
    fn items_with_names_keep_their_changes_in_another_order() {
        let from = object(&json!({"list": [{"name": "a"}, {"name": "b", "x": 1}]}));
        let kept = changes(&from, &object(&json!({"list": [{"name": "a", "y": 2}, {"name": "b"}]})));

        let mut edited = object(&json!({"list": [{"name": "new"}, {"name": "b", "x": 1}, {"name": "a"}]}));
        apply(&mut edited, kept);

        assert_eq!(edited, object(&json!({"list": [{"name": "new"}, {"name": "b"}, {"name": "a", "y": 2}]})));
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
