//! What is done to a pod that is created: one step after the other, in the order of PW-1. A step that has nothing to do
//! leaves the pod as it is.

use kruise_api::{conditions, names};
use serde_json::{Value, json};

use crate::gates::{Gate, Gates};
use crate::launch::{self, Refusal};

/// A step of another kind: it gets the pod with what earlier steps did to it.
pub type Step<'a> = &'a dyn Fn(&mut Value);

/// What steps need from outside; the manager hands it in, so that this file needs no cache and no randomness.
#[derive(Clone, Copy)]
pub struct Steps<'a> {
    /// The end of a name for a pod that has none yet (SM-96).
    pub suffix: &'a dyn Fn() -> String,
    /// Places a pod where it was before (PersistentPodState, PP-17 … PP-25).
    pub place: Option<Step<'a>>,
}

/// The pod as it should be stored.
pub fn admit(pod: &Value, gates: &Gates, steps: Steps<'_>) -> Result<Value, Refusal> {
    let mut admitted = pod.clone();
    if is_ours(pod) || gates.on(Gate::PodReadinessGate) {
        add_readiness_gate(&mut admitted);
    }
    // After whatever adds containers: they take part (SM-95).
    launch::admit(&mut admitted, steps.suffix)?;
    if let Some(place) = steps.place {
        place(&mut admitted);
    }
    Ok(admitted)
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

    const STEPS: Steps<'_> = Steps { suffix: &|| String::from("abcde"), place: None };

    fn admitted(pod: &Value, gates: &Gates) -> Value {
        admit(pod, gates, STEPS).unwrap()
    }

    fn pod(api_version: &str) -> Value {
        json!({
            "metadata": {"name": "a", "ownerReferences": [{"apiVersion": api_version, "controller": true}]},
            "spec": {"containers": []},
        })
    }

    #[test]
    fn pw_2_readiness_gate_is_added_once_to_pods_of_our_group() {
        for version in ["apps.kruise.io/v1beta1", "apps.kruise.io/v9"] {
            let first = admitted(&pod(version), &Gates::default());
            assert_eq!(first["spec"]["readinessGates"], json!([{"conditionType": "KruisePodReady"}]));
            assert_eq!(admitted(&first, &Gates::default()), first);
        }
        let null =
            json!({"metadata": pod("apps.kruise.io/v1")["metadata"], "spec": {"readinessGates": null}});
        let filled = admitted(&null, &Gates::default());
        assert_eq!(filled["spec"]["readinessGates"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn pw_2_other_pods_get_it_only_by_the_gate() {
        let other = pod("apps/v1");
        assert_eq!(admitted(&other, &Gates::default()), other);
        let gates = Gates::default().with(Gate::PodReadinessGate);
        assert_eq!(admitted(&other, &gates)["spec"]["readinessGates"].as_array().unwrap().len(), 1);
        let naked = json!({"metadata": {"name": "a"}, "spec": {}});
        assert_eq!(admitted(&naked, &Gates::default()), naked, "plain allow without a patch");
    }

    #[test]
    fn pw_1_placing_sees_what_earlier_steps_did() {
        let place: Step<'_> = &|pod| {
            let seen = pod["spec"]["readinessGates"].as_array().map_or(0, Vec::len);
            pod["spec"]["seen"] = json!(seen);
        };
        let steps = Steps { place: Some(place), ..STEPS };
        let placed = admit(&pod("apps.kruise.io/v1beta1"), &Gates::default(), steps).unwrap();
        assert_eq!(placed["spec"]["seen"], 1);
    }

    /// SM-95, SM-96: one pod of any owner, or of none.
    #[test]
    fn pw_1_sm_95_priorities_become_barriers_and_a_wrong_one_is_refused() {
        let with = |priority: &str| {
            let first =
                json!({"name": "a", "env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": priority}]});
            json!({"metadata": {"generateName": "web-"}, "spec": {"containers": [first, {"name": "b"}]}})
        };

        let pod = admitted(&with("1"), &Gates::default());

        assert_eq!(pod["metadata"]["name"], "web-abcde");
        let keys = [0, 1].map(|at| {
            let env = pod["spec"]["containers"][at]["env"].as_array().unwrap().last().unwrap().clone();
            env["valueFrom"]["configMapKeyRef"]["key"].as_str().unwrap().to_owned()
        });
        assert_eq!(keys, ["p_1", "p_0"]);
        assert!(admit(&with("first"), &Gates::default(), STEPS).is_err());
    }
}
