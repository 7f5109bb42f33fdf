//! What the rules look at, read from objects without the help of the code they watch over.

use std::collections::BTreeMap;
use std::time::Duration;

use kruise_api::conditions::{IN_PLACE_UPDATE_READY, KRUISE_POD_READY, POD_READY};
use kruise_api::labels::{CLONESET_INSTANCE_ID, LIFECYCLE_STATE, SPECIFIED_DELETE, lifecycle};
use serde_json::Value;
use tokio::time::Instant;

use super::{VERSION_LABEL, Workload};
use crate::server::Object;

/// One pod as it is.
#[derive(Debug, Clone)]
pub struct PodFacts {
    pub name: String,
    pub owner: String,
    /// What its containers run: image and environment.
    pub runs: String,
    /// That, and what can change without a restart: the label and the resources that edits change.
    pub version: String,
    /// Names of the claim templates that it has claims of.
    pub claims: Vec<String>,
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
#[derive(Debug, Clone, PartialEq)]
pub struct SpecFacts {
    pub workload: &'static Workload,
    pub since: Instant,
    pub replicas: i64,
    pub partition: i64,
    pub max_unavailable: i64,
    pub max_surge: i64,
    pub runs: String,
    pub version: String,
    pub claims: Vec<String>,
    pub named: Vec<String>,
    /// The first ordinal, and those that are skipped, from and to.
    pub start: i64,
    pub reserved: Vec<(i64, i64)>,
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
            runs: runs(pod.value.get("spec")),
            version: version(Some(&pod.value)),
            claims: names(pod.value.pointer("/spec/volumes"), |one| {
                one.get("persistentVolumeClaim").and_then(|_| one.get("name"))
            }),
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
    pub fn read(workload: &'static Workload, object: &Object, since: Instant) -> Self {
        let at = |pointer: &str| object.value.pointer(pointer);
        let replicas = at("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
        let rolling = |field: &str| at(&format!("/spec/updateStrategy/rollingUpdate/{field}"));
        let named = at("/spec/scaleStrategy/podsToDelete").and_then(Value::as_array);
        Self {
            workload,
            since,
            replicas,
            partition: rolling("partition")
                .and_then(|value| amount(value, replicas))
                .unwrap_or(0)
                .min(replicas),
            max_unavailable: rolling("maxUnavailable")
                .and_then(|value| amount(value, replicas))
                .unwrap_or_else(|| (workload.usual_unavailable)(replicas)),
            max_surge: rolling("maxSurge").and_then(|value| amount(value, replicas)).unwrap_or(0),
            runs: runs(at("/spec/template/spec")),
            version: version(at("/spec/template")),
            claims: names(at("/spec/volumeClaimTemplates"), |one| one.pointer("/metadata/name")),
            start: at("/spec/ordinals/start").and_then(Value::as_i64).unwrap_or(0),
            reserved: reserved(at("/spec/reserveOrdinals")),
            named: named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

impl SpecFacts {
    /// Whether a StatefulSet has a pod of this ordinal (AS-16).
    pub fn wants(&self, ordinal: i64) -> bool {
        self.start <= ordinal && !self.is_reserved(ordinal) && self.below(ordinal) < self.replicas
    }

    /// How many pods have a lower ordinal.
    pub fn below(&self, ordinal: i64) -> i64 {
        let below = (self.start..ordinal).filter(|one| !self.is_reserved(*one)).count();
        i64::try_from(below).unwrap_or(i64::MAX)
    }

    fn is_reserved(&self, ordinal: i64) -> bool {
        self.reserved.iter().any(|(from, to)| (*from..=*to).contains(&ordinal))
    }

    /// Whether it asks for the same as another one.
    pub fn is_same(&self, other: &Self) -> bool {
        Self { since: other.since, ..self.clone() } == *other
    }
}

/// What every workload asked for, and since when.
#[derive(Debug, Default)]
pub struct History(BTreeMap<String, Vec<SpecFacts>>);

impl History {
    /// A workload came or changed.
    pub fn take(&mut self, uid: &str, facts: SpecFacts) {
        let all = self.0.entry(uid.to_owned()).or_default();
        if !all.last().is_some_and(|last| last.is_same(&facts)) {
            all.push(facts);
        }
    }

    /// What a workload asks for or asked for so recently that the manager may not know better.
    pub fn asked(&self, uid: &str, lag: Duration) -> Vec<SpecFacts> {
        let Some(all) = self.0.get(uid) else { return Vec::new() };
        let now = Instant::now();
        let mut recent = Vec::new();
        for (position, spec) in all.iter().enumerate() {
            let replaced = all.get(position + 1).map(|next| next.since);
            if replaced.is_none_or(|at| now.saturating_duration_since(at) <= lag) {
                recent.push(spec.clone());
            }
        }
        recent
    }

    /// Everything that any workload has ever asked for.
    pub fn all(&self) -> impl Iterator<Item = &SpecFacts> {
        self.0.values().flatten()
    }
}

fn reserved(list: Option<&Value>) -> Vec<(i64, i64)> {
    let range = |one: &Value| match one.as_str() {
        Some(text) => {
            let (from, to) = text.split_once('-')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        }
        None => one.as_i64().map(|only| (only, only)),
    };
    list.and_then(Value::as_array).into_iter().flatten().filter_map(range).collect()
}

/// Sorted.
fn names(list: Option<&Value>, name: impl Fn(&Value) -> Option<&Value>) -> Vec<String> {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    let mut names: Vec<String> = all.filter_map(|one| Some(name(one)?.as_str()?.to_owned())).collect();
    names.sort();
    names
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

/// Of a pod or a template.
fn version(object: Option<&Value>) -> String {
    let label = object.and_then(|object| object.pointer("/metadata/labels")?.get(VERSION_LABEL)?.as_str());
    let mut text = runs(object.and_then(|object| object.get("spec"))) + label.unwrap_or_default();
    let containers = object.and_then(|object| object.pointer("/spec/containers")?.as_array());
    for container in containers.into_iter().flatten() {
        let amount = container.pointer("/resources/requests/cpu").and_then(Value::as_str);
        text = text + ";" + amount.unwrap_or_default();
    }
    text
}

fn runs(spec: Option<&Value>) -> String {
    let mut text = String::new();
    let containers = spec.and_then(|spec| spec.get("containers")?.as_array()).into_iter().flatten();
    // Sidecars are upgraded in pods that serve, and no workload asked for them.
    for container in containers.filter(|one| !is_injected(one)) {
        text += container.get("image").and_then(Value::as_str).unwrap_or_default();
        for variable in container.get("env").and_then(Value::as_array).into_iter().flatten() {
            // Barriers, which admission adds, have no value of their own.
            let Some(value) = variable.get("value").and_then(Value::as_str) else { continue };
            text += " ";
            text += value;
        }
        text += ";";
    }
    text
}

fn is_injected(container: &Value) -> bool {
    let env = container.get("env").and_then(Value::as_array).into_iter().flatten();
    env.filter_map(|variable| variable.get("name")).any(|name| name == kruise_api::env::IS_INJECTED)
}
