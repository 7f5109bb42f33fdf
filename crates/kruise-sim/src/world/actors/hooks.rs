//! Owners of lifecycle hooks: they let a pod go that waits for them, and take an updated one back.

use kruise_api::labels::{LIFECYCLE_STATE, lifecycle};
use serde_json::json;

use super::Actors;
use crate::server::{Call, Name, Object, Verb, resources};

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
            lifecycle::UPDATED if !is_held && self.is_hooked(&pod) => json!("true"),
            _ => return,
        };
        let body = json!({"metadata": {"uid": pod.uid(), "labels": {HOOK: wanted}}});
        self.write("hook", &Call::object(Verb::MergePatch, self.kinds.pods, (&name.0, &name.1), body));
    }

    /// Whether our hook is on all pods of its workload: hooks of others are not ours to give back.
    fn is_hooked(&self, pod: &Object) -> bool {
        let text = |field: &str| pod.str(&format!("/metadata/ownerReferences/0/{field}"));
        let Some(kind) = resources::of_kind(kruise_api::names::APPS_GROUP, text("kind")) else {
            return false;
        };
        let owner = self.get(kind, &("default".into(), text("name").into()));
        let labels = owner.as_ref().and_then(|owner| owner.value.pointer("/spec/template/metadata/labels"));
        labels.is_some_and(|labels| labels.get(HOOK).is_some())
    }
}
