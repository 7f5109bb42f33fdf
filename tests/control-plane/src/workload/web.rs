//! The workloads that most tests are about.

use serde_json::{Value, json};

/// A v1beta1 object to be created; what a test does not say has the usual value.
#[derive(Debug, Clone)]
pub struct Web(pub Value);

/// A CloneSet `web` with one container `main` of image `nginx:1.25`, updated in place if possible.
pub fn cloneset(replicas: u32) -> Web {
    of_kind("CloneSet", replicas)
}

/// The same as a StatefulSet whose pods come and go in order.
pub fn statefulset(replicas: u32) -> Web {
    let gate = json!([{"conditionType": "InPlaceUpdateReady"}]);
    of_kind("StatefulSet", replicas)
        .spec(json!({"serviceName": "web", "template": {"spec": {"readinessGates": gate}}}))
}

fn of_kind(kind: &str, replicas: u32) -> Web {
    Web(json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": kind,
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{"name": "main", "image": "nginx:1.25"}],
                    "terminationGracePeriodSeconds": 1,
                },
            },
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible", "inPlaceUpdateStrategy": {}},
            },
        },
    }))
}

/// A change of the only container's image, for [`super::Live::change`].
pub fn image(image: &str) -> Value {
    containers(&json!([{"name": "main", "image": image}]))
}

/// A change of all containers.
pub fn containers(all: &Value) -> Value {
    json!({"template": {"spec": {"containers": all}}})
}

/// A change of rollout settings.
pub fn rolling(settings: &Value) -> Value {
    json!({"updateStrategy": {"rollingUpdate": settings}})
}

impl Web {
    /// Another name, also in labels and selector.
    pub fn named(mut self, name: &str) -> Self {
        self.0["metadata"]["name"] = json!(name);
        self.labelled(name)
    }

    /// Pods carry this `app` label and the selector asks for it.
    pub fn labelled(self, app: &str) -> Self {
        let labels = json!({"app": app});
        self.spec(json!({
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}},
        }))
    }

    /// Merges into `.spec`.
    pub fn spec(mut self, patch: Value) -> Self {
        merge(&mut self.0["spec"], patch);
        self
    }

    /// Merges into the settings of the rollout.
    pub fn rolling(self, settings: &Value) -> Self {
        self.spec(rolling(settings))
    }

    pub fn policy(self, policy: &str) -> Self {
        self.rolling(&json!({"podUpdatePolicy": policy}))
    }

    /// Pods are updated by whoever deletes them.
    pub fn on_delete(self) -> Self {
        self.spec(json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}))
    }

    /// All pods at once (StatefulSet).
    pub fn parallel(self) -> Self {
        self.spec(json!({"podManagementPolicy": "Parallel"}))
    }

    /// One claim per pod, named `data`, of this size.
    pub fn claims(self, size: &str) -> Self {
        self.spec(claims(size)).spec(containers(&json!([{
            "name": "main", "image": "nginx:1.25", "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }])))
    }
}

/// The claim templates of [`Web::claims`], as a change.
pub fn claims(size: &str) -> Value {
    json!({"volumeClaimTemplates": [{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }]})
}

/// A JSON merge patch.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().shift_remove(&key);
        } else {
            merge(&mut target[key], value);
        }
    }
}
