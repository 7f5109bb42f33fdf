//! A new pod, made from a template.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::cluster::claim;
use crate::ids::ClaimName;
use crate::workload::Workload;

/// A pod object in the making: what the template says, plus what the kind adds.
#[derive(Debug, Clone)]
pub struct Body {
    metadata: Value,
    spec: Map<String, Value>,
}

type Texts = BTreeMap<String, String>;

impl Body {
    /// Labels and annotations are complete: those of the template and of the kind.
    pub fn of(
        template: &Value,
        owner: &Workload<'_>,
        name: &str,
        (labels, annotations): (Texts, Texts),
    ) -> Self {
        let mut metadata = json!({
            "name": name, "generateName": format!("{}-", owner.name), "namespace": owner.namespace,
            "labels": labels, "annotations": annotations, "ownerReferences": [owner.owner_reference()],
        });
        if let (Some(finalizers), Some(object)) =
            (template.pointer("/metadata/finalizers"), metadata.as_object_mut())
        {
            object.insert("finalizers".to_owned(), finalizers.clone());
        }
        Self { metadata, spec: template.get("spec").and_then(Value::as_object).cloned().unwrap_or_default() }
    }

    /// Adds those that the template lacks, so that a pod does not depend on the webhook (SM-50).
    pub fn readiness_gates(&mut self, kinds: &[&str]) {
        let mut gates = self.list("readinessGates");
        for kind in kinds {
            if !gates.iter().any(|gate| gate.get("conditionType").and_then(Value::as_str) == Some(kind)) {
                gates.push(json!({"conditionType": kind}));
            }
        }
        self.spec.insert("readinessGates".to_owned(), Value::Array(gates));
    }

    /// Volumes of claims replace template volumes of the same name, in template order (CS-62, AS-20, cloneset/B14).
    pub fn claims(&mut self, templates: &[Value], claim_of: impl Fn(&str) -> ClaimName) {
        if templates.is_empty() {
            return;
        }
        let names: Vec<&str> = templates.iter().map(claim::template_name).collect();
        let of_claims = names.iter().map(
            |name| json!({"name": name, "persistentVolumeClaim": {"claimName": claim_of(name).as_str()}}),
        );
        let others = self.list("volumes").into_iter().filter(|volume| {
            !volume.get("name").and_then(Value::as_str).is_some_and(|name| names.contains(&name))
        });
        let all: Vec<Value> = of_claims.chain(others).collect();
        self.spec.insert("volumes".to_owned(), Value::Array(all));
    }

    /// A plain field of the pod's spec.
    pub fn set(&mut self, field: &str, value: &str) {
        self.spec.insert(field.to_owned(), Value::from(value));
    }

    pub fn wire(self) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": self.metadata, "spec": self.spec})
    }

    fn list(&self, field: &str) -> Vec<Value> {
        self.spec.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
    }
}
