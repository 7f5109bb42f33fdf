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

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::resource::PODS;
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Chain, Purpose};
use crate::cluster::claim::Claim;
use crate::fixtures::Pod;
use crate::fixtures::workload::{self, Parts, Planned, member};
use crate::gates::{Gate, Gates};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::revision::{Data, Revision};

pub use crate::fixtures::workload::{LONG_AGO, count, now, reason, touched};

/// A CloneSet named `web` in the making.
pub type Fixture = workload::Fixture<View>;
pub type World = crate::fixtures::world::World<View>;

/// One replica, in-place if possible, maxUnavailable 20 %.
pub fn cloneset() -> Fixture {
    let rolling = json!({"podUpdatePolicy": "InPlaceIfPossible"});
    Fixture::of(&json!({"replicas": 1, "updateStrategy": {"rollingUpdate": rolling}}))
}

impl Planned for View {
    fn assemble(object: &Value, parts: Parts) -> Self {
        let mut view = View::alone(object, parts.pods, parts.revisions);
        view.claims = parts.claims.into_iter().map(|claim| (claim.name.clone(), claim)).collect();
        view.gates = parts.gates;
        view.seed = parts.seed;
        view
    }

    fn named(pod: Pod, place: usize) -> Pod {
        if !pod.is_nameless() {
            return pod;
        }
        pod.set("/metadata/name", json!(format!("web-{place:02}")))
            .set("/metadata/uid", json!(format!("uid-{place:02}")))
    }

    fn plan_at(&self, now: Timestamp) -> Plan {
        plan(self, now)
    }
}

impl Fixture {
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

impl World {
    pub fn available(&self) -> usize {
        let view = self.view();
        let spec = view.spec.clone().unwrap();
        view.active().filter(|pod| spec.is_available(pod, self.now)).count()
    }

    pub fn at(&self, revision: &str) -> usize {
        let hash = crate::ids::RevisionHash::last_segment(revision);
        self.view().active().filter(|pod| pod.revision().as_ref() == Some(&hash)).count()
    }
}

/// An available pod at the old revision.
pub fn old() -> Pod {
    member("CloneSet", "old", "nginx:1").label("pod-template-hash", "x")
}

/// An available pod at the new revision.
pub fn new() -> Pod {
    member("CloneSet", "new", "nginx:2").label("pod-template-hash", "x")
}

impl Pod {
    pub fn instance(self, id: &str) -> Self {
        self.named(&format!("web-{id}")).label("apps.kruise.io/cloneset-instance-id", id)
    }
}

pub fn deletes_pod(chain: &Chain) -> bool {
    chain.writes.iter().any(|write| write.object.resource == PODS && matches!(write.act, Act::Delete { .. }))
}
