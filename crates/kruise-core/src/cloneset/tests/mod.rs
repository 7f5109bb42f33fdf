//! Fixtures that read like the sentence in the specification, and one file per source file.

mod admission;
mod claims;
mod golden;
mod numbers;
mod plan;
mod properties;
mod scale;
mod status;
mod takeover;
mod update;
pub mod world;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Chain, Purpose};
use crate::fixtures::{Pod, pod as bare};
use crate::gates::{Gate, Gates};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::revision::{Data, Revision};

pub use takeover::latest;

pub const LONG_AGO: &str = "2026-05-01T00:00:00Z";

/// A CloneSet named `web` in the making.
#[derive(Debug, Clone)]
pub struct Fixture {
    pub object: Value,
    pub old: Value,
    pods: Vec<Pod>,
    pub claims: Vec<Claim>,
    gates: Gates,
    edit: Vec<fn(&mut View)>,
    current_is_update: bool,
}

/// Revision old (image nginx:1) and new (nginx:2), in-place if possible, maxUnavailable 20 %.
pub fn cloneset() -> Fixture {
    let template = |image: &str| json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}});
    Fixture {
        object: json!({
            "metadata": {"name": "web", "namespace": "ns", "uid": "uid-web", "resourceVersion": "7", "generation": 1},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("nginx:2"),
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}},
            },
            "status": {},
        }),
        old: template("nginx:1"),
        pods: Vec::new(),
        claims: Vec::new(),
        gates: Gates::default(),
        edit: Vec::new(),
        current_is_update: false,
    }
}

impl Fixture {
    pub fn set(mut self, path: &str, value: Value) -> Self {
        let (parent, key) = path.rsplit_once('/').unwrap();
        let mut at = &mut self.object["spec"];
        for part in parent.split('/').filter(|part| !part.is_empty()) {
            at = &mut at[part];
        }
        at[key] = value;
        self
    }

    pub fn rolling(self, key: &str, value: Value) -> Self {
        self.set(&format!("/updateStrategy/rollingUpdate/{key}"), value)
    }

    pub fn replicas(self, count: u32) -> Self {
        self.set("/replicas", json!(count))
    }

    pub fn partition(self, value: Value) -> Self {
        self.rolling("partition", value)
    }

    pub fn max_unavailable(self, value: Value) -> Self {
        self.rolling("maxUnavailable", value)
    }

    pub fn max_surge(self, value: Value) -> Self {
        self.rolling("maxSurge", value)
    }

    pub fn policy(self, value: &str) -> Self {
        self.rolling("podUpdatePolicy", json!(value))
    }

    pub fn paused(self) -> Self {
        self.rolling("paused", json!(true))
    }

    pub fn gate(mut self, gate: Gate) -> Self {
        self.gates = self.gates.with(gate);
        self
    }

    pub fn pods(mut self, pods: impl IntoIterator<Item = Pod>) -> Self {
        self.pods.extend(pods);
        self
    }

    pub fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    pub fn and(mut self, edit: fn(&mut View)) -> Self {
        self.edit.push(edit);
        self
    }

    /// The rollout is over: current = update revision.
    pub fn settled(mut self) -> Self {
        self.current_is_update = true;
        self
    }

    fn revision(template: &Value, number: i64) -> Arc<Revision> {
        let data = Data::of(template).unwrap();
        let name = data.name("web", 0);
        let stored: Value = serde_json::from_str(data.text()).unwrap();
        let object = json!({
            "metadata": {"name": name.as_str(), "uid": format!("uid-{name}"), "resourceVersion": "1",
                "labels": {}, "annotations": {"kruise.io/cloneset-volumeclaimtemplate-hash": ""}},
            "revision": number, "data": stored,
        });
        Arc::new(Revision::read(&object).unwrap())
    }

    pub fn old_name(&self) -> String {
        Data::of(&self.old).unwrap().name("web", 0).to_string()
    }

    pub fn new_name(&self) -> String {
        Data::of(&self.object["spec"]["template"]).unwrap().name("web", 0).to_string()
    }

    pub fn view(&self) -> View {
        let mut object = self.object.clone();
        if object["status"]["currentRevision"].is_null() {
            object["status"]["currentRevision"] =
                json!(if self.current_is_update { self.new_name() } else { self.old_name() });
        }
        let names = [("old", self.old_name()), ("new", self.new_name())];
        let pods = self.pods.iter().enumerate().map(|(i, pod)| {
            let mut pod = pod.clone();
            if pod.0["metadata"]["name"] == "" {
                pod = pod
                    .set("/metadata/name", json!(format!("web-{i:02}")))
                    .set("/metadata/uid", json!(format!("uid-{i:02}")));
            }
            let label = &mut pod.0["metadata"]["labels"]["controller-revision-hash"];
            if let Some((_, name)) = names.iter().find(|(short, _)| label == short) {
                *label = json!(name);
            }
            Arc::new(pod.view())
        });
        let revisions = vec![Self::revision(&self.old, 1), Self::revision(&object["spec"]["template"], 2)];
        let mut view = View::of(&object, PreparingDelete::Counted).with(pods.collect(), revisions);
        view.claims = self.claims.clone();
        view.gates = self.gates.clone();
        self.edit.iter().for_each(|edit| edit(&mut view));
        view
    }

    pub fn plan(&self) -> Plan {
        super::plan(&self.view(), now())
    }

    pub fn numbers(&self) -> Numbers {
        let view = self.view();
        let crate::revision::Found::Stored(revisions, _) =
            super::revisions::find(&view, view.spec.as_ref().unwrap())
        else {
            panic!()
        };
        let cx = Cx::of(&view, view.spec.as_ref().unwrap(), revisions, now());
        cx.numbers(&cx.counts(super::numbers::Side::Scale))
    }
}

pub fn now() -> Timestamp {
    crate::fixtures::t0()
}

/// An available pod at the old revision.
pub fn old() -> Pod {
    at("old", "nginx:1")
}

/// An available pod at the new revision.
pub fn new() -> Pod {
    at("new", "nginx:2")
}

fn at(revision: &str, image: &str) -> Pod {
    bare("")
        .label("app", "web")
        .label("controller-revision-hash", revision)
        .label("pod-template-hash", "x")
        .label("lifecycle.apps.kruise.io/state", "Normal")
        .annotation("lifecycle.apps.kruise.io/timestamp", LONG_AGO)
        .set("/metadata/ownerReferences", json!([{"uid": "uid-web", "kind": "CloneSet", "controller": true}]))
        .containers(json!([{"name": "main", "image": image}]))
        .container_status("main", image, image)
        .node("node")
        .running()
        .gate("InPlaceUpdateReady")
        .gate("KruisePodReady")
        .ready_since(LONG_AGO)
        .condition("InPlaceUpdateReady", "True", LONG_AGO)
        .condition("KruisePodReady", "True", LONG_AGO)
}

impl Pod {
    pub fn not_ready(self) -> Self {
        self.condition("ContainersReady", "False", LONG_AGO).condition("Ready", "False", LONG_AGO)
    }

    pub fn marked(self) -> Self {
        self.label("apps.kruise.io/specified-delete", "true")
    }

    pub fn named(self, name: &str) -> Self {
        self.set("/metadata/name", json!(name)).set("/metadata/uid", json!(format!("uid-{name}")))
    }

    pub fn instance(self, id: &str) -> Self {
        self.named(&format!("web-{id}")).label("apps.kruise.io/cloneset-instance-id", id)
    }
}

pub fn count(plan: &Plan, purpose: Purpose) -> usize {
    plan.chains.iter().filter(|chain| chain.purpose == purpose).count()
}

/// Pods that chains of this purpose are about.
pub fn touched(plan: &Plan, purpose: Purpose) -> Vec<&str> {
    let chains = plan.chains.iter().filter(|chain| chain.purpose == purpose);
    chains.filter_map(|chain| chain.pod.as_ref().map(crate::ids::PodName::as_str)).collect()
}

pub fn reason<'a>(plan: &'a Plan, pod: &str) -> &'a Reason {
    &plan.reasons[pod]
}

pub fn deletes_pod(chain: &Chain) -> bool {
    chain
        .writes
        .iter()
        .any(|write| write.resource == crate::chain::Resource::Pod && matches!(write.act, Act::Delete { .. }))
}
