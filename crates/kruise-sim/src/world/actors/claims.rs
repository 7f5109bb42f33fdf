//! Volumes: every claim gets one; a claim that goes is let go when no pod uses it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Actors;
use super::scheduler::claims_of;
use crate::server::{CLAIM_PROTECTION, Call, Name, Object, Part, Verb};

const WHO: &str = "binder";

impl Actors {
    pub(super) fn bind_claim(&mut self, name: &Name) {
        let Some(claim) = self.get(self.kinds.claims, name) else { return };
        if claim.is_deleting() || claim.str("/status/phase") == "Bound" {
            return;
        }
        let size = claim.value.pointer("/spec/resources/requests/storage").cloned().unwrap_or_default();
        let bound = json!({"status": {"phase": "Bound", "capacity": {"storage": size}}});
        let call = Call::object(Verb::MergePatch, self.kinds.claims, (&name.0, &name.1), bound);
        self.write(WHO, &call.part(Part::Status));
    }

    pub(super) fn release_claims(&mut self) {
        let ending: Vec<(Name, Arc<Object>)> = {
            let state = self.server.lock();
            let all = state.store.list(self.kinds.claims.id, "");
            let ending = all.filter(|(_, claim)| claim.is_deleting() && is_protected(claim));
            let used: Vec<(Arc<str>, String)> = state
                .store
                .list(self.kinds.pods.id, "")
                .flat_map(|(at, pod)| {
                    claims_of(pod).into_iter().map(|claim| (at.0.clone(), claim.to_owned()))
                })
                .collect();
            let is_used =
                |at: &Name| used.iter().any(|(namespace, claim)| *namespace == at.0 && **claim == *at.1);
            ending.filter(|(at, _)| !is_used(at)).map(|(at, claim)| (at.clone(), Arc::clone(claim))).collect()
        };
        for (name, claim) in ending {
            let left: Vec<&str> =
                finalizers(&claim).into_iter().filter(|one| *one != CLAIM_PROTECTION).collect();
            let body = json!({"metadata": {"uid": claim.uid(), "finalizers": left}});
            self.write(WHO, &Call::object(Verb::MergePatch, self.kinds.claims, (&name.0, &name.1), body));
        }
    }
}

fn is_protected(claim: &Object) -> bool {
    finalizers(claim).contains(&CLAIM_PROTECTION)
}

fn finalizers(object: &Object) -> Vec<&str> {
    let list = object.value.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
