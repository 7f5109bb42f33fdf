//! What is done to a pod that is created: one step after the other, in the order of PW-1. A step that has nothing to do
//! leaves the pod as it is.

use kruise_api::{conditions, names};
use serde_json::{Value, json};

use crate::gates::{Gate, Gates};

/// A step of another kind: it gets the pod with what earlier steps did to it.
pub type Step<'a> = &'a dyn Fn(&mut Value);

/// The steps that look things up; the manager hands them in, so that this file needs no cache.
#[derive(Clone, Copy, Default)]
pub struct Steps<'a> {
    /// Places a pod where it was before (PersistentPodState, PP-17 … PP-25).
    pub place: Option<Step<'a>>,
}

/// The pod as it should be stored.
pub fn admit(pod: &Value, gates: &Gates, steps: Steps<'_>) -> Value {
    let mut admitted = pod.clone();
    if is_ours(pod) || gates.on(Gate::PodReadinessGate) {
        add_readiness_gate(&mut admitted);
    }
    if let Some(place) = steps.place {
        place(&mut admitted);
    }
    admitted
}

/// PW-2: its controller is of our group, in any version.
fn is_ours(pod: &Value) -> bool {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let group = |owner: &Value| {
        let version = owner.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        version.split_once('/').is_some_and(|(group, _)| group == names::APPS_GROUP)
    };
    let mut controllers = owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    controllers.any(group)
}

fn add_readiness_gate(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let gates = spec.entry("readinessGates").or_insert_with(|| json!([]));
    if gates.is_null() {
        *gates = json!([]);
    }
    let Some(list) = gates.as_array_mut() else { return };
    let kind = |gate: &Value| {
        gate.get("conditionType").and_then(Value::as_str) == Some(conditions::KRUISE_POD_READY)
    };
    if !list.iter().any(kind) {
        list.push(json!({"conditionType": conditions::KRUISE_POD_READY}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(api_version: &str) -> Value {
        json!({
            "metadata": {"name": "a", "ownerReferences": [{"apiVersion": api_version, "controller": true}]},
            "spec": {"containers": []},
        })
    }

    #[test]
    fn pw_2_readiness_gate_is_added_once_to_pods_of_our_group() {
        for version in ["apps.kruise.io/v1beta1", "apps.kruise.io/v9"] {
            let first = admit(&pod(version), &Gates::default(), Steps::default());
            assert_eq!(first["spec"]["readinessGates"], json!([{"conditionType": "KruisePodReady"}]));
            assert_eq!(admit(&first, &Gates::default(), Steps::default()), first);
        }
        let null =
            json!({"metadata": pod("apps.kruise.io/v1")["metadata"], "spec": {"readinessGates": null}});
        let filled = admit(&null, &Gates::default(), Steps::default());
        assert_eq!(filled["spec"]["readinessGates"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn pw_2_other_pods_get_it_only_by_the_gate() {
        let other = pod("apps/v1");
        assert_eq!(admit(&other, &Gates::default(), Steps::default()), other);
        let gates = Gates::default().with(Gate::PodReadinessGate);
        assert_eq!(
            admit(&other, &gates, Steps::default())["spec"]["readinessGates"].as_array().unwrap().len(),
            1
        );
        let naked = json!({"metadata": {"name": "a"}, "spec": {}});
        assert_eq!(admit(&naked, &Gates::default(), Steps::default()), naked, "plain allow without a patch");
    }

    #[test]
    fn pw_1_placing_sees_what_earlier_steps_did() {
        let place: Step<'_> = &|pod| {
            let seen = pod["spec"]["readinessGates"].as_array().map_or(0, Vec::len);
            pod["spec"]["seen"] = json!(seen);
        };
        let steps = Steps { place: Some(place) };
        assert_eq!(admit(&pod("apps.kruise.io/v1beta1"), &Gates::default(), steps)["spec"]["seen"], 1);
    }
}
