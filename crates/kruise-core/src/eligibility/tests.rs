use serde_json::{Value, json};

use super::*;
use crate::cluster::node::Node;

fn node(more: &Value) -> Node {
    let mut object = json!({
        "metadata": {"name": "n1", "uid": "u", "resourceVersion": "1", "labels": {"zone": "a", "cores": "8"}},
        "spec": {},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}},
    });
    json_merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

fn json_merge(to: &mut Value, more: &Value) {
    match (to, more) {
        (Value::Object(to), Value::Object(more)) => {
            for (key, value) in more {
                json_merge(to.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (to, more) => *to = more.clone(),
    }
}

fn fits(spec: &Value, node: &Node) -> Result<(), Unfit> {
    Needs::of(&json!({"spec": spec})).fits(node)
}

fn required(terms: &Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

/// BJ-4 (1), (2): by name, selector and required affinity.
#[test]
fn bj_4_pod_needs_a_node_that_its_template_selects() {
    let there = node(&json!({}));
    let expression = |key: &str, operator: &str, values: Value| {
        required(&json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]))
    };
    for (spec, is_fit) in [
        (json!({}), true),
        (json!({"nodeName": "n1"}), true),
        (json!({"nodeSelector": {"zone": "a"}}), true),
        (json!({"nodeSelector": {"zone": "b"}}), false),
        (required(&json!([])), false),
        (required(&json!([{}])), false),
        (
            required(
                &json!([{}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]),
            ),
            true,
        ),
        (
            required(
                &json!([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}]),
            ),
            false,
        ),
        (expression("zone", "In", json!(["a", "b"])), true),
        (expression("zone", "NotIn", json!(["a"])), false),
        (expression("rack", "NotIn", json!(["a"])), true),
        (expression("rack", "Exists", json!([])), false),
        (expression("rack", "DoesNotExist", json!([])), true),
        (expression("cores", "Gt", json!(["7"])), true),
        (expression("cores", "Lt", json!(["8"])), false),
        (expression("zone", "Gt", json!(["1"])), false),
        (expression("zone", "Near", json!(["a"])), false),
    ] {
        let wanted = if is_fit { Ok(()) } else { Err(Unfit::Labels) };
        assert_eq!(fits(&spec, &there), wanted, "{spec}");
    }
    assert_eq!(fits(&json!({"nodeName": "n2"}), &there), Err(Unfit::OtherNode));
}

/// BJ-4 (3), (4): taints and cordons, unless they are tolerated.
#[test]
fn bj_4_pod_needs_to_tolerate_taints() {
    let taint = |effect: &str| json!({"key": "dedicated", "value": "db", "effect": effect});
    let tainted = |effect: &str| node(&json!({"spec": {"taints": [taint(effect)]}}));
    let tolerating = |toleration: Value| json!({"tolerations": [toleration]});
    for (effect, toleration, is_fit) in [
        ("NoSchedule", json!({"key": "other", "operator": "Exists"}), false),
        ("PreferNoSchedule", json!({"key": "other", "operator": "Exists"}), true),
        ("Newer", json!({"key": "other", "operator": "Exists"}), true),
        ("NoExecute", json!({"key": "dedicated", "operator": "Equal", "value": "db"}), true),
        ("NoExecute", json!({"key": "dedicated", "value": "web"}), false),
        ("NoExecute", json!({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}), false),
        ("NoSchedule", json!({"operator": "Exists"}), true),
    ] {
        let fit = fits(&tolerating(toleration.clone()), &tainted(effect));
        assert_eq!(fit.is_ok(), is_fit, "{effect} {toleration} {fit:?}");
    }
    let unfit = fits(&json!({}), &tainted("NoExecute")).unwrap_err();
    assert_eq!(unfit.to_string(), "taint dedicated=db:NoExecute is not tolerated");

    let cordoned = node(&json!({"spec": {"unschedulable": true}}));
    assert_eq!(fits(&json!({}), &cordoned), Err(Unfit::Unschedulable));
    let key = "node.kubernetes.io/unschedulable";
    assert!(fits(&tolerating(json!({"key": key, "operator": "Exists"})), &cordoned).is_ok());
}

/// BJ-4 (5): what the pod requests against what the node has, whatever runs there.
#[test]
fn bj_4_pod_needs_room() {
    let there = node(&json!({}));
    let cpu = |amount: &str| json!({"resources": {"requests": {"cpu": amount}}});
    let sidecar = json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}});
    for (spec, unfit) in [
        (json!({"containers": [cpu("1"), cpu("1")]}), None),
        (json!({"containers": [cpu("1"), cpu("1001m")]}), Some("cpu")),
        (json!({"containers": [cpu("1")], "initContainers": [cpu("2"), cpu("2")]}), None),
        (json!({"containers": [cpu("1")], "initContainers": [cpu("2500m")]}), Some("cpu")),
        (json!({"containers": [cpu("1600m")], "initContainers": [sidecar]}), Some("cpu")),
        (json!({"containers": [cpu("1")], "initContainers": [sidecar, cpu("1600m")]}), Some("cpu")),
        (json!({"containers": [cpu("1")], "initContainers": [cpu("1600m"), sidecar]}), None),
        (json!({"containers": [cpu("2")], "overhead": {"cpu": "1m"}}), Some("cpu")),
        (
            json!({"containers": [{"resources": {"requests": {"example.com/gpu": 1}}}]}),
            Some("example.com/gpu"),
        ),
        (json!({"containers": [{"resources": {"requests": {"example.com/gpu": "0"}}}]}), None),
    ] {
        let wanted = unfit.map_or(Ok(()), |name| Err(Unfit::Resource(name.to_owned())));
        assert_eq!(fits(&spec, &there), wanted, "{spec}");
    }
    let full = node(&json!({"status": {"allocatable": {"pods": "0"}}}));
    assert_eq!(fits(&json!({}), &full), Err(Unfit::Pods));
}

#[test]
fn heartbeats_do_not_change_what_a_node_takes() {
    let there = node(&json!({}));
    assert!(there.takes_the_same_pods_as(&node(
        &json!({"metadata": {"resourceVersion": "2"}, "status": {"conditions": []}})
    )));
    for change in [
        json!({"metadata": {"labels": {"zone": "b"}}}),
        json!({"spec": {"unschedulable": true}}),
        json!({"status": {"allocatable": {"cpu": "1"}}}),
    ] {
        assert!(!there.takes_the_same_pods_as(&node(&change)), "{change}");
    }
}
