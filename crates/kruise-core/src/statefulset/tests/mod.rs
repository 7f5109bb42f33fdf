//! Fixtures that read like the sentence in the specification, and one file per source file.

mod claims;
mod golden;
mod plan;
mod properties;
mod scale;
mod spec;
mod status;
mod takeover;
mod update;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Purpose};
use crate::fixtures::Pod;
use crate::gates::{Gate, Gates};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::revision::{Data, Revision};

pub use crate::cloneset::tests::{LONG_AGO, count, now, reason, touched};

/// A StatefulSet named `web` in the making.
#[derive(Debug, Clone)]
pub struct Fixture {
    pub object: Value,
    pub old: Value,
    pods: Vec<Pod>,
    pub claims: Vec<Value>,
    gates: Gates,
    edit: Vec<fn(&mut View)>,
    is_settled: bool,
}

/// OrderedReady, three replicas; revision old (image nginx:1) and new (nginx:2); pods are replaced.
pub fn ordered() -> Fixture {
    let template = |image: &str| json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}});
    Fixture {
        object: json!({
            "metadata": {"name": "web", "namespace": "ns", "uid": "uid-web", "resourceVersion": "7", "generation": 1},
            "spec": {
                "replicas": 3, "serviceName": "svc", "selector": {"matchLabels": {"app": "web"}},
                "template": template("nginx:2"), "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {}},
            },
            "status": {},
        }),
        old: template("nginx:1"),
        pods: Vec::new(),
        claims: Vec::new(),
        gates: Gates::default(),
        edit: Vec::new(),
        is_settled: false,
    }
}

pub fn parallel() -> Fixture {
    ordered().set("/podManagementPolicy", json!("Parallel"))
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

    pub fn in_place(self) -> Self {
        self.rolling("podUpdatePolicy", json!("InPlaceIfPossible"))
    }

    pub fn hook(self, name: &str) -> Self {
        self.set("/lifecycle", json!({name: {"labelsHandler": {"hold": "on"}}}))
    }

    pub fn claim_template(self, size: &str) -> Self {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}});
        self.set("/volumeClaimTemplates", json!([{"metadata": {"name": "data"}, "spec": spec}]))
    }

    pub fn gate(mut self, gate: Gate) -> Self {
        self.gates = self.gates.with(gate);
        self
    }

    /// Names without ordinal get the next one.
    pub fn pods(mut self, pods: impl IntoIterator<Item = Pod>) -> Self {
        self.pods.extend(pods);
        self
    }

    pub fn claim(mut self, claim: Value) -> Self {
        self.claims.push(claim);
        self
    }

    pub fn and(mut self, edit: fn(&mut View)) -> Self {
        self.edit.push(edit);
        self
    }

    /// The rollout is over: current = update revision.
    pub fn settled(mut self) -> Self {
        self.is_settled = true;
        self
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
                json!(if self.is_settled { self.new_name() } else { self.old_name() });
        }
        let names = [("old", self.old_name()), ("new", self.new_name())];
        let pods = self.pods.iter().enumerate().map(|(i, pod)| {
            let mut pod = pod.clone();
            if pod.0["metadata"]["name"] == "" {
                pod = pod.named(&format!("web-{i}"));
            }
            let name = pod.0["metadata"]["name"].clone();
            pod = pod.label("statefulset.kubernetes.io/pod-name", name.as_str().unwrap());
            let label = &mut pod.0["metadata"]["labels"]["controller-revision-hash"];
            if let Some((_, full)) = names.iter().find(|(short, _)| label == short) {
                *label = json!(full);
            }
            Arc::new(pod.view())
        });
        let revisions = vec![revision(&self.old, 1), revision(&object["spec"]["template"], 2)];
        let mut view = View::of(&object).with(pods.collect(), revisions);
        view.claims = self.claims.iter().filter_map(Claim::read).map(|one| (one.name.clone(), one)).collect();
        view.gates = self.gates.clone();
        self.edit.iter().for_each(|edit| edit(&mut view));
        view
    }

    pub fn plan(&self) -> Plan {
        super::plan(&self.view(), now())
    }
}

pub fn revision(template: &Value, number: i64) -> Arc<Revision> {
    let data = Data::of(template).unwrap();
    let stored: Value = serde_json::from_str(data.text()).unwrap();
    let name = data.name("web", 0).to_string();
    let metadata = json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"});
    Arc::new(Revision::read(&json!({"metadata": metadata, "revision": number, "data": stored})).unwrap())
}

/// An available pod at the old revision.
pub fn old() -> Pod {
    crate::cloneset::tests::old().set("/metadata/ownerReferences", owner())
}

/// An available pod at the new revision.
pub fn new() -> Pod {
    crate::cloneset::tests::new().set("/metadata/ownerReferences", owner())
}

fn owner() -> Value {
    json!([{"uid": "uid-web", "kind": "StatefulSet", "controller": true}])
}

/// A bound claim of an ordinal, of that size.
pub fn bound(ordinal: u32, size: &str) -> Value {
    json!({
        "metadata": {"name": format!("data-web-{ordinal}"), "uid": format!("uid-data-{ordinal}"), "resourceVersion": "3"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}},
        "status": {"capacity": {"storage": size}},
    })
}

/// Pods that are created, with the revision they get.
pub fn created(plan: &Plan) -> Vec<(String, String)> {
    let writes = plan.writes().filter(|write| write.resource == crate::chain::Resource::Pod);
    let bodies = writes.filter_map(|write| match &write.act {
        Act::Create(body) => Some((write.name.clone(), body)),
        Act::Patch { .. } | Act::Delete { .. } | Act::DeleteUnlessPodExists { .. } | Act::AskBudget => None,
    });
    let label =
        |body: &Value| body["metadata"]["labels"]["controller-revision-hash"].as_str().unwrap().to_owned();
    bodies.map(|(name, body)| (name, label(body))).collect()
}

pub fn waits_for(pod: &str) -> Reason {
    Reason::WaitsFor { pod: crate::ids::PodName::new(pod) }
}

/// The instant of the tests, for pods that became ready just then.
pub const JUST_NOW: &str = "2026-06-01T11:59:58Z";

pub fn at(seconds: i64) -> Timestamp {
    crate::time::after(now(), seconds)
}
