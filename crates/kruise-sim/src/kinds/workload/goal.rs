//! Whether a workload is where its user wants it.

use std::sync::Arc;

use kruise_api::resource::PODS;
use serde_json::Value;
use tokio::time::Instant;

use super::facts::{PodFacts, SpecFacts, Stage};
use crate::server::{Object, Store, resources};
use crate::world::scenario::{BAD_IMAGE, Scenario};

/// The subject of the scenario has its pods, updated and available, and its status says so.
pub fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let Some(target) = scenario.subject else { return Err("the scenario has no workload".into()) };
    let Some(workload) = super::described(target.resource) else {
        return Err(format!("{:?} is no workload", target.resource));
    };
    let Some(set) = target.find(store) else { return Err("the workload is gone".into()) };
    let number = |pointer: &str| set.value.pointer(pointer).and_then(Value::as_i64);
    let wanted = number("/spec/replicas").unwrap_or(1);
    let pods = living(store);
    let ready = pods.iter().filter(|pod| PodFacts::read(pod).is_available()).count();
    let ready = i64::try_from(ready).unwrap_or(i64::MAX);
    let all = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    let partition = number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0).min(wanted);
    // A partition keeps pods of an older revision, also where that is a bad edit which was taken back.
    let is_bad = |pod: &&&Arc<Object>| pod.str("/spec/containers/0/image") == BAD_IMAGE;
    let spec = SpecFacts::read(workload, set, Instant::now());
    let is_updated = |pod: &&&Arc<Object>| PodFacts::read(pod).version == spec.version;
    let bad = pods.iter().filter(is_bad).filter(|pod| !is_updated(pod)).count();
    let serving = wanted - i64::try_from(bad).unwrap_or(0).min(partition);
    if (ready, all) != (serving, wanted) {
        return Err(format!("{ready} of {all} pods are available, {wanted} are wanted"));
    }
    if let Some(other) = pods.iter().find(|pod| !(workload.is_wanted)(&spec, &PodFacts::read(pod))) {
        return Err(format!("pod {} is not wanted", other.str("/metadata/name")));
    }
    if number("/status/observedGeneration") != number("/metadata/generation") {
        return Err("the status does not speak of the newest generation".into());
    }
    let updated = i64::try_from(pods.iter().filter(is_updated).count()).unwrap_or(0);
    // A partition that is raised later brings nobody back.
    if updated < wanted - partition {
        return Err(format!("{updated} pods are updated, at least {} should be", wanted - partition));
    }
    for (field, expected) in [("replicas", wanted), ("readyReplicas", serving), ("updatedReplicas", updated)]
    {
        let said = number(&format!("/status/{field}")).unwrap_or(0);
        if said != expected {
            return Err(format!("status.{field} is {said} instead of {expected}"));
        }
    }
    Ok(())
}

/// Failed pods of a CloneSet stay for whoever wants to know why (CS-6).
fn living(store: &Store) -> Vec<&Arc<Object>> {
    let pods = resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default"));
    pods.map(|(_, pod)| pod).filter(|pod| PodFacts::read(pod).stage != Stage::Ended).collect()
}
