//! Deletion: preconditions, grace periods of pods, finalizers, what becomes of dependents.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::admission::Written;
use super::builtin::member;
use super::change::finalizers;
use super::failure::Failure;
use super::request::Call;
use super::resources::{Kind, Rules};
use super::state::{Answer, State};
use super::store::{Object, What};

pub const FOREGROUND: &str = "foregroundDeletion";
pub const ORPHAN: &str = "orphan";

impl State {
    pub(super) fn delete(&mut self, call: &Call) -> Result<Answer, Failure> {
        let (at, old) = self.found(call)?;
        check_preconditions(call, &old)?;
        self.judge(&Written { call, at: &at, old: Some(&old) }, None)?;
        self.remove(call)
    }

    /// Without asking webhooks: an eviction was asked about as such.
    pub(super) fn remove(&mut self, call: &Call) -> Result<Answer, Failure> {
        let (at, old) = self.found(call)?;
        check_preconditions(call, &old)?;
        let mut object = old.value.clone();
        let policy = call.body.get("propagationPolicy").and_then(Value::as_str).unwrap_or_default();
        if !old.is_deleting() {
            add_policy(&mut object, policy);
        }
        let grace = grace_of(call.kind, &call.body, &old);
        if grace == 0 && finalizers(&object).is_empty() {
            let gone = self.commit(call.kind, at, What::Deleted, object);
            return Ok(self.removed(call.kind, &gone));
        }
        if !self.mark(&mut object, &old, grace) {
            return Ok(Answer::object(200, old)); // Asked before, and not for less time.
        }
        let object = self.commit(call.kind, at, What::Modified, object);
        Ok(Answer::object(200, object))
    }

    /// A pod is answered with its end, a claim as it was, all others with a status.
    fn removed(&self, kind: &Kind, gone: &Arc<Object>) -> Answer {
        match &kind.rules {
            Rules::Pod => {
                let mut last = gone.value.clone();
                self.mark(&mut last, gone, 0);
                Answer::object(200, Arc::new(Object::new(last)))
            }
            Rules::Claim => Answer::object(200, Arc::clone(gone)),
            Rules::Revision | Rules::Plain | Rules::Custom(_) => success(kind, gone),
        }
    }

    /// Whether anything about the end of the object changes.
    fn mark(&self, object: &mut Value, old: &Object, grace: i64) -> bool {
        let before = old.value.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
        if old.is_deleting() && before.is_none_or(|before| before <= grace) {
            return false;
        }
        let end = self.now().checked_add(SignedDuration::from_secs(grace)).unwrap_or_else(|_| self.now());
        let Some(metadata) = object.as_object_mut().and_then(|object| member(object, "metadata")) else {
            return false;
        };
        metadata.insert("deletionTimestamp".into(), super::state::seconds(end).into());
        metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
        let generation = metadata.get("generation").and_then(Value::as_i64).filter(|one| *one > 0);
        if let (false, Some(generation)) = (old.is_deleting(), generation) {
            metadata.insert("generation".into(), generation.saturating_add(1).into());
        }
        true
    }
}

/// The answer about an object that knows no grace.
fn success(kind: &Kind, gone: &Object) -> Answer {
    let mut details =
        json!({"name": gone.str("/metadata/name"), "kind": kind.resource.plural(), "uid": gone.uid()});
    if let (false, Some(details)) = (kind.resource.group().is_empty(), details.as_object_mut()) {
        details.insert("group".into(), kind.resource.group().into());
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    Answer::value(200, status)
}

fn check_preconditions(call: &Call, old: &Object) -> Result<(), Failure> {
    let wanted = |field: &str| call.body.pointer(&format!("/preconditions/{field}")).and_then(Value::as_str);
    let checks = [
        ("uid", "UID", old.uid()),
        ("resourceVersion", "ResourceVersion", old.str("/metadata/resourceVersion")),
    ];
    for (field, word, there) in checks {
        if let Some(wanted) = wanted(field)
            && wanted != there
        {
            let why = format!(
                "Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {there}"
            );
            return Err(Failure::precondition(call.kind, &call.name, &why));
        }
    }
    Ok(())
}

/// Only pods end gracefully; those that no kubelet has are gone at once.
fn grace_of(kind: &Kind, options: &Value, pod: &Object) -> i64 {
    match &kind.rules {
        Rules::Pod => {
            let phase = pod.str("/status/phase");
            if pod.str("/spec/nodeName").is_empty() || matches!(phase, "Failed" | "Succeeded") {
                return 0;
            }
            let own = pod.value.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
            options.get("gracePeriodSeconds").and_then(Value::as_i64).or(own).unwrap_or(30).max(0)
        }
        Rules::Claim | Rules::Revision | Rules::Plain | Rules::Custom(_) => 0,
    }
}

fn add_policy(object: &mut Value, policy: &str) {
    let finalizer = match policy {
        "Foreground" => FOREGROUND,
        "Orphan" => ORPHAN,
        _ => return,
    };
    let metadata = object.as_object_mut().and_then(|object| member(object, "metadata"));
    let list = metadata
        .and_then(|metadata| metadata.entry("finalizers").or_insert_with(|| json!([])).as_array_mut());
    if let Some(list) = list
        && !list.iter().any(|one| one == finalizer)
    {
        list.push(finalizer.into());
    }
}
