//! PersistentPodState: pods come back to where they ran, and no record is lost.

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::annotations::{PPS_AUTO_GENERATE, PPS_REQUIRED_TOPOLOGY};
use kruise_api::resource::{NODES, PODS};
use kruise_core::lookup::Slim;
use kruise_core::persistentpodstate::PersistentPodState;
use kruise_core::statefulset::StatefulSet;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::SimulatedKind;
use super::statefulset::WORKLOAD;
use super::workload::{self, History, Names, PodFacts, SpecFacts, WEB};
use crate::server::{Change, Object, Store, What, resources};
use crate::world::actors::ZONE;
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "persistentpodstate",
    title: "PersistentPodState",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules::default())),
    goal,
    end: |store| recorded(store).into_iter().collect(),
};

const STATE: Target = Target::new(PersistentPodState::RESOURCE, WEB);

fn scenarios() -> Vec<Scenario> {
    use Step::{Delete, Edit, Settle};
    let pod = |name| Target::new(PODS, name);
    let with_state = |name| workload::of(&KIND, &WORKLOAD, name, parallel(2)).with(STATE, object());
    vec![
        with_state("comes-back").then([Settle, Delete(pod("web-0")), Delete(pod("web-1")), Settle]),
        with_state("scaled").then([
            Settle,
            Edit(workload::replicas(1)),
            Settle,
            Edit(workload::replicas(3)),
            Settle,
            Delete(pod("web-2")),
            Settle,
        ]),
        with_state("new-node").then([
            Settle,
            Step::Create(Target::new(NODES, "node-d"), node("node-d", "zone-3")),
            Delete(pod("web-1")),
            Settle,
        ]),
        workload::of(&KIND, &WORKLOAD, "generated", asking()).then([
            Settle,
            Edit(workload::environment("2")),
            Settle,
        ]),
    ]
}

fn parallel(count: u32) -> Value {
    let mut set = workload::object(&WORKLOAD, count);
    merge(&mut set, &json!({"spec": {"podManagementPolicy": "Parallel"}}));
    set
}

/// A StatefulSet whose annotations ask for the object.
fn asking() -> Value {
    let mut set = parallel(2);
    let annotations = json!({PPS_AUTO_GENERATE: "true", PPS_REQUIRED_TOPOLOGY: ZONE});
    merge(&mut set, &json!({"metadata": {"annotations": annotations}}));
    set
}

fn object() -> Value {
    let (resource, target) = (PersistentPodState::RESOURCE, StatefulSet::RESOURCE);
    json!({
        "apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": WEB},
        "spec": {
            "targetRef": {"apiVersion": target.api_version(), "kind": target.kind(), "name": WEB},
            "requiredPersistentTopology": {"keys": [ZONE]},
        },
    })
}

fn node(name: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {ZONE: zone}}})
}

/// The workload is where it should be, and every pod is recorded where it runs.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    workload::goal(store, scenario)?;
    let Some(state) = state(store) else { return Err("there is no PersistentPodState".into()) };
    let records = records(state);
    for (name, pod) in resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default")) {
        let recorded = records.get(&*name.1).and_then(|record| record.get("nodeName")?.as_str());
        if PodFacts::read(pod).is_available() && recorded != Some(pod.str("/spec/nodeName")) {
            return Err(format!("pod {} runs elsewhere than recorded: {recorded:?}", name.1));
        }
    }
    Ok(())
}

/// Which pods have a record.
fn recorded(store: &Store) -> BTreeSet<String> {
    state(store).map(|state| records(state).keys().cloned().collect()).unwrap_or_default()
}

fn state(store: &Store) -> Option<&Object> {
    STATE.find(store).map(AsRef::as_ref)
}

fn records(state: &Object) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    state.value.pointer("/status/podStates").and_then(Value::as_object).unwrap_or(&NONE)
}

/// What is recorded, and where pods have been.
#[derive(Default)]
struct Rules {
    /// By uid of the StatefulSet.
    specs: History,
    sets: BTreeMap<String, String>,
    records: Map<String, Value>,
    /// Nodes by name of the pod.
    nodes: BTreeMap<String, BTreeSet<String>>,
    /// By uid of a pod that had a record when it was created: the zone in it.
    promised: BTreeMap<String, String>,
}

impl SafetyRules for Rules {
    fn restored(&mut self, store: &Store) {
        self.records = state(store).map(|state| records(state).clone()).unwrap_or_default();
        self.promised.clear();
        for (name, set) in
            resources::of(StatefulSet::RESOURCE).into_iter().flat_map(|kind| store.list(kind.id, ""))
        {
            self.sets.insert(name.1.to_string(), set.uid().to_owned());
            self.specs.take(set.uid(), SpecFacts::read(&WORKLOAD, set, Instant::now()));
        }
    }

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if change.is_of(PODS) {
            self.pod_changed(change, notes);
        } else if change.is_of(StatefulSet::RESOURCE) {
            self.set_changed(change);
        } else if change.is_of(PersistentPodState::RESOURCE) {
            self.state_changed(change, notes);
        }
    }
}

impl Rules {
    fn set_changed(&mut self, change: &Change<'_>) {
        let (object, at) = (&change.event.object, change.event.at);
        let name = object.str("/metadata/name").to_owned();
        if change.event.what == What::Deleted {
            self.sets.remove(&name);
        } else {
            self.sets.insert(name, object.uid().to_owned());
            self.specs.take(object.uid(), SpecFacts::read(&WORKLOAD, object, at));
        }
    }

    fn pod_changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let pod = &change.event.object;
        let (name, node) = (pod.str("/metadata/name"), pod.str("/spec/nodeName"));
        if change.event.what == What::Added
            && let Some(zone) = self
                .records
                .get(name)
                .and_then(|record| record.get("nodeTopologyLabels")?.get(ZONE)?.as_str())
        {
            self.promised.insert(pod.uid().to_owned(), zone.to_owned());
        }
        if node.is_empty() {
            return;
        }
        let is_new = self.nodes.entry(name.to_owned()).or_default().insert(node.to_owned());
        let zone = zone_of(change.store, node);
        if let Some(promised) = self.promised.remove(pod.uid())
            && zone.as_deref() != Some(promised.as_str())
        {
            notes.broken.push(format!(
                "pod {name} was recorded in {promised} and came back in {zone:?} (new: {is_new})"
            ));
        }
    }

    /// Records of pods that are wanted stay, and a record names a node that its pod has been on.
    fn state_changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let object = &change.event.object;
        let new = if change.event.what == What::Deleted { Map::new() } else { records(object).clone() };
        let old = std::mem::replace(&mut self.records, new);
        if !is_manager(change.who) || change.event.what == What::Deleted {
            return;
        }
        for name in old.keys().filter(|name| !self.records.contains_key(*name)) {
            if self.is_wanted(object.str("/spec/targetRef/name"), name, notes) {
                notes.broken.push(format!("the record of pod {name} was lost"));
            }
        }
        for (name, record) in self.records.iter().filter(|(name, record)| old.get(*name) != Some(*record)) {
            let node = record.get("nodeName").and_then(Value::as_str).unwrap_or_default();
            if !self.nodes.get(name).is_some_and(|nodes| nodes.contains(node)) {
                notes.broken.push(format!("pod {name} was recorded on {node}, where it never was"));
            }
        }
    }

    /// By everything that its StatefulSet asked for lately.
    fn is_wanted(&self, set: &str, pod: &str, notes: &Notes) -> bool {
        let asked = self.sets.get(set).map(|uid| self.specs.asked(uid, notes.lag)).unwrap_or_default();
        let ordinal = pod.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        !asked.is_empty() && asked.iter().all(|spec| ordinal.is_some_and(|one| spec.wants(one)))
    }
}

fn zone_of(store: &Store, node: &str) -> Option<String> {
    let kind = resources::of(NODES)?;
    let node = store.get(kind.id, &("".into(), node.into()))?;
    Some(node.value.pointer("/metadata/labels")?.get(ZONE)?.as_str()?.to_owned())
}
