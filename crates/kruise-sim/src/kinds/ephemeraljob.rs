//! EphemeralJob: containers in the pods that it selects, at most `parallelism` unfinished ones at a time, none once the job is over.

use std::time::Duration;

use kruise_api::env::EPHEMERALJOB_ID;
use kruise_api::resource::PODS;
use kruise_core::ephemeraljob::EphemeralJob;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, What, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{ENDING_IMAGE, FAILING_IMAGE, Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "ephemeraljob",
    title: "EphemeralJob",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const JOB: Target = Target::new(EphemeralJob::RESOURCE, "e");
const APP: &str = "/metadata/labels/app";

/// Whether the manager saw the job before its pods is drawn, and stays in the conditions: the job is no subject that is compared.
fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Patch, Settle, Wait};
    let with_pods = |name, pods: &[&'static str]| {
        let empty = Scenario::new(&KIND, name);
        pods.iter().fold(empty, |scenario, one| scenario.with(pod_named(one), pod(one)))
    };
    let scenario = |name, more: Value| with_pods(name, &["a", "b", "c"]).with(JOB, object(&more));
    let seconds = Duration::from_secs;
    let paused = |paused: bool| Patch(JOB, json!({"spec": {"paused": paused}}));
    let failing = json!({"template": {"ephemeralContainers": [container(FAILING_IMAGE)]}, "parallelism": 2});
    vec![
        scenario("runs", json!({"parallelism": 2})).then([Settle]),
        scenario("fails", failing).then([Settle]),
        scenario("more-replicas", json!({"replicas": 10, "parallelism": 3})).then([Settle]),
        scenario("expires", json!({"ttlSecondsAfterFinished": 20})).then([Settle, Wait(seconds(30)), Settle]),
        scenario("paused", json!({})).then([Wait(seconds(2)), paused(true), Settle, paused(false), Settle]),
        scenario("deleted", json!({"parallelism": 3})).then([Settle, Delete(JOB), Settle]),
        with_pods("later", &[]).with(JOB, object(&json!({}))).then([
            Settle,
            Create(pod_named("a"), pod("a")),
            Settle,
        ]),
    ]
}

fn pod_named(name: &'static str) -> Target {
    Target::new(PODS, name)
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "looked-into"}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}], "terminationGracePeriodSeconds": 2},
    })
}

fn container(image: &str) -> Value {
    json!({"name": "dbg", "image": image, "imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File"})
}

fn object(more: &Value) -> Value {
    let resource = EphemeralJob::RESOURCE;
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "looked-into"}},
        "template": {"ephemeralContainers": [container(ENDING_IMAGE)]},
    });
    merge(&mut spec, more);
    json!({"apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": JOB.name}, "spec": spec})
}

/// It has ended as its pods did, and every pod that it selects has its container; a job that was deleted or expired is gone.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let is_to_go = matches!(scenario.name, "expires" | "deleted");
    let Some(job) = JOB.find(store) else {
        return if is_to_go { Ok(()) } else { Err("the job is gone".into()) };
    };
    let pods: Vec<&Object> = pods(store).filter(|pod| is_active(pod)).collect();
    let phase = job.str("/status/phase");
    if pods.is_empty() && phase == "Waiting" {
        return Ok(()); // Somebody deleted them: it waits for others.
    }
    if is_to_go {
        return Err("the job should be gone".into());
    }
    if let Some(pod) = pods.iter().find(|pod| states(pod).next().is_none() || is_under_way(pod)) {
        return Err(format!("pod {} has no container that has ended", pod.str("/metadata/name")));
    }
    let failed = job.value.pointer("/status/failed").and_then(Value::as_u64).unwrap_or(0);
    let is_fine = match phase {
        "Succeeded" => failed == 0 && scenario.name != "fails",
        "Failed" => failed > 0,
        _ => false,
    };
    if is_fine { Ok(()) } else { Err(format!("{phase} with {failed} failed pods")) }
}

fn pods(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default"));
    all.map(|(_, pod)| pod.as_ref()).filter(|pod| pod.str(APP) == "looked-into")
}

fn is_active(pod: &Object) -> bool {
    !pod.is_deleting() && !matches!(pod.str("/status/phase"), "Succeeded" | "Failed")
}

/// Ephemeral containers of a job, and whether each has ended.
fn states(pod: &Object) -> impl Iterator<Item = (&Value, bool)> {
    let list = |path: &str| pod.value.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let is_signed = |one: &&Value| {
        let env = one.get("env").and_then(Value::as_array).into_iter().flatten();
        env.filter_map(|variable| variable.get("name")).any(|name| name == EPHEMERALJOB_ID)
    };
    list("/spec/ephemeralContainers").filter(is_signed).map(move |one| {
        let mut statuses = list("/status/ephemeralContainerStatuses");
        let status = statuses.find(|status| status.get("name") == one.get("name"));
        (one, status.is_some_and(|status| status.pointer("/state/terminated").is_some()))
    })
}

fn is_under_way(pod: &Object) -> bool {
    states(pod).any(|(_, has_ended)| !has_ended)
}

/// Looks at the pods that are there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let pod = &change.event.object;
        let is_ours = change.is_of(PODS) && is_manager(change.who) && change.event.what == What::Modified;
        if !is_ours || pod.str(APP) != "looked-into" {
            return;
        }
        let before = change.event.before.as_deref().map_or(0, |old| states(old).count());
        match states(pod).count() {
            now if now == before => {}
            1 => injected(change, notes),
            now => notes.broken.push(format!("pod {} has {now} containers", pod.str("/metadata/name"))),
        }
    }
}

fn injected(change: &Change<'_>, notes: &mut Notes) {
    let pod = &change.event.object;
    let name = pod.str("/metadata/name");
    let Some(job) = JOB.find(change.store) else { return };
    if !job.str("/status/completionTime").is_empty() {
        notes.broken.push(format!("pod {name} got a container although the job is over"));
    }
    let limit = job.value.pointer("/spec/parallelism").and_then(Value::as_u64).unwrap_or(1);
    let others = pods(change.store).filter(|other| other.uid() != pod.uid() && is_active(other));
    let busy = others.filter(|other| is_under_way(other)).count() + 1;
    if usize::try_from(limit).is_ok_and(|limit| limit < busy) {
        notes.broken.push(format!("{busy} pods are unfinished, more than parallelism allows"));
    }
}
