//! The JSON difference that decides whether an update is possible in place (SM-20).

use serde_json::Value;

/// One place where two values differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Keys and positions from the root.
    pub path: Vec<String>,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Add,
    Remove,
    Replace(Value),
}

/// Objects are compared by key, lists of equal length by position; lists of unequal length gain or lose items at the end.
pub fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut out = Vec::new();
    compare(old, new, &mut Vec::new(), &mut out);
    out
}

fn compare(old: &Value, new: &Value, path: &mut Vec<String>, out: &mut Vec<Difference>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                member(key.clone(), (Some(value), after.get(key)), path, out);
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                member(key.clone(), (None, Some(value)), path, out);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for position in 0..before.len().max(after.len()) {
                member(position.to_string(), (before.get(position), after.get(position)), path, out);
            }
        }
        _ if old != new => {
            out.push(Difference { path: path.clone(), change: Change::Replace(new.clone()) });
        }
        _ => {}
    }
}

/// One key of an object or position of a list, before and after.
fn member(
    key: String,
    sides: (Option<&Value>, Option<&Value>),
    path: &mut Vec<String>,
    out: &mut Vec<Difference>,
) {
    path.push(key);
    match sides {
        (Some(before), Some(after)) => compare(before, after, path, out),
        (Some(_), None) => out.push(Difference { path: path.clone(), change: Change::Remove }),
        (None, Some(_)) => out.push(Difference { path: path.clone(), change: Change::Add }),
        (None, None) => {}
    }
    path.pop();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sm_20_difference_by_key_and_position() {
        let old = json!({"a": 1, "gone": 1, "list": [1, {"x": 1}], "short": [1, 2]});
        let new = json!({"a": 2, "list": [1, {"x": 2, "y": 1}], "short": [1], "added": 1});

        let found: Vec<(String, Change)> =
            differences(&old, &new).into_iter().map(|one| (one.path.join("/"), one.change)).collect();

        assert_eq!(
            found,
            [
                ("a".to_owned(), Change::Replace(json!(2))),
                ("gone".to_owned(), Change::Remove),
                ("list/1/x".to_owned(), Change::Replace(json!(2))),
                ("list/1/y".to_owned(), Change::Add),
                ("short/1".to_owned(), Change::Remove),
                ("added".to_owned(), Change::Add),
            ]
        );
        assert!(differences(&old, &old).is_empty());
    }
}
