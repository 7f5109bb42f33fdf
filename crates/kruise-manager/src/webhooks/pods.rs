//! Admission of pods, and for which pods we are asked at all: wiring of `kruise_core::admission`.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use kruise_core::admission::pod::{Steps, admit};
use kruise_core::admission::selection::{Concern, Conditions, select};
use kruise_core::gates::{Gate, Gates};
use kruise_core::persistentpodstate::Target;
use kruise_runtime::certs::{Selection, Selections};
use kruise_runtime::webhook::{Answer, Operation, Request, patch};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::configuration::{MUTATE_POD, VALIDATE_POD};
use super::{Context, persistentpodstate};
use crate::stores::Stores;

/// PW-1. A step that looks things up is handed in here; see [`concerns`] for the pods it is asked about.
pub fn mutate(request: &Request, cx: &Context) -> Answer {
    let place = |pod: &mut Value| persistentpodstate::placed(&cx.stores, &request.namespace, pod);
    let suffix = || cx.names.lock().unwrap_or_else(PoisonError::into_inner).suffix();
    mutate_by(request, &cx.gates, Steps { suffix: &suffix, place: Some(&place) })
}

/// Pure.
pub fn mutate_by(request: &Request, gates: &Gates, steps: Steps<'_>) -> Answer {
    match request.operation {
        Operation::Create => {}
        Operation::Update | Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    match admit(&request.object, gates, steps) {
        Ok(admitted) => Answer::patched(patch(&request.object, admitted)),
        // SM-95: the code of the original.
        Err(refusal) => Answer::denied(500, refusal.to_string()),
    }
}

/// What the selection depends on.
pub struct Selecting {
    pub stores: Arc<Stores>,
    pub gates: Gates,
    pub pod_webhook: PodWebhook,
    pub conditions: Conditions,
    pub own_namespace: String,
}

/// Feature gate PodWebhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodWebhook {
    On,
    Off,
}

/// Before somebody leads, and where somebody else does: whatever is selected stays.
pub fn nobody_decides() -> Selections {
    Selections::from([(MUTATE_POD, None), (VALIDATE_POD, None)])
}

/// Wakes the selection when objects that [`concerns`] reads change.
pub fn wake(stores: &Stores, changed: &Arc<Notify>) {
    let changed = Arc::clone(changed);
    stores.pod_states.on_change(move |_| changed.notify_one());
}

/// Keeps the selection current for as long as we lead.
pub async fn keep_selected(selecting: Selecting, changed: Arc<Notify>, out: watch::Sender<Selections>) {
    loop {
        let now = selecting.selections();
        out.send_if_modified(|known| {
            let is_new = *known != now;
            *known = now;
            is_new
        });
        changed.notified().await;
    }
}

impl Selecting {
    fn selections(&self) -> Selections {
        let pods = match self.pod_webhook {
            PodWebhook::On => concerns(&self.stores, &self.gates),
            PodWebhook::Off => BTreeSet::new(),
        };
        // No rule of ours needs to be asked about changes and deletions of pods.
        let none = BTreeSet::new();
        Selections::from([(MUTATE_POD, Some(self.select(&pods))), (VALIDATE_POD, Some(self.select(&none)))])
    }

    fn select(&self, concerns: &BTreeSet<Concern>) -> Selection {
        let selection = select(concerns, &self.own_namespace, self.conditions);
        Selection {
            namespace_selector: selection.namespace_selector,
            object_selector: selection.object_selector,
            match_conditions: selection.match_conditions,
        }
    }
}

/// The pods that something acts on when they are created. A kind that does adds its objects here, wakes the selection in
/// [`wake`], and its step in [`mutate`].
fn concerns(stores: &Stores, gates: &Gates) -> BTreeSet<Concern> {
    let everybody = gates.on(Gate::PodReadinessGate).then_some(Concern::Everybody);
    let placed = stores.pod_states.all().into_iter().map(|state| {
        let target = Target::read(state.object.pointer("/spec/targetRef").unwrap_or(&Value::Null));
        Concern::OwnedBy { namespace: state.meta.namespace.to_string(), kind: target.kind, name: target.name }
    });
    // By what they say themselves; no object of ours stands behind them.
    everybody.into_iter().chain([Concern::Launching]).chain(placed).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stores::Optional;

    fn selections(gates: Gates, pod_webhook: PodWebhook) -> Selections {
        let stores = Arc::new(Stores::new(Optional::default()));
        let own_namespace = "kruise-system".to_owned();
        Selecting { stores, gates, pod_webhook, conditions: Conditions::Known, own_namespace }.selections()
    }

    #[test]
    fn without_gate_and_objects_only_pods_that_ask_for_an_order_are_selected() {
        let nothing = selections(Gates::default(), PodWebhook::Off);
        for path in [MUTATE_POD, VALIDATE_POD] {
            assert_ne!(nothing[path].as_ref().unwrap().object_selector, json!({}), "{path}");
        }
        let usual = selections(Gates::default(), PodWebhook::On);
        let asked = usual[MUTATE_POD].as_ref().unwrap().match_conditions[0]["expression"].clone();
        assert!(asked.as_str().unwrap().contains("KRUISE_CONTAINER_PRIORITY"), "{asked}");
        assert_eq!(usual[VALIDATE_POD], nothing[VALIDATE_POD]);
        let all = Gates::default().with(Gate::PodReadinessGate);
        let every = selections(all.clone(), PodWebhook::On)[MUTATE_POD].clone().unwrap();
        assert_eq!((every.object_selector, every.match_conditions), (json!({}), json!([])));
        assert_eq!(selections(all, PodWebhook::Off), nothing);
    }

    #[tokio::test]
    async fn pw_1_pod_is_patched_on_creation_only() {
        let owner = json!({"apiVersion": "apps.kruise.io/v1beta1", "controller": true});
        let mut request = Request {
            operation: Operation::Create,
            version: "v1".into(),
            kind: "Pod".into(),
            namespace: "ns".into(),
            name: "a".into(),
            object: json!({"metadata": {"ownerReferences": [owner]}, "spec": {"containers": []}}),
            old: Value::Null,
        };
        let cx = Context::for_tests(Stores::new(Optional::default()));
        assert_eq!(json!(mutate(&request, &cx).patch[0])["path"], "/spec/readinessGates");
        request.operation = Operation::Update;
        assert_eq!(mutate(&request, &cx), Answer::allowed());
    }
}
