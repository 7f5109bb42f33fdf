//! What a spec is without one edit of it: also what admission added because of the edit goes, and what others decided since stays.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// `now` without what an edit changed from `before` to `after`. `decided` are merge patches that somebody has made since.
pub fn without(before: &Value, after: &Value, now: &Value, decided: &[&Value]) -> Value {
    let place = Place { before: Some(before), after: Some(after), now: Some(now), decided: decided.to_vec() };
    place.reverted().unwrap_or(Value::Null)
}

/// One field at three times.
struct Place<'a> {
    before: Option<&'a Value>,
    after: Option<&'a Value>,
    now: Option<&'a Value>,
    /// What patches said about it.
    decided: Vec<&'a Value>,
}

impl Place<'_> {
    fn reverted(&self) -> Option<Value> {
        let is_decided = self.decided.iter().any(|patch| !patch.is_object());
        if is_decided || self.before == self.after {
            return self.now.cloned();
        }
        let [before, after] = [self.before, self.after].map(|value| value.and_then(Value::as_object));
        // Nobody but the editor has said anything about it; what else has changed there is the doing of admission.
        if self.decided.is_empty() && before.is_none() {
            return self.before.cloned();
        }
        let Some(Value::Object(now)) = self.now else { return self.before.cloned() };
        // In the order that it has, so that nothing is written only to change that.
        let names = now.keys().chain(before.into_iter().flat_map(Map::keys));
        let mut seen = BTreeSet::new();
        let mut kept = Map::new();
        for name in names.filter(|name| seen.insert(*name)) {
            let part = Place {
                before: before.and_then(|all| all.get(name)),
                after: after.and_then(|all| all.get(name)),
                now: now.get(name),
                decided: self.decided.iter().filter_map(|patch| patch.get(name)).collect(),
            };
            if let Some(value) = part.reverted() {
                kept.insert(name.clone(), value);
            }
        }
        let is_left_over = kept.is_empty() && self.before.is_none();
        (!is_left_over).then_some(Value::Object(kept))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edit_goes_with_everything_that_came_with_it() {
        let before = json!({"replicas": 1, "update": {"surge": 1}});
        let after = json!({"replicas": 1, "update": {"surge": 1, "policy": "InPlace", "inPlace": {}}});

        assert_eq!(without(&before, &after, &after, &[]), before);
    }

    #[test]
    fn what_others_did_since_stays() {
        let before = json!({"replicas": 1, "update": {"policy": "A"}});
        let after = json!({"replicas": 3, "update": {"policy": "B", "added": {}}, "scale": {"max": 1}});
        let now = json!({"replicas": 5, "update": {"policy": "B", "added": {}, "partition": 2}, "scale": {"max": 1}});
        let patches = [json!({"update": {"partition": 2}}), json!({"replicas": 5})];

        let reverted = without(&before, &after, &now, &patches.each_ref());

        assert_eq!(reverted, json!({"replicas": 5, "update": {"policy": "A", "partition": 2}}));
    }

    /// Somebody decides for the value that the edit has given it.
    #[test]
    fn decision_for_the_same_value_stays() {
        let (before, after) = (json!({"replicas": 1}), json!({"replicas": 3}));

        assert_eq!(without(&before, &after, &after, &[&json!({"replicas": 3})]), after);
    }

    /// Somebody else's edit made admission add defaults to what the edit had added.
    #[test]
    fn what_admission_has_made_of_an_edit_goes_too() {
        let (before, after) = (json!({"replicas": 1}), json!({"replicas": 1, "claims": [{"name": "a"}]}));
        let now = json!({"replicas": 2, "claims": [{"name": "a", "status": {}}]});

        assert_eq!(without(&before, &after, &now, &[&json!({"replicas": 2})]), json!({"replicas": 2}));
    }

    #[test]
    fn field_that_the_edit_removed_comes_back() {
        let before = json!({"update": {"partition": 1, "surge": 1}});
        let (after, now) = (json!({"update": {"surge": 1}}), json!({"update": {"surge": 2}}));

        assert_eq!(without(&before, &after, &now, &[]), json!({"update": {"surge": 2, "partition": 1}}));
    }
}
