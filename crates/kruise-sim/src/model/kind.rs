//! The two workloads that are checked: how a plan is made from a cache.

use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::names;
use kruise_core::chain::Resource;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::revision::Revision;
use kruise_core::{cloneset, statefulset};
use serde_json::{Value, json};

use super::cluster::{Cluster, NOW};
use super::object::Object;
use crate::world::scenario::Kind;

/// Name of the only workload.
pub const NAME: &str = "web";

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
            "apiVersion": format!("{}/v1beta1", names::APPS_GROUP), "kind": self.word(),
            "metadata": {"name": NAME}, "spec": spec, "status": {},
        })
    }

    /// From what the cache holds. `seed` makes names.
    pub fn plan(self, cache: &Cluster, seed: u64) -> Plan {
        let Some(object) = cache.of(Resource::Workload).next() else { return Plan::default() };
        let pods: Vec<Arc<PodView>> = cache.of(Resource::Pod).filter_map(Object::pod).collect();
        let revisions: Vec<Arc<Revision>> =
            cache.of(Resource::Revision).filter_map(Object::revision).collect();
        match self {
            Self::CloneSet => {
                let excluded = cloneset::PreparingDelete::Counted;
                let mut view = cloneset::View::of(object.value(), excluded).with(pods, revisions);
                view.seed = seed;
                cloneset::plan(&view, now())
            }
            Self::StatefulSet => {
                let view = statefulset::View::of(object.value()).with(pods, revisions);
                statefulset::plan(&view, now())
            }
        }
    }
}

/// The instant at which everything happens.
pub fn now() -> Timestamp {
    NOW.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}
