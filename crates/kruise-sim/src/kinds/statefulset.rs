//! Advanced StatefulSet: pods with ordinals, claims that stay.

use kruise_core::lookup::Slim;
use kruise_core::statefulset::StatefulSet;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::{self, Claims, Names, PodFacts, RECREATE, Rework, SpecFacts, Workload};
use crate::world::scenario::merge;

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "statefulset",
    title: "StatefulSet",
    scenarios: || workload::scenarios(&KIND, &WORKLOAD),
    random: Some(|rng| workload::random(&KIND, &WORKLOAD, rng)),
    workload: Some(&WORKLOAD),
    pod_names: Names::Kept,
    rules: None,
    goal: workload::goal,
    end: super::nothing,
};

pub static WORKLOAD: Workload = Workload {
    resource: StatefulSet::RESOURCE,
    names: Names::Kept,
    claims: Claims::Kept,
    more: || json!({"serviceName": workload::WEB}),
    surging,
    usual_unavailable: |_| 1,
    fits: |spec, pod, _| is_wanted(spec, pod),
    is_surplus: |spec, pod, _| pod.ordinal().is_some_and(|ordinal| !spec.wants(ordinal)),
    may_update: |spec, pod, _| pod.ordinal().is_some_and(|ordinal| spec.partition <= spec.below(ordinal)),
    is_wanted,
    edits: || [ordinals(), bad_ordinals()],
};

/// It cannot surge, so it goes two at a time.
fn surging() -> Value {
    let how = json!({"podUpdatePolicy": RECREATE, "maxUnavailable": 2});
    let mut object = workload::rolling(workload::object(&WORKLOAD, 3), &how);
    merge(&mut object, &json!({"spec": {"podManagementPolicy": "Parallel"}}));
    object
}

fn is_wanted(spec: &SpecFacts, pod: &PodFacts) -> bool {
    pod.ordinal().is_some_and(|ordinal| spec.wants(ordinal))
}

const RESERVED: &str = "/reserveOrdinals";
const ORDINALS: &str = "/ordinals";

fn ordinals() -> Vec<Rework> {
    let reserved = [json!([0]), json!([1]), json!(["0-1"]), json!([2, "4-5"]), json!([7])];
    let starts = [json!({"start": 1}), json!({"start": 2})];
    let reserved = reserved.map(|value| Rework::new("edit-reserved", RESERVED, value));
    let starts = starts.map(|value| Rework::new("edit-start", ORDINALS, value));
    reserved.into_iter().chain(starts).collect()
}

fn bad_ordinals() -> Vec<Rework> {
    let reserved = [json!(["3"]), json!([-1]), json!(["2-1"])];
    let reserved = reserved.map(|value| Rework::new("edit-wrong", RESERVED, value));
    let start = Rework::new("edit-wrong", ORDINALS, json!({"start": -1}));
    reserved.into_iter().chain([start]).collect()
}
