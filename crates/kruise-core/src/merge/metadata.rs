//! A strategic merge patch from one template's metadata to another's, applied to a pod (SM-23). Keys that others put on
//! the pod survive.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::pod::{Edit, string_map};

/// Changed labels, annotations and finalizers; `None` removes a key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetadataPatch {
    pub labels: BTreeMap<String, Option<String>>,
    pub annotations: BTreeMap<String, Option<String>>,
    pub finalizers_added: Vec<String>,
    pub finalizers_removed: Vec<String>,
}

impl MetadataPatch {
    /// The difference between two templates' metadata.
    pub fn between(old: &Value, new: &Value) -> Self {
        let map = |template: &Value, name: &str| string_map(template.pointer(&format!("/metadata/{name}")));
        let (had, has) =
            (texts(old.pointer("/metadata/finalizers")), texts(new.pointer("/metadata/finalizers")));
        Self {
            labels: changed(&map(old, "labels"), &map(new, "labels")),
            annotations: changed(&map(old, "annotations"), &map(new, "annotations")),
            finalizers_added: has.iter().filter(|one| !had.contains(one)).cloned().collect(),
            finalizers_removed: had.into_iter().filter(|one| !has.contains(one)).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This patch followed by another.
    #[must_use]
    pub fn then(mut self, later: &Self) -> Self {
        self.labels.extend(later.labels.clone());
        self.annotations.extend(later.annotations.clone());
        self.finalizers_added.retain(|one| !later.finalizers_removed.contains(one));
        self.finalizers_removed.retain(|one| !later.finalizers_added.contains(one));
        self.finalizers_added.extend(later.finalizers_added.iter().cloned());
        self.finalizers_removed.extend(later.finalizers_removed.iter().cloned());
        self
    }

    pub fn apply(&self, edit: &mut Edit<'_>) {
        for (key, value) in &self.labels {
            match value {
                Some(value) => edit.label(key, value),
                None => edit.drop_label(key),
            }
        }
        for (key, value) in &self.annotations {
            match value {
                Some(value) => edit.annotation(key, value),
                None => edit.drop_annotation(key),
            }
        }
        for finalizer in &self.finalizers_added {
            edit.finalizer(finalizer);
        }
        for finalizer in &self.finalizers_removed {
            edit.drop_finalizer(finalizer);
        }
    }

    /// As a strategic merge patch on a pod, which is what the grace annotation stores.
    pub fn strategic(&self) -> Value {
        let mut metadata = Map::new();
        for (name, entries) in [("annotations", &self.annotations), ("labels", &self.labels)] {
            if !entries.is_empty() {
                metadata.insert(name.to_owned(), json!(entries));
            }
        }
        if !self.finalizers_added.is_empty() {
            metadata.insert("finalizers".to_owned(), json!(self.finalizers_added));
        }
        if !self.finalizers_removed.is_empty() {
            metadata.insert("$deleteFromPrimitiveList/finalizers".to_owned(), json!(self.finalizers_removed));
        }
        json!({"metadata": metadata})
    }

    /// Reads what `strategic` or the original wrote.
    pub fn read(patch: &Value) -> Self {
        let metadata = patch.get("metadata").unwrap_or(&Value::Null);
        let map = |name: &str| {
            let entries = metadata.get(name).and_then(Value::as_object).into_iter().flatten();
            entries.map(|(key, value)| (key.clone(), value.as_str().map(str::to_owned))).collect()
        };
        Self {
            labels: map("labels"),
            annotations: map("annotations"),
            finalizers_added: texts(metadata.get("finalizers")),
            finalizers_removed: texts(metadata.get("$deleteFromPrimitiveList/finalizers")),
        }
    }
}

fn changed(
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), None));
    let set = new
        .iter()
        .filter(|(key, value)| old.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), Some(value.clone())));
    gone.chain(set).collect()
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_23_dropped_keys_are_removed_and_the_patch_survives_its_wire_form() {
        let old = json!({"metadata": {"labels": {"a": "1", "b": "1"}, "finalizers": ["f"]}});
        let new = json!({"metadata": {"labels": {"a": "2"}, "annotations": {"c": "3"}, "finalizers": ["g"]}});

        let patch = MetadataPatch::between(&old, &new);

        assert_eq!(
            patch.strategic(),
            json!({"metadata": {"annotations": {"c": "3"}, "labels": {"a": "2", "b": null}, "finalizers": ["g"],
                "$deleteFromPrimitiveList/finalizers": ["f"]}})
        );
        assert_eq!(MetadataPatch::read(&patch.strategic()), patch);
    }

    #[test]
    fn sm_23_two_patches_in_a_row_are_one() {
        let first = MetadataPatch::between(
            &json!({}),
            &json!({"metadata": {"labels": {"a": "1", "b": "1"}, "finalizers": ["f"]}}),
        );
        let second = MetadataPatch::between(
            &json!({"metadata": {"labels": {"a": "1", "b": "1"}, "finalizers": ["f"]}}),
            &json!({"metadata": {"labels": {"a": "2"}}}),
        );

        let both = first.then(&second);

        assert_eq!(
            both.labels,
            BTreeMap::from([("a".to_owned(), Some("2".to_owned())), ("b".to_owned(), None)])
        );
        assert!(both.finalizers_added.is_empty());
    }
}
