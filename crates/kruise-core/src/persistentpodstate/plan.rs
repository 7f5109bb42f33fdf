//! The order of steps.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::Resource;
use kruise_api::reasons::event;
use serde_json::{Map, Value, json};

use super::generate::{Asker, generate};
use super::object::{NativeStatefulSet, PersistentPodState};
use super::records::{Wanted, wanted};
use super::view::{CustomKinds, Record, View};
use crate::chain::{Event, EventKind, Part, Patch, Write};
use crate::lookup::{Lookup, Slim};
use crate::object::Key;
use crate::plan::Plan;
use crate::statefulset::StatefulSet;
use crate::time;
use crate::workload::base::Head;

/// How long a node may be missing from the cache before its pod is looked at again (D10).
const AGAIN_AFTER: i64 = 5;
/// Bytes of records at which an object comes near what etcd stores (D12); the limit is 1.5 MiB.
const MANY: usize = 1_000_000;

/// The plan of one name: for the object of that name, and for the workloads of that name whose annotations may ask for it.
/// `None` if there is neither.
pub fn plan_name(key: &Key, lookup: Lookup<'_>, custom: &dyn CustomKinds, now: Timestamp) -> Option<Plan> {
    let object = lookup.get::<PersistentPodState>(key);
    let asker = |resource: Resource, head: &Head| Asker::of(&resource.api_version(), resource.kind(), head);
    let native = lookup.get::<NativeStatefulSet>(key);
    let native = native.map(|set| asker(NativeStatefulSet::RESOURCE, &set.head));
    let advanced = lookup.get::<StatefulSet>(key).map(|set| asker(StatefulSet::RESOURCE, &set.head));
    let listed = custom.named(key).into_iter();
    let listed = listed.map(|(kind, one)| Asker::of(&kind.api_version(), &kind.kind, &one.head));
    let askers: Vec<Asker> = native.into_iter().chain(advanced).chain(listed).collect();
    if let Some(chain) = generate(object.as_ref().map(|object| &object.object), &askers) {
        let mut asked = Plan::default();
        asked.act(chain);
        return Some(asked);
    }
    let view = View::assemble(object.as_ref()?, lookup, custom);
    Some(view.map_or_else(Plan::default, |view| plan(&view, now)))
}

/// What should be written for one object.
pub fn plan(view: &View, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if let Some(first) = &view.superseded_by {
        let message = format!(
            "{first} records the pods of the same workload and takes precedence; delete one of the two"
        );
        plan.events.push(Event { kind: EventKind::Warning, reason: event::PPS_SUPERSEDED, message });
        return plan;
    }
    let wanted = wanted(view);
    plan.status = changes(view, &wanted);
    tell(&wanted, &mut plan);
    if wanted.is_early {
        plan.revisit(time::after(now, AGAIN_AFTER));
    }
    plan
}

/// Only entries that changed, so that a rollout of many pods stays small on the wire (PP-15, D12).
fn changes(view: &View, wanted: &Wanted) -> Option<Write> {
    let gone = view.records.keys().filter(|name| !wanted.records.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Value::Null));
    let new = wanted.records.iter().filter(|(name, record)| view.records.get(*name) != Some(record));
    let new = new.map(|(name, record)| (name.clone(), record.patch(view.records.get(name))));
    let states: Map<String, Value> = gone.chain(new).collect();
    if states.is_empty() && view.observed_generation == Some(view.generation) {
        return None;
    }
    let mut status = json!({"observedGeneration": view.generation});
    if let Some(status) = status.as_object_mut().filter(|_| !states.is_empty()) {
        let all = if wanted.records.is_empty() { Value::Null } else { Value::Object(states) };
        status.insert("podStates".to_owned(), all);
    }
    let body = json!({"metadata": {"uid": view.uid.as_str()}, "status": status});
    Some(Write::patch(view.object(), Part::Status, Patch::Merge(body)))
}

fn tell(wanted: &Wanted, plan: &mut Plan) {
    if !wanted.lost.is_empty() {
        let names = wanted.lost.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let message = format!("{} pods were ready last on nodes that are gone: {names}", wanted.lost.len());
        plan.events.push(Event { kind: EventKind::Warning, reason: event::PPS_NODE_LOST, message });
    }
    if near_limit(&wanted.records) {
        let message = format!("{} records come near the size that one object can have", wanted.records.len());
        plan.events.push(Event { kind: EventKind::Warning, reason: event::PPS_NEAR_LIMIT, message });
    }
}

/// Whether the records come near the size that etcd stores in one object.
pub fn near_limit<'a>(records: impl IntoIterator<Item = (&'a String, &'a Record)>) -> bool {
    let size = |map: &BTreeMap<String, String>| -> usize {
        map.iter().map(|(key, value)| key.len() + value.len() + 6).sum()
    };
    // Field names, quotes and braces of one record take about 70 bytes.
    let bytes = |(name, one): (&String, &Record)| {
        70 + name.len() + one.node.len() + size(&one.labels) + size(&one.annotations)
    };
    records.into_iter().map(bytes).sum::<usize>() > MANY
}

impl Record {
    /// The whole record as a merge patch over the stored one: what is not wanted any more is null.
    fn patch(&self, stored: Option<&Self>) -> Value {
        let merged = |new: &BTreeMap<String, String>, old: Option<&BTreeMap<String, String>>| {
            if new.is_empty() {
                return Value::Null;
            }
            let gone = old.into_iter().flatten().filter(|(key, _)| !new.contains_key(*key));
            let gone = gone.map(|(key, _)| (key.clone(), Value::Null));
            Value::Object(gone.chain(new.iter().map(|(key, value)| (key.clone(), json!(value)))).collect())
        };
        json!({
            "nodeName": self.node,
            "nodeTopologyLabels": merged(&self.labels, stored.map(|one| &one.labels)),
            "annotations": merged(&self.annotations, stored.map(|one| &one.annotations)),
        })
    }
}
