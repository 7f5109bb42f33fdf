//! A user who edits the workload by lot and takes every edit back later, and an autoscaler.

use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};

use super::World;
use crate::rng::Rng;
use crate::server::{Call, Edit, Part, Verb};

/// Fields that are not edited by lot: the rules of the simulator do not know what these ask for.
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
    /// One edit, taken back after this long. There is one at a time: whoever takes back the first of two would take back the
    /// second, too.
    pub(super) fn edit_by_lot(&self, seed: u64, lasts: Duration) {
        if self.edits.lock().unwrap_or_else(PoisonError::into_inner).is_under_way {
            return;
        }
        let spec = self.set.custom().and_then(|custom| custom.schema.field("spec"));
        let Some(edit) = spec.and_then(|spec| spec.edit(&mut Rng::new(seed), &LEFT_ALONE)) else { return };
        let Some(before) = self.spec() else { return };
        let version = self.server.lock().store.version();
        if let Err(failure) = self.patch(Verb::MergePatch, patch(&edit)) {
            self.storm.strike("edit-refused");
            if self.server.lock().store.version() != version {
                self.ledger.report(format!("a refused edit changed something: {}", failure.message));
            }
            return;
        }
        self.storm.strike("edit-taken");
        *self.edits.lock().unwrap_or_else(PoisonError::into_inner) =
            Edits { is_under_way: true, decided: Vec::new() };
        let (world, after) = (self.clone(), self.spec().unwrap_or_default());
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            world.take_back(&edit, &before, &after);
        });
    }

    /// Puts back what was changed, unless somebody has decided otherwise since.
    fn take_back(&self, edit: &Edit, before: &Value, after: &Value) {
        let decided = std::mem::take(&mut *self.edits.lock().unwrap_or_else(PoisonError::into_inner)).decided;
        let Some(now) = self.spec() else { return };
        // The first name on the way that was not there before takes everything below with it.
        let lengths = 1..=edit.path.len();
        let was = |length: usize| before.pointer(&pointer(edit.path.iter().take(length)));
        let length = lengths.clone().find(|length| was(*length).is_none()).unwrap_or(edit.path.len());
        let place = pointer(edit.path.iter().take(length));
        let is_decided = decided.iter().any(|patch| patch.pointer(&format!("/spec{place}")).is_some());
        let is_back = now.pointer(&place) == before.pointer(&place);
        if is_decided || is_back || now.pointer(&place) != after.pointer(&place) {
            return;
        }
        let path = format!("/spec{place}");
        let operation = match before.pointer(&place) {
            Some(value) => json!({"op": "replace", "path": path, "value": value}),
            None => json!({"op": "remove", "path": path}),
        };
        if let Err(failure) = self.patch(Verb::JsonPatch, json!([operation])) {
            self.ledger.report(format!("an edit of {path} cannot be taken back: {}", failure.message));
        }
    }

    /// The workload's user changes something: that stays.
    pub(super) fn decide(&self, patch: &Value) {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner).decided.push(patch.clone());
    }

    /// What an autoscaler does.
    pub(super) fn scale(&self, replicas: u32) {
        let body = json!({"spec": {"replicas": replicas}});
        let call = Call::object(Verb::MergePatch, self.set, ("default", "web"), body).part(Part::Scale);
        drop(self.server.ask("autoscaler", &call));
    }

    fn patch(&self, verb: Verb, body: Value) -> Result<(), crate::server::Failure> {
        self.server.ask(USER, &Call::object(verb, self.set, ("default", "web"), body)).map(drop)
    }

    fn spec(&self) -> Option<Value> {
        let state = self.server.lock();
        state.store.get(self.set.id, &("default".into(), "web".into()))?.value.get("spec").cloned()
    }
}

/// As a merge patch.
fn patch(edit: &Edit) -> Value {
    let inner = edit.path.iter().rev().fold(edit.value.clone(), |value, name| json!({name: value}));
    json!({"spec": inner})
}

fn pointer<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.fold(String::new(), |path, name| path + "/" + name)
}
