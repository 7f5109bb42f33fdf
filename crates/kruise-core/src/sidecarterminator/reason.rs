//! Why a pod whose main containers are done does not end. The closed list of SidecarTerminator.

use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};

pub fn agent(sidecars: &str) -> Reason {
    of_kind(names::AGENT, format!("waits for the node agent (kruise-daemon) to stop the sidecars {sidecars}"))
}

pub fn sidecars_end(sidecars: &str) -> Reason {
    of_kind(names::RECREATING, format!("the sidecars {sidecars} are ending: their image was replaced"))
}

pub fn runs_again(sidecars: &str) -> Reason {
    let text = format!(
        "the sidecars {sidecars} were stopped and run again; they are stopped once more in a moment. If they exit with an error when stopped, set KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE=true on them"
    );
    of_kind(names::SIDECAR_RUNS_AGAIN, text)
}

pub fn given_up(sidecars: &str) -> Reason {
    let text = format!(
        "the sidecars {sidecars} came back after every stop, so the pod gets the result of its main containers and the kubelet stops the rest; set KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE=true on them to have this at once"
    );
    of_kind(names::SIDECAR_RUNS_AGAIN, text)
}

pub fn never_started(sidecars: &str) -> Reason {
    let text = format!(
        "the sidecars {sidecars} have never been started, so there is nothing to stop: mend what keeps them from starting (image, volumes), or delete the pod"
    );
    of_kind(names::SIDECAR_NEVER_STARTED, text)
}

pub fn stuck(sidecars: &str) -> Reason {
    let text = format!(
        "the sidecars {sidecars} run on a virtual node, where only another image ends them: set KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE on them"
    );
    of_kind(names::SIDECAR_UNSTOPPABLE, text)
}

fn of_kind(name: &'static str, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight: 0, text })
}
