//! BroadcastJob: one pod for each node, at most `parallelism` at a time, and no second run where one succeeded.

use std::time::Duration;

use kruise_api::resource::{NODES, PODS};
use kruise_core::broadcastjob::BroadcastJob;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, What, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{ENDING_IMAGE, FAILING_IMAGE, Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "broadcastjob",
    title: "BroadcastJob",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Drawn,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const JOB: Target = Target::new(BroadcastJob::RESOURCE, "b");
const NAME_LABEL: &str = "/metadata/labels/broadcastjob-name";
const ONLY_NODE: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Edit, Patch, Settle, Wait};
    let scenario = |name, more: Value| {
        let base = Scenario { subject: Some(JOB), ..Scenario::new(&KIND, name) };
        base.with(JOB, object(&more))
    };
    let seconds = Duration::from_secs;
    let node = |name| Target::new(NODES, name);
    let paused = |paused: bool| Edit(json!({"spec": {"paused": paused}}));
    let failing = json!({"template": {"spec": {"containers": [container(FAILING_IMAGE)]}}});
    let failing = |policy: &str| {
        let mut spec = failing.clone();
        merge(&mut spec, &json!({"parallelism": 1, "failurePolicy": {"type": policy}}));
        spec
    };
    vec![
        scenario("runs", json!({"parallelism": 2})).then([Settle]),
        scenario("expires", json!({"completionPolicy": {"ttlSecondsAfterFinished": 20}})).then([
            Settle,
            Wait(seconds(30)),
            Settle,
        ]),
        scenario("fail-fast", failing("FailFast")).then([Settle]),
        scenario("continue", failing("Continue")).then([Settle]),
        scenario("new-node", json!({"completionPolicy": {"type": "Never"}})).then([
            Settle,
            Create(
                node("node-d"),
                json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-d"}}),
            ),
            Settle,
        ]),
        scenario("cordoned", json!({"parallelism": 1})).then([
            Wait(seconds(1)),
            Patch(node("node-c"), json!({"spec": {"unschedulable": true}})),
            Settle,
        ]),
        scenario("uncordoned", json!({"completionPolicy": {"type": "Never"}})).then([
            Settle,
            Patch(node("node-a"), json!({"spec": {"unschedulable": true}})),
            Settle,
            Patch(node("node-a"), json!({"spec": {"unschedulable": false}})),
            Settle,
        ]),
        scenario("paused", json!({"parallelism": 1})).then([paused(true), Settle, paused(false), Settle]),
    ]
}

fn container(image: &str) -> Value {
    json!({"name": "main", "image": image})
}

fn object(more: &Value) -> Value {
    let resource = BroadcastJob::RESOURCE;
    let mut spec = json!({"template": {"spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [container(ENDING_IMAGE)],
    }}});
    merge(&mut spec, more);
    json!({"apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": JOB.name}, "spec": spec})
}

/// A job that ends has ended and nothing of it runs; one that does not has a pod that succeeded on every node; one with a time to
/// live is gone.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let Some(job) = JOB.find(store) else {
        return if scenario.name == "expires" { Ok(()) } else { Err("the job is gone".into()) };
    };
    if scenario.name == "expires" {
        return Err("the job should be gone".into());
    }
    let pods: Vec<&Object> = pods(store).collect();
    if let Some(pod) = pods.iter().find(|pod| is_active(pod)) {
        return Err(format!("pod {} still runs", pod.str("/metadata/name")));
    }
    let nodes = resources::of(NODES).into_iter().flat_map(|nodes| store.list(nodes.id, "")).count();
    let number =
        |field: &str| job.value.pointer(&format!("/status/{field}")).and_then(Value::as_u64).unwrap_or(0);
    let succeeded = pods.iter().filter(|pod| pod.str("/status/phase") == "Succeeded").count();
    // Pods of a job that is over may be deleted by others; its counts stay.
    let counted = usize::try_from(number("succeeded")).unwrap_or(usize::MAX);
    let is_all = counted == nodes;
    let phase = job.str("/status/phase");
    let is_fine = match scenario.name {
        "fail-fast" => phase == "failed",
        "continue" => phase == "completed" && usize::try_from(number("failed")) == Ok(nodes),
        "new-node" | "uncordoned" => phase == "running" && is_all && succeeded == nodes,
        "cordoned" => phase == "completed" && counted + 1 == nodes,
        _ => phase == "completed" && is_all,
    };
    if is_fine { Ok(()) } else { Err(format!("{phase}, {succeeded} pods succeeded on {nodes} nodes")) }
}

fn pods(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default"));
    all.map(|(_, pod)| pod.as_ref()).filter(|pod| pod.str(NAME_LABEL) == JOB.name)
}

fn is_active(pod: &Object) -> bool {
    !pod.is_deleting() && !matches!(pod.str("/status/phase"), "Succeeded" | "Failed")
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
        if !change.is_of(PODS) || !is_manager(change.who) || pod.str(NAME_LABEL) != JOB.name {
            return;
        }
        let name = pod.str("/metadata/name");
        match change.event.what {
            What::Added => added(change, notes),
            What::Deleted | What::Modified
                if pod.str("/status/phase") == "Succeeded" && pod.is_deleting() =>
            {
                notes.broken.push(format!("pod {name} was deleted although it succeeded"));
            }
            What::Deleted | What::Modified => {}
        }
    }
}

fn added(change: &Change<'_>, notes: &mut Notes) {
    let pod = &change.event.object;
    let others = || pods(change.store).filter(|other| other.uid() != pod.uid());
    let holds = |other: &&Object| is_active(other) || other.str("/status/phase") == "Succeeded";
    if let Some(other) = others().filter(holds).find(|other| node_of(other) == node_of(pod)) {
        let (one, two) = (pod.str("/metadata/name"), other.str("/metadata/name"));
        notes.broken.push(format!("pods {one} and {two} are both for node {}", node_of(pod)));
    }
    let limit = JOB.find(change.store).and_then(|job| job.value.pointer("/spec/parallelism")?.as_u64());
    let active = others().filter(|other| is_active(other)).count() + 1;
    if limit.is_some_and(|limit| usize::try_from(limit).is_ok_and(|limit| limit < active)) {
        notes.broken.push(format!("{active} pods are active, more than parallelism allows"));
    }
}
