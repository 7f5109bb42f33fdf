//! The two workloads that are checked: how a plan is made from a cache.

use jiff::Timestamp;
use kruise_api::resource::{PODS, REVISIONS};
use kruise_api::{Resource, names};
use kruise_core::cloneset::{self, CloneSet};
use kruise_core::gates::Gates;
use kruise_core::inplace::Resize;
use kruise_core::lookup::{Lookup, Memory, Slim};
use kruise_core::plan::Plan;
use kruise_core::statefulset::{self, StatefulSet};
use kruise_core::turn::{Setup, Turn};
use kruise_core::workload::base::Sources;
use serde_json::{Value, json};

use super::cluster::{Cluster, NOW};
use super::object::Object;

/// Name of the only workload.
pub const NAME: &str = "web";

/// Which planner is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    CloneSet,
    StatefulSet,
}

impl Kind {
    /// With everything that only differs between the kinds; `extra` is merged into the spec.
    pub fn object(self, replicas: u32, extra: &Value) -> Value {
        let gates = match self {
            Self::CloneSet => json!([]),
            Self::StatefulSet => json!([{"conditionType": "InPlaceUpdateReady"}]),
        };
        let mut spec = json!({
            "replicas": replicas,
            "selector": {"matchLabels": {"app": NAME}},
            "template": {
                "metadata": {"labels": {"app": NAME}},
                "spec": {"readinessGates": gates, "containers": [{"name": "main", "image": "nginx:1"}]},
            },
        });
        json_patch::merge(&mut spec, extra);
        json!({
            "apiVersion": format!("{}/v1beta1", names::APPS_GROUP), "kind": self.resource().kind(),
            "metadata": {"name": NAME}, "spec": spec, "status": {},
        })
    }

    pub fn resource(self) -> Resource {
        match self {
            Self::CloneSet => CloneSet::RESOURCE,
            Self::StatefulSet => StatefulSet::RESOURCE,
        }
    }

    /// From what the cache holds. `seed` makes names.
    pub fn plan(self, cache: &Cluster, seed: u64) -> Plan {
        let Some(object) = cache.of(self.resource()).next() else { return Plan::default() };
        let mut memory = Memory::default();
        cache.of(PODS).filter_map(Object::pod).for_each(|pod| memory.put(pod));
        cache.of(REVISIONS).filter_map(Object::revision).for_each(|revision| memory.put(revision));
        let setup =
            Setup { gates: Gates::default(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let turn = Turn::first(now(), seed);
        let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
        match self {
            Self::CloneSet => {
                let excluded = cloneset::PreparingDelete::Counted;
                let view = cloneset::View::assemble(&CloneSet::read(object.value()), excluded, from);
                cloneset::plan(&view, now())
            }
            Self::StatefulSet => {
                let view = statefulset::View::assemble(&StatefulSet::read(object.value()), from);
                statefulset::plan(&view, now())
            }
        }
    }
}

/// The instant at which everything happens.
pub fn now() -> Timestamp {
    NOW.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}
