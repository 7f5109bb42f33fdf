//! What the rules look at, read from objects without the help of the code they watch over.

use kruise_api::conditions::{IN_PLACE_UPDATE_READY, KRUISE_POD_READY, POD_READY};
use kruise_api::labels::{CLONESET_INSTANCE_ID, LIFECYCLE_STATE, SPECIFIED_DELETE, lifecycle};
use serde_json::Value;
use tokio::time::Instant;

use crate::server::Object;
use crate::world::scenario::Kind;

/// One pod as it is.
#[derive(Debug, Clone)]
pub struct PodFacts {
    pub name: String,
    pub owner: String,
    /// What its containers run: image and environment.
    pub version: String,
    pub stage: Stage,
    pub specified: bool,
    pub instance: String,
}

/// Where a pod is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not ready, or not again.
    Starts,
    Serves,
    /// Failed or finished.
    Ended,
    /// Being deleted.
    Leaves,
}

/// What a workload asked for, from some instant on.
#[derive(Debug, Clone)]
pub struct SpecFacts {
    pub kind: Kind,
    pub since: Instant,
    pub replicas: i64,
    pub partition: i64,
    pub max_unavailable: i64,
    pub max_surge: i64,
    pub version: String,
    pub named: Vec<String>,
}

impl PodFacts {
    pub fn read(pod: &Object) -> Self {
        let label = |key: &str| {
            pod.value.pointer("/metadata/labels").and_then(|all| all.get(key)).and_then(Value::as_str)
        };
        let owners = pod.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owner = owners.into_iter().flatten().find_map(|one| one.get("uid")?.as_str());
        // As availability is defined for both kinds: a pod that a hook holds does not count.
        let is_normal = label(LIFECYCLE_STATE).is_none_or(|state| state == lifecycle::NORMAL);
        let is_true = |kind: &str| condition(pod, kind) == Some("True");
        let is_not_false = |kind: &str| condition(pod, kind) != Some("False");
        Self {
            name: pod.str("/metadata/name").to_owned(),
            owner: owner.unwrap_or_default().to_owned(),
            version: version(pod.value.get("spec").unwrap_or(&Value::Null)),
            stage: if pod.is_deleting() {
                Stage::Leaves
            } else if matches!(pod.str("/status/phase"), "Failed" | "Succeeded") {
                Stage::Ended
            } else if is_normal
                && is_true(POD_READY)
                && is_not_false(IN_PLACE_UPDATE_READY)
                && is_not_false(KRUISE_POD_READY)
            {
                Stage::Serves
            } else {
                Stage::Starts
            },
            specified: label(SPECIFIED_DELETE).is_some(),
            instance: label(CLONESET_INSTANCE_ID).unwrap_or_default().to_owned(),
        }
    }

    /// Counts as one of its workload's replicas.
    pub fn is_active(&self) -> bool {
        match self.stage {
            Stage::Serves | Stage::Starts => true,
            Stage::Ended | Stage::Leaves => false,
        }
    }

    pub fn is_available(&self) -> bool {
        self.stage == Stage::Serves
    }

    pub fn ordinal(&self) -> Option<i64> {
        self.name.rsplit_once('-').and_then(|(_, number)| number.parse().ok())
    }
}

impl SpecFacts {
    pub fn read(kind: Kind, object: &Object, since: Instant) -> Self {
        let at = |pointer: &str| object.value.pointer(pointer);
        let replicas = at("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
        let rolling = |field: &str| at(&format!("/spec/updateStrategy/rollingUpdate/{field}"));
        let usual = match kind {
            Kind::CloneSet => replicas.saturating_mul(20).saturating_add(99) / 100,
            Kind::StatefulSet => 1,
        };
        let named = at("/spec/scaleStrategy/podsToDelete").and_then(Value::as_array);
        Self {
            kind,
            since,
            replicas,
            partition: rolling("partition")
                .and_then(|value| amount(value, replicas))
                .unwrap_or(0)
                .min(replicas),
            max_unavailable: rolling("maxUnavailable")
                .and_then(|value| amount(value, replicas))
                .unwrap_or(usual),
            max_surge: rolling("maxSurge").and_then(|value| amount(value, replicas)).unwrap_or(0),
            version: version(at("/spec/template/spec").unwrap_or(&Value::Null)),
            named: named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

/// Percentages are rounded up: what a rule allows is never less than what any planner may do.
fn amount(value: &Value, of: i64) -> Option<i64> {
    match value.as_str() {
        Some(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            Some(percent.saturating_mul(of).saturating_add(99) / 100)
        }
        None => value.as_i64(),
    }
}

fn condition<'a>(pod: &'a Object, kind: &str) -> Option<&'a str> {
    let all = pod.value.pointer("/status/conditions").and_then(Value::as_array)?;
    let found = all.iter().find(|one| one.get("type").and_then(Value::as_str) == Some(kind))?;
    found.get("status").and_then(Value::as_str)
}

fn version(spec: &Value) -> String {
    let mut text = String::new();
    for container in spec.get("containers").and_then(Value::as_array).into_iter().flatten() {
        text += container.get("image").and_then(Value::as_str).unwrap_or_default();
        for variable in container.get("env").and_then(Value::as_array).into_iter().flatten() {
            text += " ";
            text += variable.get("value").and_then(Value::as_str).unwrap_or_default();
        }
        text += ";";
    }
    text
}
