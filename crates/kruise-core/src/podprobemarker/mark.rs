//! What results do to one pod: conditions, labels and annotations (NC-4 … NC-7).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kruise_api::conditions::NATIVE;

use super::spec::{Policy, Probe, State};
use crate::pod::{Condition, Edit, Status};

/// What all results of one pod come to. A later result overrules marks of an earlier one; the first one has the condition (NC-5).
#[derive(Debug, Default)]
pub struct Marks {
    labels: BTreeMap<String, Option<String>>,
    annotations: BTreeMap<String, Option<String>>,
    conditions: BTreeMap<Arc<str>, Found>,
}

#[derive(Debug)]
struct Found {
    status: Status,
    message: Option<Arc<str>>,
    since: Option<Timestamp>,
    probed: Option<Timestamp>,
}

/// One result, as the node agent says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub state: State,
    pub message: Option<Arc<str>>,
    pub probed: Option<Timestamp>,
    pub since: Option<Timestamp>,
}

/// What an unknown result does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknowns {
    /// The condition is False, and marks go as NC-6 says.
    Failed,
    /// The condition is Unknown, and marks stay (17).
    Kept,
}

/// Why a condition is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCondition {
    /// An earlier result has it already (NC-5).
    Taken,
    /// It is not for probes (5).
    Reserved,
}

/// Conditions that Kubernetes or Kruise writes (5).
pub fn is_reserved(condition: &str) -> bool {
    NATIVE.contains(&condition)
}

impl Marks {
    /// Adds a result of a probe.
    pub fn add(&mut self, probe: &Probe, said: &Said, unknowns: Unknowns) -> Result<(), NoCondition> {
        let is_kept = said.state == State::Unknown && unknowns == Unknowns::Kept;
        if !is_kept {
            self.mark(&probe.policies, said.state);
        }
        let Some(kind) = &probe.condition else { return Ok(()) };
        if is_reserved(kind) {
            return Err(NoCondition::Reserved);
        }
        if self.conditions.contains_key(kind) {
            return Err(NoCondition::Taken);
        }
        let status = match said.state {
            State::Succeeded => Status::True,
            State::Unknown if is_kept => Status::Unknown,
            State::Failed | State::Unknown => Status::False,
        };
        let found = Found { status, message: said.message.clone(), since: said.since, probed: said.probed };
        self.conditions.insert(Arc::clone(kind), found);
        Ok(())
    }

    /// NC-6: keys of the other result go, then those of this one are set.
    fn mark(&mut self, policies: &[Policy], state: State) {
        if let Some(policy) = policies.iter().rfind(|policy| policy.state != state) {
            self.labels.extend(policy.labels.keys().map(|key| (key.clone(), None)));
            self.annotations.extend(policy.annotations.keys().map(|key| (key.clone(), None)));
        }
        self.set(policies, state);
    }

    /// Sets the keys of a result and removes none (SL-3).
    pub fn set(&mut self, policies: &[Policy], state: State) {
        for policy in policies.iter().filter(|policy| policy.state == state) {
            let all = |map: &BTreeMap<String, String>| {
                map.iter().map(|(key, text)| (key.clone(), Some(text.clone()))).collect::<Vec<_>>()
            };
            self.labels.extend(all(&policy.labels));
            self.annotations.extend(all(&policy.annotations));
        }
    }

    /// Collects what differs from the pod (NC-7).
    pub fn apply(self, edit: &mut Edit<'_>, now: Timestamp) {
        for (key, value) in self.labels {
            match value {
                Some(text) => edit.label(&key, &text),
                None => edit.drop_label(&key),
            }
        }
        for (key, value) in self.annotations {
            match value {
                Some(text) => edit.annotation(&key, &text),
                None => edit.drop_annotation(&key),
            }
        }
        for (kind, found) in self.conditions {
            let since = found.since.unwrap_or(now);
            let condition = Condition::new(kind, found.status, Some(since)).saying(None, found.message);
            edit.probe(condition, found.probed);
        }
    }
}
