//! The same phases done by a manager: workloads are created and changed, the manager does the rest.

use k8s_openapi::api::core::v1::Namespace;
use kruise_api::Kind as _;
use kruise_api::apps::{cloneset::CloneSet, statefulset::StatefulSet};
use kruise_api::parts::{PodUpdatePolicy, UpdateType};
use kruise_sim::kubelet::Pod;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::observe::{self, Observer, Seen};
use super::report::Phase;
use super::{Kind, Part, Stage, Worker};
use crate::manager::free_port;
use crate::{Cluster, TestbedError};

/// The name under which the keeper runs the manager.
pub const PART: &str = "manager";

const METRICS: &str = "{metrics}";

const IMAGES: (&str, &str) = ("nginx:1.25", "nginx:1.26");

/// A manager process to measure.
#[derive(Debug)]
pub struct Manager {
    pub pid: u32,
    /// Where its metrics are, if the command line said `{metrics}`.
    pub metrics: Option<u16>,
}

/// Starts a manager from a command line.
pub fn start(cluster: &Cluster, command: &str) -> Result<Manager, TestbedError> {
    let command = command.replace("{kubeconfig}", &cluster.kubeconfig().display().to_string());
    let metrics = command.contains(METRICS).then(free_port).transpose()?;
    let command = command.replace(METRICS, &metrics.unwrap_or_default().to_string());
    let mut words = command.split_whitespace().map(str::to_owned);
    let Some(program) = words.next() else {
        return Err(TestbedError::Unfit("--manager NAME=COMMAND needs a command".into()));
    };
    let pid = cluster.spawn(PART, program.into(), words.collect())?;
    Ok(Manager { pid, metrics })
}

/// A new namespace of its own for each run.
pub async fn namespace(client: &Client, name: &str) -> Result<String, TestbedError> {
    let object = serde_json::from_value(json!({"metadata": {"generateName": format!("{name}-")}}));
    let object: Namespace = object.map_err(|error| TestbedError::Unfit(error.to_string()))?;
    let created = Api::all(client.clone()).create(&PostParams::default(), &object).await;
    created.map(|namespace| namespace.name_any()).map_err(TestbedError::api("a namespace"))
}

/// Create, in-place rollout, recreate rollout, scale-in, as far as was asked for.
pub async fn run(stage: &Stage<'_>, manager: &Manager) -> Result<Vec<Phase>, TestbedError> {
    let namespace = namespace(&stage.client, "bench").await?;
    let run = Run {
        observer: Observer::of(stage.client.clone(), namespace.clone()),
        kind: stage.settings.kind,
        workloads: workloads(stage.settings.kind, &stage.client, &namespace),
        count: stage.settings.pods(),
        sets: stage.settings.workloads,
    };
    let worker = Worker { pods: run.count, process: Some(manager.pid) };
    let mut phases = Vec::new();
    for part in [Part::Create, Part::InPlace, Part::Recreate, Part::ScaleIn] {
        if part <= stage.settings.until {
            phases.push(stage.timed(worker, part, run.part(part, stage.settings.replicas)).await?);
        }
    }
    Ok(phases)
}

struct Run {
    observer: Observer,
    kind: Kind,
    workloads: Api<DynamicObject>,
    count: usize,
    sets: usize,
}

impl Run {
    async fn part(&self, part: Part, replicas: usize) -> Result<(), TestbedError> {
        match part {
            Part::Create => self.create(replicas).await,
            Part::InPlace => self.in_place().await,
            Part::Recreate => self.recreate().await,
            Part::ScaleIn => self.scale_in().await,
        }
    }

    async fn create(&self, replicas: usize) -> Result<(), TestbedError> {
        for number in 0..self.sets {
            let object = workload(self.kind, &format!("bench-{number}"), replicas)?;
            let created = self.workloads.create(&PostParams::default(), &object).await;
            created.map_err(TestbedError::api("a workload"))?;
        }
        self.all("pods ready", observe::is_ready).await
    }

    async fn in_place(&self) -> Result<(), TestbedError> {
        let containers = json!([{"name": "main", "image": IMAGES.1}]);
        let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        self.change(change, |pod| observe::is_ready(pod) && observe::runs(pod, IMAGES.1)).await
    }

    async fn recreate(&self) -> Result<(), TestbedError> {
        let env = json!([{"name": "GENERATION", "value": "2"}]);
        let containers = json!([{"name": "main", "image": IMAGES.1, "env": env}]);
        let change = json!({"spec": {
            "updateStrategy": {"rollingUpdate": {"podUpdatePolicy": PodUpdatePolicy::ReCreate}},
            "template": {"spec": {"containers": containers}},
        }});
        let old = self.observer.uids();
        self.change(change, move |pod| observe::is_ready(pod) && !old.contains(&pod.metadata.uid)).await
    }

    async fn change(&self, change: Value, done: impl Fn(&Pod) -> bool) -> Result<(), TestbedError> {
        self.patch_all(&Patch::Merge(change)).await?;
        self.all("pods changed", done).await
    }

    async fn scale_in(&self) -> Result<(), TestbedError> {
        self.patch_all(&Patch::Merge(json!({"spec": {"replicas": 0}}))).await?;
        self.observer.until("no pods", Seen::is_empty).await
    }

    async fn all(&self, what: &str, done: impl Fn(&Pod) -> bool) -> Result<(), TestbedError> {
        self.observer.until(what, |pods| pods.len() == self.count && pods.values().all(&done)).await
    }

    async fn patch_all(&self, patch: &Patch<Value>) -> Result<(), TestbedError> {
        for number in 0..self.sets {
            let patched =
                self.workloads.patch(&format!("bench-{number}"), &PatchParams::default(), patch).await;
            patched.map_err(TestbedError::api("a change of a workload"))?;
        }
        Ok(())
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cloneset => CloneSet::RESOURCE.kind(),
            Self::Statefulset => StatefulSet::RESOURCE.kind(),
        }
    }
}

fn workloads(kind: Kind, client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = match kind {
        Kind::Cloneset => ApiResource::erase::<CloneSet>(&()),
        Kind::Statefulset => ApiResource::erase::<StatefulSet>(&()),
    };
    Api::namespaced_with(client.clone(), namespace, &kind)
}

fn workload(kind: Kind, name: &str, replicas: usize) -> Result<DynamicObject, TestbedError> {
    // CloneSet pods get it without asking.
    let gates = match kind {
        Kind::Cloneset => json!([]),
        Kind::Statefulset => json!([{"conditionType": "InPlaceUpdateReady"}]),
    };
    let mut object = json!({
        "apiVersion": CloneSet::api_version(&()), "kind": kind.name(),
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": UpdateType::RollingUpdate, "rollingUpdate": {
                "podUpdatePolicy": PodUpdatePolicy::InPlaceIfPossible, "maxUnavailable": "20%", "partition": 0,
            }},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": IMAGES.0}], "readinessGates": gates},
            },
        },
    });
    if kind == Kind::Statefulset
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert("serviceName".to_owned(), json!(name));
        spec.insert("podManagementPolicy".to_owned(), json!("Parallel"));
    }
    serde_json::from_value(object).map_err(|error| TestbedError::Unfit(error.to_string()))
}
