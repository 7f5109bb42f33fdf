//! CloneSet: pods with drawn names, a surge, claims that go with their pod.

use kruise_core::cloneset::CloneSet;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::{self, Claims, Crowd, Names, PodFacts, RECREATE, SpecFacts, Workload};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "cloneset",
    title: "CloneSet",
    scenarios: || workload::scenarios(&KIND, &WORKLOAD),
    random: Some(|rng| workload::random(&KIND, &WORKLOAD, rng)),
    workload: Some(&WORKLOAD),
    pod_names: Names::Drawn,
    rules: None,
    goal: workload::goal,
    end: super::nothing,
};

pub static WORKLOAD: Workload = Workload {
    resource: CloneSet::RESOURCE,
    names: Names::Drawn,
    claims: Claims::MayGo,
    more: || json!({}),
    surging,
    usual_unavailable: |replicas| replicas.saturating_mul(20).saturating_add(99) / 100,
    fits,
    is_surplus: |spec, _, there| spec.replicas < there,
    may_update: |spec, _, old| spec.partition < old,
    is_wanted: |_, _| true,
    edits: || [Vec::new(), Vec::new()],
};

/// Adds a pod before it takes one away.
fn surging() -> Value {
    let how = json!({"podUpdatePolicy": RECREATE, "maxSurge": 1, "maxUnavailable": 0});
    workload::rolling(workload::object(&WORKLOAD, 3), &how)
}

fn fits(spec: &SpecFacts, _: &PodFacts, crowd: &Crowd) -> bool {
    let named = i64::try_from(spec.named.len()).unwrap_or(i64::MAX);
    crowd.there < spec.replicas + spec.max_surge + crowd.specified.max(named)
}
