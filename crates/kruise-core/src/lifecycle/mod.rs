//! Pod lifecycle states and hooks. Specification: SM-40 … SM-46.
//!
//! Deviation from upstream: M3 (every way back to Normal releases the preUpdateHook key).
//! Never: a write for a pod whose state is right already.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::parts::{Lifecycle, LifecycleHook};
use kruise_api::{
    annotations,
    labels::{self, lifecycle as words},
};
use serde_json::Value;

use crate::pod::{Edit, PodView, string_map};
use crate::readiness::{self, Key};
use crate::time;

/// Where a pod stands; the label `lifecycle.apps.kruise.io/state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifecycleState {
    PreparingNormal,
    /// Also a pod without the label (SM-41).
    Normal,
    PreparingUpdate,
    Updating,
    Updated,
    PreparingDelete,
    /// A value of nobody we know: never available, never moved.
    Foreign,
}

/// One hook: labels and finalizers that somebody else adds and removes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hook {
    pub labels: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    /// Whether the pod leaves traffic while it is held (SM-45).
    pub mark_not_ready: MarkNotReady,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MarkNotReady {
    Yes,
    #[default]
    No,
}

/// `spec.lifecycle`, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hooks {
    pub pre_normal: Option<Hook>,
    pub in_place_update: Option<Hook>,
    pub pre_delete: Option<Hook>,
}

/// What a pod that was found complete or not moves to, if anything (SM-44, without deletions and starts of updates).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Its in-place update has finished (SM-32), or there is none.
    Complete,
    Running,
}

impl LifecycleState {
    pub fn of(pod: &PodView) -> Self {
        match pod.labels.get(labels::LIFECYCLE_STATE) {
            None | Some("" | words::NORMAL) => Self::Normal,
            Some(words::PREPARING_NORMAL) => Self::PreparingNormal,
            Some(words::PREPARING_UPDATE) => Self::PreparingUpdate,
            Some(words::UPDATING) => Self::Updating,
            Some(words::UPDATED) => Self::Updated,
            Some(words::PREPARING_DELETE) => Self::PreparingDelete,
            Some(_) => Self::Foreign,
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::PreparingNormal => words::PREPARING_NORMAL,
            Self::Normal => words::NORMAL,
            Self::PreparingUpdate => words::PREPARING_UPDATE,
            Self::Updating => words::UPDATING,
            Self::Updated => words::UPDATED,
            Self::PreparingDelete => words::PREPARING_DELETE,
            Self::Foreign => "",
        }
    }
}

impl Hook {
    fn of(wire: &LifecycleHook) -> Self {
        let mark = wire.mark_pod_not_ready == Some(true);
        Self {
            labels: wire.labels_handler.clone().unwrap_or_default(),
            finalizers: wire.finalizers_handler.clone().unwrap_or_default(),
            mark_not_ready: if mark { MarkNotReady::Yes } else { MarkNotReady::No },
        }
    }

    /// At least one blocker is on the pod (SM-42).
    pub fn is_held(&self, pod: &PodView) -> bool {
        self.finalizers.iter().any(|name| has_finalizer(pod, name))
            || self.labels.iter().any(|(key, value)| pod.labels.get(key) == Some(value.as_str()))
    }

    /// Its blockers in words: those on the pod, or all if it is only just put there (install/F31).
    pub fn blockers(&self, pod: &PodView) -> String {
        let is_on = |name: &&String| !self.is_held(pod) || has_finalizer(pod, name);
        let is_set = |(key, value): &(&String, &String)| {
            !self.is_held(pod) || pod.labels.get(key.as_str()) == Some(value.as_str())
        };
        let finalizers = self.finalizers.iter().filter(is_on).map(|name| format!("finalizer {name}"));
        let labels = self.labels.iter().filter(is_set).map(|(key, value)| format!("label {key}={value}"));
        finalizers.chain(labels).collect::<Vec<_>>().join(", ")
    }

    /// Every blocker is in the template that a pod is made from (AS-71).
    pub fn is_all_in_template(&self, template: &Value) -> bool {
        let labels = string_map(template.pointer("/metadata/labels"));
        let finalizers = template.pointer("/metadata/finalizers").and_then(Value::as_array);
        let has = |name: &String| finalizers.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
        self.finalizers.iter().all(has)
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// Every blocker is on the pod (SM-43).
    pub fn is_all_hooked(&self, pod: &PodView) -> bool {
        self.finalizers.iter().all(|name| has_finalizer(pod, name))
            && self.labels.iter().all(|(key, value)| pod.labels.get(key) == Some(value.as_str()))
    }
}

impl Hooks {
    /// `None` for a workload without `spec.lifecycle`, which behaves differently from one with an empty one (SM-44).
    pub fn of(wire: &Lifecycle) -> Self {
        Self {
            pre_normal: wire.pre_normal.as_ref().map(Hook::of),
            in_place_update: wire.in_place_update.as_ref().map(Hook::of),
            pre_delete: wire.pre_delete.as_ref().map(Hook::of),
        }
    }

    pub fn holds_update(&self, pod: &PodView) -> bool {
        self.in_place_update.as_ref().is_some_and(|hook| hook.is_held(pod))
    }

    pub fn holds_delete(&self, pod: &PodView) -> bool {
        self.pre_delete.as_ref().is_some_and(|hook| hook.is_held(pod))
    }

    /// With markPodNotReady on either hook a started deletion cannot be cancelled (SM-45).
    pub fn forbids_cancelling(&self) -> bool {
        [&self.pre_delete, &self.in_place_update]
            .into_iter()
            .flatten()
            .any(|hook| hook.mark_not_ready == MarkNotReady::Yes)
    }
}

/// Neither new, nor being updated or deleted: only such a pod can be available.
pub fn is_normal(pod: &PodView) -> bool {
    LifecycleState::of(pod) == LifecycleState::Normal
}

/// The state that a pod reaches without anybody deciding about it (SM-44); `None` if it stays.
pub fn next(
    pod: &PodView,
    hooks: Option<&Hooks>,
    progress: Progress,
    at_target: AtTarget,
) -> Option<LifecycleState> {
    let update_hook = hooks.and_then(|hooks| hooks.in_place_update.as_ref());
    match LifecycleState::of(pod) {
        LifecycleState::PreparingNormal => match hooks.and_then(|hooks| hooks.pre_normal.as_ref()) {
            None => pod.node.is_some().then_some(LifecycleState::Normal),
            Some(hook) => hook.is_all_hooked(pod).then_some(LifecycleState::Normal),
        },
        LifecycleState::PreparingUpdate if at_target == AtTarget::No => None,
        LifecycleState::PreparingUpdate | LifecycleState::Updating => match progress {
            Progress::Running => None,
            Progress::Complete
                if hooks.is_none() || update_hook.is_some_and(|hook| hook.is_all_hooked(pod)) =>
            {
                Some(LifecycleState::Normal)
            }
            Progress::Complete => Some(LifecycleState::Updated),
        },
        LifecycleState::Updated => {
            update_hook.is_none_or(|hook| hook.is_all_hooked(pod)).then_some(LifecycleState::Normal)
        }
        LifecycleState::Normal | LifecycleState::PreparingDelete | LifecycleState::Foreign => None,
    }
}

/// Whether the pod is at the revision it should be at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtTarget {
    Yes,
    No,
}

/// Writes a state with its time stamp and the not-ready keys that belong to it (SM-40, SM-45, M3).
pub fn enter(edit: &mut Edit<'_>, state: LifecycleState, hooks: Option<&Hooks>, now: Timestamp) {
    if LifecycleState::of(edit.pod()) == state && edit.pod().labels.has(labels::LIFECYCLE_STATE) {
        return;
    }
    edit.label(labels::LIFECYCLE_STATE, state.text());
    edit.annotation(annotations::LIFECYCLE_TIMESTAMP, &time::seconds(now));
    let marks = |hook: Option<&Hook>| hook.is_some_and(|hook| hook.mark_not_ready == MarkNotReady::Yes);
    match state {
        LifecycleState::PreparingDelete if marks(hooks.and_then(|hooks| hooks.pre_delete.as_ref())) => {
            readiness::hold(edit, Key::pre_delete(), now);
        }
        LifecycleState::PreparingUpdate if marks(hooks.and_then(|hooks| hooks.in_place_update.as_ref())) => {
            readiness::hold(edit, Key::pre_update(), now);
        }
        LifecycleState::Updated | LifecycleState::Normal => readiness::release(edit, &Key::pre_update(), now),
        LifecycleState::PreparingNormal => {
            // A cancelled deletion gives the pod back to traffic.
            readiness::release(edit, &Key::pre_delete(), now);
            readiness::release(edit, &Key::pre_update(), now);
        }
        LifecycleState::PreparingDelete
        | LifecycleState::PreparingUpdate
        | LifecycleState::Updating
        | LifecycleState::Foreign => {}
    }
}

/// Puts the hook's own labels and finalizers back, so that the next update is held again (SM-44, from Updated).
pub fn rearm(edit: &mut Edit<'_>, hook: &Hook) {
    for (key, value) in &hook.labels {
        edit.label(key, value);
    }
    for finalizer in &hook.finalizers {
        edit.finalizer(finalizer);
    }
}

fn has_finalizer(pod: &PodView, name: &str) -> bool {
    pod.finalizers.iter().any(|one| one.as_ref() == name)
}

#[cfg(test)]
mod tests;
