//! Advanced DaemonSet: one pod for each node that fits, never two of one revision, never more nodes without service than allowed.

use std::time::Duration;

use kruise_api::resource::{NODES, PODS};
use kruise_core::daemonset::DaemonSet;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, What, resources};
use crate::world::actors::HOOK;
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{BAD_IMAGE, FAILING_IMAGE, Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "daemonset",
    title: "DaemonSet",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Drawn,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const SET: Target = Target::new(DaemonSet::RESOURCE, "agent");
const HASH_LABEL: &str = "/metadata/labels/controller-revision-hash";
const ONLY_NODE: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
/// The taint of scenarios that drive pods off a node.
const TAINT: &str = "example.com/away";

fn scenarios() -> Vec<Scenario> {
    rollouts().into_iter().chain(with_nodes()).chain(with_failures()).collect()
}

fn scenario(name: &'static str, rolling: &Value) -> Scenario {
    let base = Scenario { subject: Some(SET), ..Scenario::new(&KIND, name) };
    base.with(SET, object(&json!({"updateStrategy": {"rollingUpdate": rolling}})))
}

fn in_place() -> Value {
    json!({"rollingUpdateType": "InPlaceIfPossible", "maxUnavailable": 1})
}

fn standard() -> Value {
    json!({"rollingUpdateType": "Standard", "maxUnavailable": 1})
}

/// One pod after the other, in every way.
fn rollouts() -> Vec<Scenario> {
    use Step::{Edit, Settle};
    let updated = || [Settle, Edit(image("nginx:2")), Settle];
    let rolled = |more: Value| [Edit(json!({"spec": {"updateStrategy": {"rollingUpdate": more}}})), Settle];
    let hook = json!({"spec": {
        "lifecycle": {"preDelete": {"labelsHandler": {HOOK: "true"}}},
        "template": {"metadata": {"labels": {HOOK: "true"}}},
    }});
    let mut hooked = object(&json!({"updateStrategy": {"rollingUpdate": standard()}}));
    merge(&mut hooked, &hook);
    let hooks = Scenario { subject: Some(SET), ..Scenario::new(&KIND, "hooks") }.with(SET, hooked);
    vec![
        scenario("create", &standard()).then([Settle]),
        scenario("recreate", &standard()).then(updated()),
        scenario("in-place", &in_place()).then(updated()),
        scenario("surge", &json!({"maxUnavailable": 0, "maxSurge": 1})).then(updated()),
        scenario("partition", &merged(in_place(), &json!({"partition": 2})))
            .then(updated())
            .then(rolled(json!({"partition": 0}))),
        scenario("paused", &merged(standard(), &json!({"paused": true})))
            .then(updated())
            .then(rolled(json!({"paused": false}))),
        hooks.then(updated()),
    ]
}

/// Nodes that come, go and change.
fn with_nodes() -> Vec<Scenario> {
    use Step::{Create, Delete, Edit, Patch, Settle};
    let node = |name| Target::new(NODES, name);
    let tainted = |taints: Value| Patch(node("node-b"), json!({"spec": {"taints": taints}}));
    let taint = |effect: &str| tainted(json!([{"key": TAINT, "effect": effect}]));
    let update = || [Edit(image("nginx:2")), Settle];
    let added = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-d"}});
    vec![
        scenario("new-node", &standard())
            .then([Settle, Create(node("node-d"), added), Settle])
            .then(update()),
        scenario("tainted", &standard()).then([
            Settle,
            taint("NoExecute"),
            Settle,
            tainted(json!([])),
            Settle,
        ]),
        scenario("kept", &standard()).then([Settle, taint("NoSchedule")]).then(update()),
        scenario("node-gone", &standard()).then([Delete(node("node-c")), Settle]).then(update()),
    ]
}

/// Templates that do not work, and that are taken back.
fn with_failures() -> Vec<Scenario> {
    use Step::{Edit, Settle, Wait};
    let tried = |tried: &str, seconds| {
        [Settle, Edit(image(tried)), Wait(Duration::from_secs(seconds)), Edit(image("nginx:1")), Settle]
    };
    vec![
        scenario("rollback", &in_place()).then(tried("nginx:2", 4)),
        scenario("bad-edit", &standard()).then(tried(BAD_IMAGE, 45)),
        scenario("failing", &standard()).then(tried(FAILING_IMAGE, 30)),
    ]
}

fn merged(mut value: Value, more: &Value) -> Value {
    merge(&mut value, more);
    value
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
}

fn object(more: &Value) -> Value {
    let resource = DaemonSet::RESOURCE;
    let mut spec = json!({
        "selector": {"matchLabels": {"app": SET.name}},
        "template": {
            "metadata": {"labels": {"app": SET.name}},
            "spec": {"terminationGracePeriodSeconds": 2, "containers": [{"name": "main", "image": "nginx:1"}]},
        },
        "updateStrategy": {"type": "RollingUpdate"},
    });
    merge(&mut spec, more);
    json!({"apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": SET.name}, "spec": spec})
}

/// Every node that should has one ready pod with the image of the template, every other one the pod that it had or none.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let Some(set) = SET.find(store) else { return Err("the DaemonSet is gone".into()) };
    let wanted = set.str("/spec/template/spec/containers/0/image");
    let nodes = resources::of(NODES).into_iter().flat_map(|nodes| store.list(nodes.id, ""));
    for (name, node) in nodes {
        let here: Vec<&Object> = pods(store).filter(|pod| node_of(pod) == &*name.1).collect();
        let [pod] = here.as_slice() else {
            return Err(format!("{} pods on {}", here.len(), name.1));
        };
        let is_kept = scenario.name == "kept" && effect(node) == Some("NoSchedule");
        let image = pod.str("/spec/containers/0/image");
        if image != wanted && !is_kept {
            return Err(format!("{} has image {image}", name.1));
        }
        if !is_ready(pod) {
            return Err(format!("the pod on {} is not ready", name.1));
        }
    }
    let stray = pods(store).find(|pod| {
        !pod.is_deleting() && !has_node(store, node_of(pod)) && pod.str("/spec/nodeName").is_empty()
    });
    if let Some(pod) = stray {
        return Err(format!("pod {} waits for a node that is gone", pod.str("/metadata/name")));
    }
    let number =
        |field: &str| set.value.pointer(&format!("/status/{field}")).and_then(Value::as_u64).unwrap_or(0);
    let desired = number("desiredNumberScheduled");
    if number("numberReady") == desired && number("updatedNumberScheduled") == desired {
        Ok(())
    } else {
        Err(format!("the status says {}", set.value.get("status").unwrap_or(&Value::Null)))
    }
}

fn pods(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default"));
    all.map(|(_, pod)| pod.as_ref()).filter(|pod| is_its_own(pod))
}

fn is_its_own(pod: &Object) -> bool {
    pod.str("/metadata/ownerReferences/0/kind") == DaemonSet::RESOURCE.kind()
        && pod.str("/metadata/ownerReferences/0/name") == SET.name
}

fn has_node(store: &Store, name: &str) -> bool {
    resources::of(NODES).is_some_and(|nodes| store.get(nodes.id, &("".into(), name.into())).is_some())
}

fn effect(node: &Object) -> Option<&str> {
    node.value.pointer("/spec/taints/0/effect").and_then(Value::as_str)
}

fn is_ready(pod: &Object) -> bool {
    let conditions = pod.value.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    !pod.is_deleting() && conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// The node that a pod is on, or is made for.
fn node_of(pod: &Object) -> &str {
    let bound = pod.str("/spec/nodeName");
    if bound.is_empty() { pod.str(ONLY_NODE) } else { bound }
}

/// Looks at the pods that are there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let pod = &change.event.object;
        if !change.is_of(PODS) || !is_manager(change.who) || !is_its_own(pod) {
            return;
        }
        match change.event.what {
            What::Added => added(change, notes),
            What::Modified | What::Deleted => {}
        }
    }
}

/// Never two pods of one revision on a node, and without maxSurge never two at all; never one for a node that takes none.
fn added(change: &Change<'_>, notes: &mut Notes) {
    let pod = &change.event.object;
    let (name, node) = (pod.str("/metadata/name"), node_of(pod));
    let others = pods(change.store).filter(|other| other.uid() != pod.uid() && node_of(other) == node);
    let surges = SET.find(change.store).is_some_and(|set| {
        let surge = set.value.pointer("/spec/updateStrategy/rollingUpdate/maxSurge");
        surge.and_then(Value::as_u64).is_some_and(|surge| surge > 0)
    });
    for other in others {
        let is_same = other.str(HASH_LABEL) == pod.str(HASH_LABEL) && !other.is_deleting();
        if !surges || is_same {
            notes
                .broken
                .push(format!("pods {name} and {} are both for node {node}", other.str("/metadata/name")));
        }
    }
}
