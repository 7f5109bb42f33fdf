//! The JSON patch (RFC 6902) that turns one value into another and touches only what differs.

use std::fmt::Write;

use crate::chain::Op;
use serde_json::Value;

/// Objects are compared by key, lists by position; a longer list gains items at its end, a shorter one loses them there.
/// What is new is moved out of `new`.
pub fn patch(old: &Value, mut new: Value) -> Vec<Op> {
    let mut out = Vec::new();
    compare(&mut String::new(), old, &mut new, &mut out);
    out
}

/// `path` is where we are; it is the same again at the end.
fn compare(path: &mut String, old: &Value, new: &mut Value, out: &mut Vec<Op>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                at(path, key, |path| match after.get_mut(key) {
                    Some(other) => compare(path, value, other, out),
                    None => out.push(Op::Remove { path: path.clone() }),
                });
            }
            for (key, value) in after.iter_mut().filter(|(key, _)| !before.contains_key(*key)) {
                at(path, key, |path| out.push(Op::add(path.clone(), value.take())));
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (position, (value, other)) in before.iter().zip(after.iter_mut()).enumerate() {
                let length = path.len();
                // Writing to a String cannot fail.
                let _infallible = write!(path, "/{position}");
                compare(path, value, other, out);
                path.truncate(length);
            }
            // From the end, so that the positions before stay what they are.
            for position in (after.len()..before.len()).rev() {
                out.push(Op::Remove { path: format!("{path}/{position}") });
            }
            for value in after.iter_mut().skip(before.len()) {
                out.push(Op::add(format!("{path}/-"), value.take()));
            }
        }
        (_, other) if *old != *other => {
            out.push(Op::Replace { path: path.clone(), value: other.take() });
        }
        _ => {}
    }
}

/// Works at a member of the object that the path leads to.
fn at(path: &mut String, key: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    if key.contains(['~', '/']) {
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    } else {
        path.push_str(key);
    }
    work(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Applies one operation; only what `patch` writes.
    fn apply(target: &mut Value, operation: &Op) {
        let operation = serde_json::to_value(operation).unwrap();
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
            for operation in patch(&old, new.clone()) {
                apply(&mut result, &operation);
            }
            prop_assert_eq!(result, new);
        }

        #[test]
        fn nothing_changed_nothing_patched(value in values()) {
            prop_assert!(patch(&value, value.clone()).is_empty());
        }
    }

    #[test]
    fn only_what_differs_is_touched() {
        let old = json!({"spec": {"kept": {"deep": 1}, "list": [{"name": "a"}]}});
        let new = json!({"spec": {"kept": {"deep": 1}, "list": [{"name": "a", "x/y": 1}], "replicas": 1}});

        assert_eq!(
            json!(patch(&old, new)),
            json!([
                {"op": "add", "path": "/spec/list/0/x~1y", "value": 1},
                {"op": "add", "path": "/spec/replicas", "value": 1},
            ])
        );
    }
}
