use super::*;
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::admission::pod::{Entry, PodSteps};
use crate::admission::selection::{Concern, Namespaces};
use crate::podprobemarker::pod_step;

fn surroundings(gates: Gates, markers: &[Value]) -> Surroundings {
    let start = Surroundings { gates, ..Surroundings::default() };
    markers.iter().fold(start, Surroundings::with::<PodProbeMarker>)
}

fn on() -> Gates {
    Gates::default().with(Gate::EnablePodProbeMarkerOnServerless)
}

fn new_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n", "labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "main", "image": "i"}],
            "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}, {"name": "init"}],
        },
    })
}

/// The annotations that a pod is created with.
fn annotations(known: &Surroundings, pod: &Value) -> Value {
    let step = pod_step();
    let mut pod = pod.clone();
    let crate::admission::pod::Run::Mutate(run) = step.run else { panic!() };
    let request = Request { namespace: "n".to_owned(), ..Request::create(pod.clone()) };
    run(&mut pod, &request, &known.known()).unwrap();
    pod["metadata"]["annotations"].clone()
}

#[test]
fn sl_1_new_pod_is_told_its_probes_in_order_and_without_marks() {
    let in_container = |name: &str, container: &str| {
        let mut one = probe(name);
        one["containerName"] = json!(container);
        one
    };
    let mut silent = marking(probe("silent"), &[("Succeeded", json!({"a": "b"}), json!({}))]);
    silent.as_object_mut().unwrap().remove("podConditionType");
    let mut taken = probe("taken");
    taken["podConditionType"] = json!("example.com/idle");
    let mut same = in_container("idle", "main");
    same["podConditionType"] = json!("example.com/other");
    let marked = marking(probe("idle"), &[("Succeeded", json!({"a": "b"}), json!({}))]);
    let first = marker("b", &[marked, silent, in_container("early", "init"), in_container("gone", "gone")]);
    let second = marker("c", &[taken, same, in_container("side", "sidecar")]);
    let mut stranger = marker("a", &[probe("x")]);
    stranger["spec"]["selector"] = json!({"matchLabels": {"app": "db"}});
    let known = surroundings(on(), &[second, first, stranger, deleted(marker("d", &[probe("y")]))]);

    let told = annotations(&known, &new_pod());
    let wanted = concat!(
        r#"[{"name":"idle","containerName":"main","probe":{"exec":{"command":["true"]}},"podConditionType":"example.com/idle"},"#,
        r#"{"name":"side","containerName":"sidecar","probe":{"exec":{"command":["true"]}},"podConditionType":"example.com/side"}]"#,
    );
    assert_eq!(told["kruise.io/podprobe"], wanted);
    assert_eq!(told["kruise.io/podprobemarker-list"], "b,c");
}

#[test]
fn sl_1_podprobemarker_scenario_21_nothing_without_the_gate_or_a_probe() {
    let one = [marker("m", &[probe("idle")])];
    assert_eq!(annotations(&surroundings(Gates::default(), &one), &new_pod()), Value::Null);
    assert!(annotations(&surroundings(on(), &one), &new_pod()).is_object());
    let mut other = new_pod();
    other["metadata"]["labels"] = json!({"app": "db"});
    assert_eq!(annotations(&surroundings(on(), &one), &other), Value::Null);
    let mut elsewhere = marker("m", &[probe("idle")]);
    elsewhere["spec"]["probes"][0]["containerName"] = json!("gone");
    assert_eq!(annotations(&surroundings(on(), &[elsewhere]), &new_pod()), Value::Null);
}

/// The pod webhook is asked about the pods of markers, from the moment that one is let in, and only with the gate.
#[test]
fn sl_1_pods_of_markers_are_selected_only_with_the_gate() {
    let object = marker("m", &[probe("idle")]);
    let steps = PodSteps::new([pod_step()]);
    let asked = |gates: Gates| {
        let known = surroundings(gates, std::slice::from_ref(&object));
        let stored = steps.concerns(Entry::Mutating, known.lookup(), &known.gates);
        let mut whole = object.clone();
        whole["apiVersion"] = json!("apps.kruise.io/v1alpha1");
        whole["kind"] = json!("PodProbeMarker");
        let added = steps.adds(Entry::Mutating, &Request::create(whole), &known.gates);
        (stored, added)
    };
    let (stored, added) = asked(on());
    assert_eq!(stored, added);
    let concern = stored.first().unwrap();
    assert!(
        matches!(concern, Concern::Labelled { namespaces: Namespaces::Named(names), .. } if names.contains("n")),
        "{concern:?}"
    );
    let (stored_off, added_off) = asked(Gates::default());
    assert!(stored_off.is_empty() && added_off.is_empty());
}

/// Keys of the other result stay (22); what is so already is not written.
#[test]
fn sl_2_sl_3_conditions_of_a_provider_become_marks() {
    let policies = [
        ("Succeeded", json!({"idle": "yes"}), json!({"cost": "1"})),
        ("Failed", json!({"busy": "yes"}), Value::Null),
    ];
    let mut settled = marker("m", &[marking(probe("idle"), &policies)]);
    settled["status"]["matchedPods"] = json!(1);
    let here = |status: &str| {
        let on_virtual = pod("a").node("v1").label("busy", "old").condition(
            "example.com/idle",
            status,
            "2026-06-01T12:00:00Z",
        );
        world().nodes([virtual_node("v1")]).serverless().marker(settled.clone()).pods([on_virtual])
    };
    let written = |world: &World| bodies(&world.plan_marker());
    let good = here("True");
    let ops = written(&good);
    assert_eq!(ops.len(), 1);
    let text = ops[0].to_string();
    assert!(text.contains("/metadata/labels/idle") || text.contains(r#""idle":"yes""#), "{text}");
    assert!(text.contains("cost") && !text.contains("busy"), "{text}");
    let bad = written(&here("False"));
    assert!(bad[0].to_string().contains("busy") && !bad[0].to_string().contains("idle\":"), "{bad:?}");
    assert!(written(&here("Unknown")).is_empty());
    assert_eq!(reason(&here("Unknown").plan_marker(), "a"), "Serverless");
    let off = World { gates: Gates::default(), ..good };
    assert!(written(&off).is_empty(), "the gate is off");
}
