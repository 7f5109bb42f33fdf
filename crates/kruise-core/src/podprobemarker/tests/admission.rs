use super::*;
use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::golden;
use crate::podprobemarker::admission::{admit, validate};

fn spec() -> Value {
    marker("m", &[probe("idle")])["spec"].clone()
}

fn fields(spec: &Value, old: Option<&Value>) -> Vec<String> {
    validate(spec, old).iter().map(|fault| fault.field.replace("spec.probes[0].", "")).collect()
}

fn with(path: &str, value: Value) -> Value {
    let mut spec = spec();
    let (parent, key) = path.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap()[key] = value;
    spec
}

/// Section 6: each rule names its field.
#[test]
fn podprobemarker_section_6_each_rule_names_its_field() {
    assert!(fields(&spec(), None).is_empty());
    let policy = |state: &str, labels: Value, annotations: Value| json!([{"state": state, "labels": labels, "annotations": annotations}]);
    for (path, value, at) in [
        ("/selector", json!({}), "spec.selector"),
        ("/selector", Value::Null, "spec.selector"),
        ("/selector", json!({"matchExpressions": [{"key": "a", "operator": "In"}]}), "spec.selector"),
        ("/probes", json!([]), "spec.probes"),
        ("/probes/0/name", json!(""), "name"),
        ("/probes/0/name", json!("a#b"), "name"),
        ("/probes/0/name", json!("Ready"), "name"),
        ("/probes/0/name", json!("InPlaceUpdateReady"), "name"),
        ("/probes/0/containerName", json!(""), "containerName"),
        ("/probes/0/podConditionType", json!(""), "spec.probes[0]"),
        ("/probes/0/podConditionType", json!("a b"), "podConditionType"),
        ("/probes/0/markerPolicy", policy("True", json!({"a": "b"}), Value::Null), "markerPolicy[0].state"),
        ("/probes/0/markerPolicy", policy("Succeeded", json!({}), Value::Null), "markerPolicy[0]"),
        (
            "/probes/0/markerPolicy",
            policy("Failed", json!({"a": "b c"}), Value::Null),
            "markerPolicy[0].labels",
        ),
        (
            "/probes/0/markerPolicy",
            policy("Failed", json!({"-a": "b"}), Value::Null),
            "markerPolicy[0].labels",
        ),
        (
            "/probes/0/markerPolicy",
            policy("Failed", Value::Null, json!({"a b": "c"})),
            "markerPolicy[0].annotations",
        ),
    ] {
        assert_eq!(fields(&with(path, value.clone()), None), [at], "{path} {value}");
    }
    let twice = policy("Failed", json!({"a": "b"}), Value::Null)[0].clone();
    assert_eq!(
        fields(&with("/probes/0/markerPolicy", json!([twice, twice])), None),
        ["markerPolicy[1].state"]
    );
    let both = fields(&with("/probes", json!([probe("idle"), probe("idle")])), None);
    assert_eq!(both, ["spec.probes[1].name", "spec.probes[1].podConditionType"], "all faults are told");
}

/// 5 and scenario 16: conditions of others cannot be written, whatever the probe is called.
#[test]
fn podprobemarker_5_scenario_16_conditions_of_kubernetes_and_kruise_are_refused() {
    for kind in
        ["Ready", "ContainersReady", "PodScheduled", "Initialized", "KruisePodReady", "InPlaceUpdateReady"]
    {
        assert_eq!(fields(&with("/probes/0/podConditionType", json!(kind)), None), ["podConditionType"]);
    }
}

#[test]
fn podprobemarker_section_6_handlers_are_complete() {
    for (probe, at) in [
        (json!({}), "probe"),
        (json!({"exec": {"command": []}}), "probe.exec.command"),
        (json!({"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}), "probe.tcpSocket"),
        (json!({"exec": {"command": ["a"]}, "grpc": {"port": 1}}), "probe.grpc"),
        (json!({"tcpSocket": {"port": 0}}), "probe.tcpSocket.port"),
        (json!({"tcpSocket": {"port": 65_536}}), "probe.tcpSocket.port"),
        (json!({"tcpSocket": {"port": "Not a name"}}), "probe.tcpSocket.port"),
        (json!({"tcpSocket": {"port": 1, "host": "h"}}), "probe.tcpSocket.host"),
        (json!({"httpGet": {"port": 1, "path": "/", "scheme": "HTTP", "host": "h"}}), "probe.httpGet.host"),
        (json!({"httpGet": {"port": 1, "scheme": "HTTP"}}), "probe.httpGet.path"),
        (json!({"httpGet": {"port": 1, "path": "/%zz", "scheme": "HTTP"}}), "probe.httpGet.path"),
        (json!({"httpGet": {"port": 1, "path": "/"}}), "probe.httpGet.scheme"),
        (json!({"httpGet": {"port": 1, "path": "/", "scheme": "http"}}), "probe.httpGet.scheme"),
        (
            json!({"httpGet": {"port": 1, "path": "/", "scheme": "HTTP", "httpHeaders": [{"name": "a b", "value": ""}]}}),
            "probe.httpGet.httpHeaders[0].name",
        ),
        (json!({"exec": {"command": ["a"]}, "periodSeconds": -1}), "probe.periodSeconds"),
        (json!({"exec": {"command": ["a"]}, "failureThreshold": -1}), "probe.failureThreshold"),
    ] {
        assert_eq!(fields(&with("/probes/0/probe", probe.clone()), None), [at], "{probe}");
    }
    for probe in [
        json!({"tcpSocket": {"port": "http"}}),
        json!({"tcpSocket": {"port": "80"}}),
        json!({"httpGet": {"port": 80, "path": "/a%20b?c=d", "scheme": "HTTPS", "httpHeaders": [{"name": "X-A", "value": "b"}]}}),
    ] {
        assert!(fields(&with("/probes/0/probe", probe.clone()), None).is_empty(), "{probe}");
    }
}

#[test]
fn podprobemarker_section_6_selector_is_immutable_and_stored_faults_do_not_block() {
    let other = with("/selector", json!({"matchLabels": {"app": "db"}}));
    let faults = validate(&other, Some(&spec()));
    assert!(faults.to_string().contains("selector must be immutable"), "{faults}");
    let bad = with("/probes/0/podConditionType", json!("Ready"));
    assert!(fields(&bad, Some(&bad)).is_empty(), "a stored marker can be finalized");
    assert_eq!(fields(&bad, Some(&spec())), ["podConditionType"]);
}

fn code(gates: Gates, object: Value) -> u16 {
    let known = Surroundings { gates, ..Surroundings::default() };
    admit(Request::create(object), &known.known()).code()
}

fn object(mut marker: Value) -> Value {
    marker["apiVersion"] = json!("apps.kruise.io/v1alpha1");
    marker["kind"] = json!("PodProbeMarker");
    marker
}

/// 403 without either gate, but a marker that is going can lose its finalizer.
#[test]
fn podprobemarker_section_6_is_forbidden_without_its_gate() {
    let good = object(marker("m", &[probe("idle")]));
    assert_eq!(code(Gates::default(), good.clone()), 200);
    assert_eq!(code(Gates::default().without(Gate::PodProbeMarker), good.clone()), 403);
    assert_eq!(code(Gates::default().without(Gate::KruiseDaemon), good.clone()), 403);
    assert_eq!(code(Gates::default().without(Gate::PodProbeMarker), deleted(good)), 200);
}

/// The recorded answers of the original.
#[test]
fn podprobemarker_section_6_recorded_objects_get_the_recorded_answer() {
    let all = golden::folder("objects");
    let recorded: Vec<_> = all.iter().filter(|(file, _)| file.starts_with("podprobemarker-")).collect();
    assert_eq!(recorded.len(), 2);
    for (file, one) in recorded {
        let wanted = if one["refused"].is_string() { 400 } else { 200 };
        assert_eq!(code(Gates::default(), one["input"].clone()), wanted, "{file}");
    }
}
