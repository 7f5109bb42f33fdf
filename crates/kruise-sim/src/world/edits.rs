//! A user who edits the workload by lot and takes every edit back later, and an autoscaler.

use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};

use super::{World, revert};
use crate::kinds::workload;
use crate::rng::Rng;
use crate::server::{Call, Edit, Part, Verb};

/// Fields that are not edited by their schema: it says nothing about templates, few numbers of ordinals mean anything, and what
/// a policy lets go of does not come back.
const LEFT_ALONE: [&str; 5] = [
    "template",
    "volumeClaimTemplates",
    "ordinals",
    "reserveOrdinals",
    "persistentVolumeClaimRetentionPolicy",
];

const USER: &str = "editor";

/// What is known about the edit that has not been taken back yet.
#[derive(Debug, Default)]
pub struct Edits {
    is_under_way: bool,
    /// What the workload's user has changed since.
    decided: Vec<Value>,
}

impl World {
    /// One edit of a field that the schema describes, taken back after this long.
    pub(super) fn edit_by_lot(&self, seed: u64, lasts: Duration) {
        let Some((kind, _)) = self.subject() else { return };
        let spec = kind.custom().and_then(|custom| custom.schema.field("spec"));
        let Some(edit) = spec.and_then(|spec| spec.edit(&mut Rng::new(seed), &LEFT_ALONE)) else { return };
        self.make("edit-taken", Verb::MergePatch, patch(&edit), lasts);
    }

    /// One edit of a template or of ordinals, taken back after this long.
    pub(super) fn rework_by_lot(&self, seed: u64, lasts: Duration) {
        let (Some(spec), Some((_, target))) = (self.spec(), self.subject()) else { return };
        let Some(workload) = workload::described(target.resource) else { return };
        let rework = workload::drawn(workload, &spec, &mut Rng::new(seed));
        let changed = rework.applied_to(&spec);
        if changed != spec {
            let operation = json!([{"op": "replace", "path": "/spec", "value": changed}]);
            self.make(rework.name, Verb::JsonPatch, operation, lasts);
        }
    }

    /// There is one at a time: whoever takes back the first of two would take back the second, too.
    fn make(&self, name: &'static str, verb: Verb, body: Value, lasts: Duration) {
        if self.edits.lock().unwrap_or_else(PoisonError::into_inner).is_under_way {
            return;
        }
        let Some(before) = self.spec() else { return };
        let version = self.server.lock().store.version();
        if let Err(failure) = self.patch(verb, body) {
            self.storm.strike("edit-refused");
            if self.server.lock().store.version() != version {
                self.ledger.report(format!("a refused edit changed something: {}", failure.message));
            }
            return;
        }
        self.storm.strike(name);
        *self.edits.lock().unwrap_or_else(PoisonError::into_inner) =
            Edits { is_under_way: true, decided: Vec::new() };
        let (world, after) = (self.clone(), self.spec().unwrap_or_default());
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            world.take_back(&before, &after);
        });
    }

    /// Puts back what was changed, unless somebody has decided otherwise since.
    fn take_back(&self, before: &Value, after: &Value) {
        let decided = std::mem::take(&mut *self.edits.lock().unwrap_or_else(PoisonError::into_inner)).decided;
        let Some(now) = self.spec() else { return };
        let decided: Vec<&Value> = decided.iter().filter_map(|patch| patch.get("spec")).collect();
        let wanted = revert::without(before, after, &now, &decided);
        if wanted == now {
            return;
        }
        let operation = json!({"op": "replace", "path": "/spec", "value": wanted});
        if let Err(failure) = self.patch(Verb::JsonPatch, json!([operation])) {
            self.ledger.report(format!("an edit cannot be taken back: {}", failure.message));
        }
    }

    /// The workload's user or an autoscaler changes something: that stays.
    pub(super) fn decide(&self, patch: &Value) {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner).decided.push(patch.clone());
    }

    /// What an autoscaler does.
    pub(super) fn scale(&self, replicas: u32) {
        let body = json!({"spec": {"replicas": replicas}});
        let Some((kind, target)) = self.subject() else { return };
        let at = (target.namespace(), target.name);
        let call = Call::object(Verb::MergePatch, kind, at, body.clone()).part(Part::Scale);
        if self.server.ask("autoscaler", &call).is_ok() {
            self.decide(&body);
        }
    }

    fn patch(&self, verb: Verb, body: Value) -> Result<(), crate::server::Failure> {
        let Some((kind, target)) = self.subject() else { return Ok(()) };
        let at = (target.namespace(), target.name);
        self.server.ask(USER, &Call::object(verb, kind, at, body)).map(drop)
    }

    fn spec(&self) -> Option<Value> {
        let (_, target) = self.subject()?;
        target.find(&self.server.lock().store)?.value.get("spec").cloned()
    }
}

/// As a merge patch.
fn patch(edit: &Edit) -> Value {
    let inner = edit.path.iter().rev().fold(edit.value.clone(), |value, name| json!({name: value}));
    json!({"spec": inner})
}
