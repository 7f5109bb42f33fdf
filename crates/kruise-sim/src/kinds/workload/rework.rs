//! Edits by lot of what the schema does not describe or only the planners understand: pod and claim templates, ordinals.

use serde_json::{Map, Value, json};

use super::{VERSION_LABEL, Workload};
use crate::rng::Rng;
use crate::world::scenario::{BAD_IMAGE, merge};

/// One edit: what it is called in statistics, and which field of the spec becomes what.
#[derive(Debug, Clone, PartialEq)]
pub struct Rework {
    pub name: &'static str,
    path: &'static str,
    value: Value,
}

const IMAGE: &str = "/template/spec/containers/0/image";
const ENVIRONMENT: &str = "/template/spec/containers/0/env";
const RESOURCES: &str = "/template/spec/containers/0/resources";
const CLAIMS: &str = "/volumeClaimTemplates";

/// What some user changes in a workload of this kind; one in four is wrong.
pub fn drawn(workload: &Workload, spec: &Value, rng: &mut Rng) -> Rework {
    let mut all = if rng.one_in(4) { bad() } else { good(spec) };
    let [own, own_bad] = (workload.edits)();
    if !own.is_empty() && rng.one_in(2) {
        all = if rng.one_in(4) { own_bad } else { own };
    }
    let index = rng.index(all.len());
    all.swap_remove(index)
}

fn good(spec: &Value) -> Vec<Rework> {
    let edit = Rework::new;
    let mut all = vec![
        edit("edit-image", IMAGE, json!("nginx:2")),
        edit("edit-image", IMAGE, json!("nginx:3")),
        edit("edit-environment", ENVIRONMENT, json!([{"name": "V", "value": "edited"}])),
        edit("edit-label", "/template/metadata/labels", labels(spec, VERSION_LABEL, "edited")),
        edit("edit-resources", RESOURCES, json!({"requests": {"cpu": "100m"}})),
    ];
    if spec.pointer("/volumeClaimTemplates/0").is_some() {
        all.push(edit("edit-claims", "/volumeClaimTemplates/0/metadata/name", json!("other")));
        let storage = "/volumeClaimTemplates/0/spec/resources/requests/storage";
        all.extend(["2Gi", "500Mi"].map(|amount| edit("edit-claims", storage, json!(amount))));
    } else {
        all.push(edit("edit-claims", CLAIMS, json!([claim("extra")])));
    }
    all
}

/// An image that no node has is taken, and the rest is for admission to refuse.
fn bad() -> Vec<Rework> {
    let edit = Rework::new;
    vec![
        edit("edit-bad-image", IMAGE, json!(BAD_IMAGE)),
        edit("edit-bad-image", IMAGE, json!(BAD_IMAGE)),
        edit("edit-wrong", "/template/spec/restartPolicy", json!("Never")),
        edit("edit-wrong", "/template/metadata/labels", json!({"app": "another"})),
        edit("edit-wrong", "/template/spec/activeDeadlineSeconds", json!(5)),
    ]
}

fn labels(spec: &Value, name: &str, value: &str) -> Value {
    let mut labels = spec.pointer("/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    merge(&mut labels, &json!({name: value}));
    labels
}

fn claim(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    })
}

impl Rework {
    pub fn new(name: &'static str, path: &'static str, value: Value) -> Self {
        Self { name, path, value }
    }

    /// The spec after it.
    pub fn applied_to(&self, spec: &Value) -> Value {
        let mut changed = spec.clone();
        if let Some(place) = changed.pointer_mut(self.path) {
            *place = self.value.clone();
        } else if let Some((parent, name)) = self.path.rsplit_once('/')
            && let Some(Value::Object(map)) = changed.pointer_mut(parent)
        {
            let map: &mut Map<String, Value> = map;
            map.insert(name.to_owned(), self.value.clone());
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every edit of the lists changes something of every workload that it is drawn for.
    #[test]
    fn every_edit_changes_its_field_and_nothing_else() {
        let spec = json!({"template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "nginx:1", "env": [{"name": "V", "value": "1"}]}]},
        }});
        let mut names = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let rework = drawn(&crate::kinds::statefulset::WORKLOAD, &spec, &mut Rng::new(seed));
            let changed = rework.applied_to(&spec);

            assert_eq!(changed.pointer(rework.path), Some(&rework.value), "{rework:?}");
            let mut back = changed;
            put_back(&mut back, &spec, rework.path);
            assert_eq!(back, spec, "{rework:?}");
            names.insert(rework.name);
        }
        assert_eq!(names.len(), 9, "{names:?}");
    }

    fn put_back(changed: &mut Value, spec: &Value, path: &str) {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let map = changed.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match spec.pointer(path) {
            Some(value) => _ = map.insert(name.to_owned(), value.clone()),
            None => _ = map.shift_remove(name),
        }
    }
}
