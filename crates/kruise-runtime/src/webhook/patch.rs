//! The JSON patch (RFC 6902) that turns one value into another and touches only what differs.

use serde_json::{Value, json};

/// Objects are compared by key, lists by position; a longer list gains items at its end, a shorter one loses them there.
pub fn patch(old: &Value, new: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    compare("", old, new, &mut out);
    out
}

fn compare(path: &str, old: &Value, new: &Value, out: &mut Vec<Value>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let place = format!("{path}/{}", escaped(key));
                match after.get(key) {
                    Some(other) => compare(&place, value, other, out),
                    None => out.push(json!({"op": "remove", "path": place})),
                }
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                out.push(json!({"op": "add", "path": format!("{path}/{}", escaped(key)), "value": value}));
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (position, (value, other)) in before.iter().zip(after).enumerate() {
                compare(&format!("{path}/{position}"), value, other, out);
            }
            // From the end, so that the positions before stay what they are.
            for position in (after.len()..before.len()).rev() {
                out.push(json!({"op": "remove", "path": format!("{path}/{position}")}));
            }
            for value in after.iter().skip(before.len()) {
                out.push(json!({"op": "add", "path": format!("{path}/-"), "value": value}));
            }
        }
        _ if old != new => out.push(json!({"op": "replace", "path": path, "value": new})),
        _ => {}
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies one operation; only what `patch` writes.
    fn apply(target: &mut Value, operation: &Value) {
        let path = operation["path"].as_str().unwrap();
        let value = operation.get("value").cloned();
        let Some((parent, last)) = path.rsplit_once('/') else {
            *target = value.unwrap();
            return;
        };
        match (target.pointer_mut(parent).unwrap(), value) {
            (Value::Object(object), Some(value)) => {
                object.insert(last.replace("~1", "/").replace("~0", "~"), value);
            }
            (Value::Object(object), None) => {
                object.remove(&last.replace("~1", "/").replace("~0", "~")).unwrap();
            }
            (Value::Array(list), Some(value)) if last == "-" => list.push(value),
            (Value::Array(list), Some(value)) => list[last.parse::<usize>().unwrap()] = value,
            (Value::Array(list), None) => {
                list.remove(last.parse::<usize>().unwrap());
            }
            (other, _) => panic!("{path} leads into {other}"),
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let keys = prop_oneof!["[ab]", Just("a/b~".to_owned())];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(keys, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn patch_leads_from_old_to_new(old in values(), new in values()) {
            let mut result = old.clone();
            for operation in patch(&old, &new) {
                apply(&mut result, &operation);
            }
            prop_assert_eq!(result, new);
        }

        #[test]
        fn nothing_changed_nothing_patched(value in values()) {
            prop_assert!(patch(&value, &value).is_empty());
        }
    }

    #[test]
    fn only_what_differs_is_touched() {
        let old = json!({"spec": {"kept": {"deep": 1}, "list": [{"name": "a"}]}});
        let new = json!({"spec": {"kept": {"deep": 1}, "list": [{"name": "a", "x/y": 1}], "replicas": 1}});

        assert_eq!(
            patch(&old, &new),
            [
                json!({"op": "add", "path": "/spec/list/0/x~1y", "value": 1}),
                json!({"op": "add", "path": "/spec/replicas", "value": 1}),
            ]
        );
    }
}
