//! Owners of lifecycle hooks: they let a pod go that waits for them, and take an updated one back.

use kruise_api::labels::{LIFECYCLE_STATE, lifecycle};
use serde_json::json;

use super::Actors;
use crate::server::{Call, Name, Verb};

/// The label that scenarios hang their hooks on.
pub const HOOK: &str = "example.com/hold";

impl Actors {
    pub(super) fn hook(&mut self, name: &Name) {
        let Some(pod) = self.get(self.kinds.pods, name) else { return };
        let label = |key: &str| {
            pod.value
                .pointer("/metadata/labels")
                .and_then(|labels| labels.get(key))
                .and_then(|value| value.as_str())
        };
        let state = label(LIFECYCLE_STATE).unwrap_or_default();
        let is_held = label(HOOK).is_some();
        let wanted = match state {
            lifecycle::PREPARING_DELETE | lifecycle::PREPARING_UPDATE if is_held => json!(null),
            lifecycle::UPDATED if !is_held => json!("true"),
            _ => return,
        };
        let body = json!({"metadata": {"uid": pod.uid(), "labels": {HOOK: wanted}}});
        self.write("hook", &Call::object(Verb::MergePatch, self.kinds.pods, (&name.0, &name.1), body));
    }
}
