//! Collects what should change on one pod and turns it into the smallest patch. What is already so is not written.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::kubernetes::status;
use serde_json::{Map, Value, json};

use super::texts::Texts;
use super::view::{Condition, PodView, Status};
use crate::chain::{Act, Op, Part, Patch, Write};
use crate::time;

/// Changes of one pod that travel in one write.
#[derive(Debug, Clone)]
pub struct Edit<'a> {
    pod: &'a PodView,
    labels: BTreeMap<String, Option<String>>,
    annotations: BTreeMap<String, Option<String>>,
    finalizers: Vec<String>,
    dropped_finalizers: Vec<String>,
    /// With their position in the pod, if they have one.
    conditions: BTreeMap<Arc<str>, Condition>,
    /// When a probe found what its condition says.
    probed: BTreeMap<Arc<str>, Timestamp>,
    /// JSON path below the pod and value.
    spec: Vec<(String, Value)>,
}

/// What the patch tests before it changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The same pod; others may have written meanwhile.
    Identity,
    /// Exactly the version that the decision was made on.
    Version,
}

impl<'a> Edit<'a> {
    pub fn of(pod: &'a PodView) -> Self {
        Self {
            pod,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            finalizers: Vec::new(),
            dropped_finalizers: Vec::new(),
            conditions: BTreeMap::new(),
            probed: BTreeMap::new(),
            spec: Vec::new(),
        }
    }

    pub fn pod(&self) -> &'a PodView {
        self.pod
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
            && self.annotations.is_empty()
            && self.finalizers.is_empty()
            && self.dropped_finalizers.is_empty()
            && self.conditions.is_empty()
            && self.spec.is_empty()
    }

    pub fn label(&mut self, key: &str, value: &str) {
        if self.pod.labels.get(key) != Some(value) {
            self.labels.insert(key.to_owned(), Some(value.to_owned()));
        }
    }

    pub fn drop_label(&mut self, key: &str) {
        if self.pod.labels.has(key) {
            self.labels.insert(key.to_owned(), None);
        }
    }

    pub fn annotation(&mut self, key: &str, value: &str) {
        if self.pod.annotations.get(key) != Some(value) {
            self.annotations.insert(key.to_owned(), Some(value.to_owned()));
        }
    }

    pub fn drop_annotation(&mut self, key: &str) {
        if self.pod.annotations.has(key) {
            self.annotations.insert(key.to_owned(), None);
        }
    }

    pub fn finalizer(&mut self, name: &str) {
        if !self.pod.finalizers.iter().any(|one| one.as_ref() == name) {
            self.finalizers.push(name.to_owned());
        }
    }

    pub fn drop_finalizer(&mut self, name: &str) {
        if self.pod.finalizers.iter().any(|one| one.as_ref() == name) {
            self.dropped_finalizers.push(name.to_owned());
        }
    }

    pub fn image(&mut self, container: &str, image: &str) {
        let found = self.pod.containers.iter().enumerate().find(|(_, one)| one.name.as_ref() == container);
        if let Some((position, there)) = found
            && there.image.as_ref() != image
        {
            self.spec.push((format!("/spec/containers/{position}/image"), Value::from(image)));
        }
    }

    /// Sets one quantity of a container, for API servers without the resize endpoint; only where it exists (SM-37).
    pub fn quantity(&mut self, container: &str, path: &str, value: &str) {
        let position = self.pod.containers.iter().position(|one| one.name.as_ref() == container);
        if let Some(position) = position {
            self.spec.push((format!("/spec/containers/{position}/resources/{path}"), Value::from(value)));
        }
    }

    /// Sets a condition. The transition time moves only with the status; an equal condition is left alone (M11).
    pub fn condition(
        &mut self,
        kind: &str,
        status: Status,
        why: (Option<&str>, Option<&str>),
        now: Timestamp,
    ) {
        let there = self.current(kind);
        let since = there.filter(|one| one.status == status).and_then(Condition::since).unwrap_or(now);
        let wanted = Condition::new(kind.into(), status, Some(since))
            .saying(why.0.map(Arc::from), why.1.map(Arc::from));
        let is_same = there.is_some_and(|one| {
            one.status == status && one.reason() == wanted.reason() && one.message() == wanted.message()
        });
        if !is_same {
            self.conditions.insert(kind.into(), wanted);
        }
    }

    /// Sets what a probe found, with the times of the probe. Times alone are no news (NC-7).
    pub fn probe(&mut self, wanted: Condition, probed: Option<Timestamp>) {
        let is_same = self
            .current(&wanted.kind)
            .is_some_and(|there| there.status == wanted.status && there.message() == wanted.message());
        if is_same {
            return;
        }
        self.probed.extend(probed.map(|at| (Arc::clone(&wanted.kind), at)));
        self.conditions.insert(Arc::clone(&wanted.kind), wanted);
    }

    /// The condition as it will be.
    pub fn current(&self, kind: &str) -> Option<&Condition> {
        self.conditions.get(kind).or_else(|| self.pod.condition(kind))
    }

    /// The write, if anything changes. Conditions make it a status write, which carries labels and annotations too.
    pub fn write(&self, guard: Guard) -> Option<Write> {
        if self.is_empty() {
            return None;
        }
        let part = if self.conditions.is_empty() { Part::Object } else { Part::Status };
        let patch = if guard == Guard::Version || self.touches_only_what_exists() {
            Patch::Json(self.operations(guard))
        } else {
            Patch::Strategic(self.strategic())
        };
        Some(Write::patch(self.pod.object(), part, patch))
    }

    /// The write that follows an earlier one on the same version of the pod: only while the condition still says what that
    /// one made it say.
    pub fn write_after(&self, earlier: &Self, kind: &str) -> Option<Write> {
        let mut write = self.write(Guard::Identity)?;
        if let (Act::Patch(Patch::Json(ops)), Some(condition)) = (&mut write.act, earlier.current(kind)) {
            let path = format!("/status/conditions/{}", earlier.position(kind));
            let value = earlier.wire(condition);
            let fields = ["type", "status", "lastTransitionTime"].into_iter();
            let tests = fields
                .filter_map(|field| Some(Op::test(&format!("{path}/{field}"), value.get(field)?.clone())));
            ops.splice(1..1, tests);
        }
        Some(write)
    }

    /// Where a condition stands once this is written: in its place, or behind all that are there.
    fn position(&self, kind: &str) -> usize {
        let place = |wanted: &str| self.pod.conditions.iter().position(|one| one.kind.as_ref() == wanted);
        place(kind).unwrap_or_else(|| {
            let new = self.conditions.keys().filter(|one| place(one).is_none() && one.as_ref() < kind);
            self.pod.conditions.len() + new.count()
        })
    }

    /// Adding a map, a list or a list item without knowing the version could overwrite or double what came meanwhile.
    fn touches_only_what_exists(&self) -> bool {
        let pod = self.pod;
        self.conditions.keys().all(|kind| pod.condition(kind).is_some())
            && (self.labels.is_empty() || !pod.labels.is_empty())
            && (self.annotations.is_empty() || !pod.annotations.is_empty())
            && self.finalizers.is_empty()
    }

    fn operations(&self, guard: Guard) -> Vec<Op> {
        let mut ops = vec![match guard {
            Guard::Identity => Op::test("/metadata/uid", self.pod.uid.as_str()),
            Guard::Version => Op::test("/metadata/resourceVersion", self.pod.version.as_str()),
        }];
        map_operations(&mut ops, "/metadata/labels", &self.labels, &self.pod.labels);
        map_operations(&mut ops, "/metadata/annotations", &self.annotations, &self.pod.annotations);
        if self.pod.finalizers.is_empty() && !self.finalizers.is_empty() {
            ops.push(Op::add("/metadata/finalizers", self.finalizers.clone()));
        } else {
            ops.extend(self.finalizers.iter().map(|one| Op::add("/metadata/finalizers/-", one.as_str())));
        }
        ops.extend(self.finalizer_removals());
        for (path, value) in &self.spec {
            if guard == Guard::Identity
                && let Some((container, name)) = self.container_at(path)
            {
                ops.push(Op::test(&format!("{container}/name"), name));
            }
            ops.push(Op::Replace { path: path.clone(), value: value.clone() });
        }
        self.condition_operations(guard, &mut ops);
        ops
    }

    /// From the last position to the first, so that the earlier positions stay right; each under a test of its name.
    fn finalizer_removals(&self) -> Vec<Op> {
        let positions = self.pod.finalizers.iter().enumerate().rev();
        let dropped =
            positions.filter(|(_, one)| self.dropped_finalizers.iter().any(|name| one.as_ref() == name));
        dropped
            .flat_map(|(at, name)| {
                let path = format!("/metadata/finalizers/{at}");
                [Op::test(&path, name.as_ref()), Op::Remove { path }]
            })
            .collect()
    }

    fn condition_operations(&self, guard: Guard, ops: &mut Vec<Op>) {
        if self.pod.conditions.is_empty() && !self.conditions.is_empty() {
            let all: Vec<Value> = self.conditions.values().map(|one| self.wire(one)).collect();
            ops.push(Op::add("/status/conditions", all));
            return;
        }
        for (kind, condition) in &self.conditions {
            match self.pod.conditions.iter().position(|one| one.kind == *kind) {
                Some(at) => {
                    let path = format!("/status/conditions/{at}");
                    if guard == Guard::Identity {
                        ops.push(Op::test(&format!("{path}/type"), kind.as_ref()));
                    }
                    ops.push(Op::Replace { path, value: self.wire(condition) });
                }
                None => ops.push(Op::add("/status/conditions/-", self.wire(condition))),
            }
        }
    }

    /// The container that a spec path lies in, as path and name.
    fn container_at(&self, path: &str) -> Option<(String, &str)> {
        let rest = path.strip_prefix("/spec/containers/")?;
        let position = rest.split('/').next()?;
        let name = self.pod.containers.get(position.parse::<usize>().ok()?)?;
        Some((format!("/spec/containers/{position}"), name.name.as_ref()))
    }

    fn strategic(&self) -> Value {
        let mut metadata = Map::new();
        metadata.insert("uid".to_owned(), Value::from(self.pod.uid.as_str()));
        for (name, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.is_empty() {
                metadata.insert(name.to_owned(), json!(entries));
            }
        }
        if !self.finalizers.is_empty() {
            metadata.insert("finalizers".to_owned(), json!(self.finalizers));
        }
        if !self.dropped_finalizers.is_empty() {
            metadata.insert("$deleteFromPrimitiveList/finalizers".to_owned(), json!(self.dropped_finalizers));
        }
        let mut patch = Map::new();
        patch.insert("metadata".to_owned(), Value::Object(metadata));
        if !self.conditions.is_empty() {
            let all: Vec<Value> = self.conditions.values().map(|one| self.wire(one)).collect();
            patch.insert("status".to_owned(), json!({"conditions": all}));
        }
        if !self.spec.is_empty() {
            patch.insert("spec".to_owned(), json!({"containers": self.containers()}));
        }
        Value::Object(patch)
    }

    /// Changed fields by container name, for a strategic patch.
    fn containers(&self) -> Vec<Value> {
        let mut changed: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for (path, value) in &self.spec {
            let Some((container, name)) = self.container_at(path) else {
                continue;
            };
            let fields = path.strip_prefix(&container).unwrap_or_default().trim_start_matches('/').split('/');
            let nested = fields.rev().fold(value.clone(), |inner, field| json!({field: inner}));
            let entry = changed.entry(name).or_default();
            entry.insert("name".to_owned(), Value::from(name));
            merge(entry, nested);
        }
        changed.into_values().map(Value::Object).collect()
    }

    fn wire(&self, condition: &Condition) -> Value {
        let mut out = Map::new();
        out.insert("type".to_owned(), Value::from(condition.kind.as_ref()));
        let word = match condition.status {
            Status::True => status::TRUE,
            Status::False => status::FALSE,
            Status::Unknown => status::UNKNOWN,
        };
        out.insert("status".to_owned(), Value::from(word));
        out.insert(
            "lastProbeTime".to_owned(),
            self.probed.get(&condition.kind).copied().map(time::seconds).into(),
        );
        out.insert("lastTransitionTime".to_owned(), condition.since().map(time::seconds).into());
        for (key, text) in [("reason", condition.reason()), ("message", condition.message())] {
            if let Some(text) = text {
                out.insert(key.to_owned(), Value::from(text));
            }
        }
        Value::Object(out)
    }
}

/// Adds the members of `more`, object by object.
fn merge(object: &mut Map<String, Value>, more: Value) {
    let Value::Object(more) = more else { return };
    for (key, value) in more {
        match object.get_mut(&key) {
            Some(Value::Object(inner)) => merge(inner, value),
            _ => {
                object.insert(key, value);
            }
        }
    }
}

fn map_operations(ops: &mut Vec<Op>, map: &str, entries: &BTreeMap<String, Option<String>>, there: &Texts) {
    if there.is_empty() {
        let all: BTreeMap<&String, &String> =
            entries.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))).collect();
        if !all.is_empty() {
            ops.push(Op::add(map, json!(all)));
        }
        return;
    }
    for (key, value) in entries {
        let path = Op::path(map, key);
        ops.push(match value {
            Some(value) => Op::add(path, value.as_str()),
            None => Op::Remove { path },
        });
    }
}
