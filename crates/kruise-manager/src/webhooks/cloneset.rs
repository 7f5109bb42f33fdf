//! Admission of CloneSets (CS-100 … CS-106).

use kruise_api::parts::PodUpdatePolicy;
use kruise_core::admission::Faults;
use kruise_core::cloneset::admission::{self, Named};
use kruise_core::gates::Gates;
use kruise_core::revision::Unreadable;
use kruise_runtime::webhook::Request;
use serde_json::{Value, json};

use super::workload::{Case, Rules, Version};

pub struct CloneSet;

impl Rules for CloneSet {
    const KIND: &'static str = "CloneSet";
    type Facts = Named;

    fn complete_v1alpha1(object: &mut Value) {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
        for field in ["scaleStrategy", "updateStrategy"] {
            let place = spec.entry(field).or_insert(Value::Null);
            if place.is_null() {
                *place = json!({});
            }
        }
        let strategy = spec.get_mut("updateStrategy").and_then(Value::as_object_mut);
        if let Some(strategy) = strategy
            && strategy.get("type").is_none_or(|kind| kind.is_null() || kind == "")
        {
            strategy.insert("type".to_owned(), json!(PodUpdatePolicy::ReCreate));
        }
    }

    fn default(_: Version, spec: &mut Value, old: Option<&Value>, gates: &Gates) -> Result<(), Unreadable> {
        admission::default(spec, old, gates)
    }

    fn validate(case: &Case<'_, Named>) -> Faults {
        let mut faults = admission::validate(case.spec, case.old, case.facts);
        for fault in case.template {
            faults.add(fault.kind, fault.field.clone(), fault.message.clone());
        }
        faults
    }

    fn validate_v1alpha1(spec: &Value) -> Faults {
        admission::validate_v1alpha1(spec)
    }

    fn warn(case: &Case<'_, Named>) -> Vec<String> {
        admission::warn(case.name, case.spec, case.gates)
    }

    fn worded(version: Version, field: &str) -> String {
        match version {
            Version::V1alpha1 => field
                .replace("spec.updateStrategy.rollingUpdate.podUpdatePolicy", "spec.updateStrategy.type")
                .replace("spec.updateStrategy.rollingUpdate", "spec.updateStrategy"),
            Version::V1beta1 => field.to_owned(),
        }
    }
}

/// Names in podsToDelete that were not there before.
pub fn pods_to_look_up(request: &Request) -> Vec<String> {
    let names = |object: &Value| -> Vec<String> {
        let list = object.pointer("/spec/scaleStrategy/podsToDelete").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let before = names(&request.old);
    names(&request.object).into_iter().filter(|name| !before.contains(name)).collect()
}
