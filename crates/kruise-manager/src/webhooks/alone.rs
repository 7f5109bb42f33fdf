//! Admission without caches: what handlers decide when everything they look up is handed in. The simulated API server asks
//! here what a real one asks by way of [`super::webhooks`].

use kruise_core::admission::pod::Steps;
use kruise_core::cloneset::admission::Named;
use kruise_core::gates::Gates;
use kruise_core::persistentpodstate::Supported;
use kruise_core::statefulset::admission::Storage;
use kruise_runtime::webhook::{Answer, Request};

use super::cloneset::CloneSet;
pub use super::cloneset::pods_to_look_up;
use super::statefulset::StatefulSet;
use super::workload::{self, Lookups};
use super::{persistentpodstate, pods};

/// What validation looks up. That the API server takes the template is taken for granted.
#[derive(Debug, Default)]
pub struct Facts {
    pub named: Named,
    pub storage: Storage,
    /// Another PersistentPodState with the same target.
    pub rival: Option<String>,
}

/// Of pods and of kinds of ours; whatever has no defaults passes as it is.
pub fn mutate(request: Request, gates: &Gates, steps: Steps<'_>) -> Answer {
    match request.kind.as_str() {
        "CloneSet" => workload::mutate::<CloneSet>(request, gates),
        "StatefulSet" => workload::mutate::<StatefulSet>(request, gates),
        "Pod" => pods::mutate_by(&request, gates, steps),
        _ => Answer::allowed(),
    }
}

/// Of kinds of ours; whatever has no rules passes.
pub fn validate(request: Request, facts: Facts, gates: &Gates) -> Answer {
    let template = Vec::new();
    match request.kind.as_str() {
        "CloneSet" => {
            workload::validate::<CloneSet>(request, &Lookups { facts: facts.named, template }, gates)
        }
        "StatefulSet" => {
            workload::validate::<StatefulSet>(request, &Lookups { facts: facts.storage, template }, gates)
        }
        "PersistentPodState" => {
            persistentpodstate::validate(&request, facts.rival.as_deref(), &Ok(Supported::default()))
        }
        _ => Answer::allowed(),
    }
}
