//! Which containers are sidecars, and how each of them is ended on this node.

use kruise_api::conditions;

use crate::pod::{Container, Ended, Phase, PodView, RestartPolicy};

/// What a pod runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// With a node agent.
    Ordinary,
    /// Without a container runtime of its own.
    Virtual,
}

/// The sidecars of a pod that have not ended yet (ST-7, ST-9).
#[derive(Debug, Default)]
pub struct Classes<'a> {
    /// By another image, on a virtual node.
    pub in_place: Vec<&'a Container>,
    /// By the node agent.
    pub normal: Vec<&'a Container>,
    /// By the node agent, after the pod has its result.
    pub ignored: Vec<&'a Container>,
    /// Nothing can end them on this node (T4).
    pub stuck: Vec<&'a Container>,
}

impl<'a> Classes<'a> {
    pub fn of(pod: &'a PodView, node: Host) -> Self {
        let mut classes = Self::default();
        for container in pod.containers.iter().filter(|one| ended(pod, one).is_none()) {
            let Some(sidecar) = &container.job_sidecar else { continue };
            let class = if node == Host::Virtual {
                if sidecar.image().is_some() { &mut classes.in_place } else { &mut classes.stuck }
            } else if sidecar.ignores_exit_code {
                &mut classes.ignored
            } else {
                &mut classes.normal // Also one with an image only: the agent can stop it (T4).
            };
            class.push(container);
        }
        classes
    }
}

/// ST-3: a job's pod whose main containers are done while a sidecar goes on. What rules most pods out comes first (T10).
pub fn is_due(pod: &PodView) -> bool {
    if pod.restart_policy == RestartPolicy::Always
        || !pod.containers.iter().any(|one| one.job_sidecar.is_some())
    {
        return false;
    }
    // One that ended without us, as an evicted one, is the kubelet's to clean up.
    let is_over = is_over(pod) && pod.condition(conditions::SIDECAR_TERMINATED).is_none();
    if pod.deleted.is_some() || pod.phase == Phase::Pending || is_over || !has_all_statuses(pod) {
        return false;
    }
    let mut main = pod.containers.iter().filter(|one| one.job_sidecar.is_none()).peekable();
    if main.peek().is_none() {
        return false; // T2: nothing whose end could be waited for.
    }
    let is_done = |container: &Container| match pod.restart_policy {
        RestartPolicy::OnFailure => ended(pod, container) == Some(Ended::Well),
        RestartPolicy::Never | RestartPolicy::Always => ended(pod, container).is_some(),
    };
    let mut sidecars = pod.containers.iter().filter(|one| one.job_sidecar.is_some());
    main.all(is_done) && sidecars.any(|one| ended(pod, one).is_none())
}

/// Whether all main containers ended with exit code 0 (ST-16).
pub fn has_succeeded(pod: &PodView) -> bool {
    let mut main = pod.containers.iter().filter(|one| one.job_sidecar.is_none());
    main.all(|container| ended(pod, container) == Some(Ended::Well))
}

pub fn is_over(pod: &PodView) -> bool {
    matches!(pod.phase, Phase::Succeeded | Phase::Failed)
}

/// ST-2: a status that is missing says nothing about any container.
fn has_all_statuses(pod: &PodView) -> bool {
    pod.statuses.len() == pod.containers.len()
}

fn ended(pod: &PodView, container: &Container) -> Option<Ended> {
    pod.status_of(&container.name)?.ended
}
