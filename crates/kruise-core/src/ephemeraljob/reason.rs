//! Why a pod is left alone. The closed list of this kind.

use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};

/// That only so many run at once is what the user asked for.
pub fn parallelism(busy: usize, limit: usize) -> Reason {
    of_kind(names::PARALLELISM, format!("waits for a slot: parallelism {busy} of {limit} in use"))
}

pub fn beyond(replicas: usize) -> Reason {
    of_kind(names::BEYOND_REPLICAS, format!("the job has its {replicas} pods (spec.replicas)"))
}

pub fn taken() -> Reason {
    let text = "has an ephemeral container of the same name that is not of this job";
    of_kind(names::CONTAINER_NAME_TAKEN, text.to_owned())
}

pub fn running() -> Reason {
    of_kind(names::RUNNING, "its containers have not ended yet".to_owned())
}

pub fn finished() -> Reason {
    of_kind(names::FINISHED, "the job is over: no more pods are touched".to_owned())
}

pub fn no_containers() -> Reason {
    of_kind(names::NO_CONTAINERS, "the job has no container to put into it".to_owned())
}

fn of_kind(name: &'static str, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight: 0, text })
}
