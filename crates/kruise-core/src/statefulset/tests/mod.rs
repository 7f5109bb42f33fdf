//! Fixtures that read like the sentence in the specification, and one file per source file.

mod admission;
mod claims;
mod download;
mod golden;
mod inplace;
mod linear;
mod plan;
mod properties;
mod scale;
mod spec;
mod status;
mod takeover;
mod update;

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::resource::PODS;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Purpose};
use crate::cluster::claim::Claim;
use crate::cluster::storage_class::Expansion;
use crate::fixtures::Pod;
use crate::fixtures::workload::{self, Parts, Planned, member};
use crate::gates::{Gate, Gates};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::revision::Revision;

pub use crate::fixtures::workload::{LONG_AGO, count, now, reason, touched};

/// A StatefulSet named `web` in the making.
pub type Fixture = workload::Fixture<View>;

/// OrderedReady, three replicas; pods are replaced.
pub fn ordered() -> Fixture {
    Fixture::of(&json!({
        "replicas": 3, "serviceName": "svc", "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"rollingUpdate": {}},
    }))
}

pub fn parallel() -> Fixture {
    ordered().set("/podManagementPolicy", json!("Parallel"))
}

impl Planned for View {
    fn assemble(object: &Value, parts: Parts) -> Self {
        let mut view = View::alone(object, parts.pods, parts.revisions);
        view.claims = parts.claims.into_iter().map(|one| (one.name.clone(), one)).collect();
        view.gates = parts.gates;
        view.classes.insert("fast".to_owned(), Expansion::Allowed);
        view
    }

    fn named(pod: Pod, place: usize) -> Pod {
        let pod = if pod.is_nameless() { pod.named(&format!("web-{place}")) } else { pod };
        let name = pod.0["metadata"]["name"].clone();
        pod.label("statefulset.kubernetes.io/pod-name", name.as_str().unwrap())
    }

    fn plan_at(&self, now: Timestamp) -> Plan {
        plan(self, now)
    }
}

impl Fixture {
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

    pub fn claim(self, claim: &Value) -> Self {
        self.claims(Claim::read(claim))
    }
}

/// An available pod at the old revision.
pub fn old() -> Pod {
    member("StatefulSet", "old", "nginx:1")
}

/// An available pod at the new revision.
pub fn new() -> Pod {
    member("StatefulSet", "new", "nginx:2")
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
    let writes = plan.writes().filter(|write| write.object.resource == PODS);
    let bodies = writes.filter_map(|write| Some((write.object.name().to_owned(), write.created()?)));
    let label =
        |body: &Value| body["metadata"]["labels"]["controller-revision-hash"].as_str().unwrap().to_owned();
    bodies.map(|(name, body)| (name, label(&body))).collect()
}

pub fn waits_for(pod: &str) -> Reason {
    Reason::WaitsFor { pod: crate::ids::PodName::new(pod) }
}

/// The instant of the tests, for pods that became ready just then.
pub const JUST_NOW: &str = "2026-06-01T11:59:58Z";

pub fn at(seconds: i64) -> Timestamp {
    crate::time::after(now(), seconds)
}
