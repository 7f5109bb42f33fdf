//! Which request is next, where its containers stand, and which one to stop. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kruise_api::apps::containerrecreaterequest::v1beta1::{
    ContainerRecreateRequest, RecreateContainer, RecreateFailurePolicy, RecreatePhase, RecreateState,
    RecreateStrategy,
};
use kruise_api::conditions::{PRE_RECREATE_GRACE, STOP_ISSUED};
use kruise_api::kubernetes::status::TRUE;
use kruise_api::parts::StrictCondition;

use crate::cri::ContainerId;
use crate::kill::{Hook, PodOf, Port, Target, message_of};

/// KC with a pod made from the request: without a grace period of its own.
const GRACE: i64 = 30;

/// After the pod was made unready, on top of the grace period (CD-4).
const UNREADY_MARGIN: SignedDuration = SignedDuration::from_millis(100);

/// The newest container of a name in the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub id: ContainerId,
    pub restart_count: i32,
    pub has_exited: bool,
    pub started_at: Option<Timestamp>,
}

/// What to do about the requests of one pod.
#[derive(Debug, PartialEq)]
pub struct Pick<'a> {
    pub next: Option<&'a ContainerRecreateRequest>,
    /// They wait, and say so (CD-2).
    pub to_pending: Vec<&'a ContainerRecreateRequest>,
}

/// What to do about one request whose containers were looked at.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Write these states and come back (CD-8).
    Write(Vec<RecreateState>),
    /// Stop this container, then write the states that follow from the outcome (CD-9).
    Stop { index: usize, target: Box<Target>, states: Vec<RecreateState>, is_forced: bool },
    /// The request is over (CD-9, CD-11).
    Complete,
    /// Nothing to do before something changes, or this long.
    Wait(Option<SignedDuration>),
}

fn phase(request: &ContainerRecreateRequest) -> &str {
    request.status.as_ref().map_or("", |status| status.phase.as_str())
}

pub fn is_over(request: &ContainerRecreateRequest) -> bool {
    request.metadata.deletion_timestamp.is_some()
        || phase(request) == RecreatePhase::Completed.as_str()
        || request.status.as_ref().is_some_and(|status| status.completion_time.is_some())
}

/// CD-2: Recreating before Pending before new, the oldest first.
pub fn pick<'a>(requests: impl IntoIterator<Item = &'a ContainerRecreateRequest>) -> Pick<'a> {
    let weight = |request: &ContainerRecreateRequest| match RecreatePhase::from(phase(request)) {
        RecreatePhase::Completed => 0,
        RecreatePhase::Recreating => 1,
        RecreatePhase::Pending => 2,
        RecreatePhase::Succeeded | RecreatePhase::Failed | RecreatePhase::Other(_) => 3,
    };
    let mut open: Vec<_> = requests.into_iter().filter(|request| !is_over(request)).collect();
    let created =
        |request: &ContainerRecreateRequest| request.metadata.creation_timestamp.as_ref().map(|time| time.0);
    open.sort_by(|a, b| {
        (weight(a), created(a), &a.metadata.name).cmp(&(weight(b), created(b), &b.metadata.name))
    });
    let mut open = open.into_iter();
    let next = open.next();
    Pick { next, to_pending: open.filter(|request| phase(request).is_empty()).collect() }
}

/// CD-4: how long the pod must still be unready; an error means that the manager has not made it unready yet.
pub fn unready_left(
    request: &ContainerRecreateRequest,
    now: Timestamp,
) -> Result<SignedDuration, NotUnready> {
    let Some(seconds) = strategy(request).and_then(|one| one.unready_grace_period_seconds) else {
        return Ok(SignedDuration::ZERO);
    };
    let conditions = request.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let is_grace = |one: &&StrictCondition| one.r#type == PRE_RECREATE_GRACE && one.status == TRUE;
    let since = conditions.into_iter().find(is_grace).and_then(|one| one.last_transition_time.as_ref());
    let since = since.ok_or(NotUnready)?.timestamp();
    let until = since
        .checked_add(SignedDuration::from_secs(seconds).saturating_add(UNREADY_MARGIN))
        .unwrap_or(Timestamp::MAX);
    Ok(until.duration_since(now).max(SignedDuration::ZERO))
}

/// The manager has not made the pod unready yet.
#[derive(Debug, PartialEq, Eq)]
pub struct NotUnready;

fn strategy(request: &ContainerRecreateRequest) -> Option<&RecreateStrategy> {
    request.spec.strategy.as_ref()
}

/// CD-5: the runtime of all containers of the request.
pub fn runtime(request: &ContainerRecreateRequest) -> Result<String, String> {
    let mut found: Option<String> = None;
    for container in &request.spec.containers {
        let context = container.status_context.as_ref();
        let context = context.ok_or_else(|| format!("no statusContext in container {}", container.name))?;
        let id = ContainerId::read(&context.container_id).ok_or_else(|| {
            format!("failed to parse containerID {} of {}", context.container_id, container.name)
        })?;
        match &found {
            Some(first) if *first != id.runtime => {
                return Err(format!("containers are in different runtimes: {first} and {}", id.runtime));
            }
            Some(_) => {}
            None => found = Some(id.runtime),
        }
    }
    found.ok_or_else(|| "no container is named".to_owned())
}

/// CD-7: where each container stands now.
pub fn states(
    request: &ContainerRecreateRequest,
    seen: &BTreeMap<String, Seen>,
    now: Timestamp,
) -> Vec<RecreateState> {
    let before = request.status.iter().flat_map(|status| status.container_recreate_states.iter().flatten());
    let before: BTreeMap<&str, &RecreateState> = before.map(|state| (state.name.as_str(), state)).collect();
    let one = |container: &RecreateContainer| {
        state(request, container, (before.get(container.name.as_str()).copied(), seen), now)
    };
    request.spec.containers.iter().map(one).collect()
}

fn state(
    request: &ContainerRecreateRequest,
    container: &RecreateContainer,
    (before, seen): (Option<&RecreateState>, &BTreeMap<String, Seen>),
    now: Timestamp,
) -> RecreateState {
    if let Some(done) = before.filter(|state| is_done(state)) {
        return done.clone();
    }
    let now_seen = seen.get(&container.name);
    let was_killed = before.and_then(|state| state.is_killed).unwrap_or(false)
        || now_seen.is_some_and(|one| stop_was_issued(request, container, one));
    let made = |phase: RecreatePhase, message: Option<&str>, is_killed: bool| RecreateState {
        name: container.name.clone(),
        phase,
        message: message.map(str::to_owned),
        is_killed: is_killed.then_some(true),
        ..RecreateState::default()
    };
    let Some(one) = now_seen else {
        return made(RecreatePhase::Pending, Some("not found container on Node"), was_killed);
    };
    if one.has_exited {
        return made(RecreatePhase::Recreating, None, was_killed);
    }
    let is_forced = strategy(request).and_then(|how| how.force_recreate).unwrap_or(false);
    if is_forced && !was_killed {
        return made(RecreatePhase::Pending, None, false);
    }
    if !is_another(container, one) {
        return made(RecreatePhase::Pending, None, was_killed);
    }
    let is_new = is_confirmed(request, container, one, now);
    made(if is_new { RecreatePhase::Succeeded } else { RecreatePhase::Recreating }, None, was_killed)
}

fn is_done(state: &RecreateState) -> bool {
    matches!(state.phase, RecreatePhase::Succeeded | RecreatePhase::Failed)
}

/// The container is not the one of the request any more: another id, or more restarts.
fn is_another(container: &RecreateContainer, seen: &Seen) -> bool {
    container.status_context.as_ref().is_some_and(|context| {
        context.container_id != seen.id.to_string() || seen.restart_count > context.restart_count
    })
}

/// The manager has seen the same container ready, and it has run for long enough.
fn is_confirmed(
    request: &ContainerRecreateRequest,
    container: &RecreateContainer,
    seen: &Seen,
    now: Timestamp,
) -> bool {
    let mut snapshot =
        request.status.iter().flat_map(|status| status.container_status_snapshot.iter().flatten());
    let id = seen.id.to_string();
    let is_ready = snapshot.any(|one| {
        one.name == container.name && one.ready && one.container_id.as_deref() == Some(id.as_str())
    });
    let needed = SignedDuration::from_secs(min_started(request));
    is_ready && seen.started_at.is_some_and(|started| now.duration_since(started) > needed)
}

fn min_started(request: &ContainerRecreateRequest) -> i64 {
    strategy(request).and_then(|one| one.min_started_seconds).unwrap_or(0).into()
}

/// A forced stop of a container that is gone by now was decided before a crash (problem 8).
fn stop_was_issued(request: &ContainerRecreateRequest, container: &RecreateContainer, seen: &Seen) -> bool {
    let conditions = request.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut issued =
        conditions.filter(|one| one.r#type == STOP_ISSUED).flat_map(|one| one.message.split(' '));
    issued.any(|one| {
        one.split_once('=').is_some_and(|(name, id)| name == container.name && id != seen.id.to_string())
    })
}

/// The condition that is written before a forced stop: all containers that were decided so far.
pub fn issued(request: &ContainerRecreateRequest, target: &Target, now: Timestamp) -> Vec<StrictCondition> {
    let status = request.status.as_ref();
    let mut conditions = status.and_then(|status| status.conditions.clone()).unwrap_or_default();
    let text = format!("{}={}", target.container, target.id);
    let message = match conditions.iter().find(|one| one.r#type == STOP_ISSUED) {
        Some(before) => format!("{} {text}", before.message),
        None => text,
    };
    conditions.retain(|one| one.r#type != STOP_ISSUED);
    conditions.push(StrictCondition {
        r#type: STOP_ISSUED.to_owned(),
        status: TRUE.to_owned(),
        reason: STOP_ISSUED.to_owned(),
        message,
        last_transition_time: Some(now.into()),
        ..StrictCondition::default()
    });
    conditions
}

/// CD-8 … CD-11.
pub fn step(request: &ContainerRecreateRequest, seen: &BTreeMap<String, Seen>, now: Timestamp) -> Step {
    let states = states(request, seen, now);
    let written = request.status.as_ref().and_then(|status| status.container_recreate_states.as_ref());
    if written != Some(&states) {
        return Step::Write(states);
    }
    let mut walked = states.clone();
    for (index, (container, state)) in request.spec.containers.iter().zip(&states).enumerate() {
        match &state.phase {
            RecreatePhase::Succeeded => {}
            RecreatePhase::Failed if goes_on(request) => {}
            RecreatePhase::Failed => return Step::Complete,
            RecreatePhase::Recreating => {
                set(&mut walked, index, RecreatePhase::Recreating, None);
                if strategy(request).and_then(|one| one.ordered_recreate).unwrap_or(false) {
                    break;
                }
            }
            RecreatePhase::Pending | RecreatePhase::Completed | RecreatePhase::Other(_) => {
                let Some(one) = seen.get(&container.name) else { break };
                let target = Box::new(target(request, container, one));
                let is_forced = strategy(request).and_then(|how| how.force_recreate).unwrap_or(false);
                return Step::Stop { index, target, states: walked, is_forced };
            }
        }
    }
    if walked != states {
        return Step::Write(walked);
    }
    if states.iter().all(is_done) {
        return Step::Complete;
    }
    Step::Wait(next_look(request, &states))
}

/// CD-11; a container that the runtime does not know is looked for again (problem 7).
fn next_look(request: &ContainerRecreateRequest, states: &[RecreateState]) -> Option<SignedDuration> {
    let is_missing = |state: &RecreateState| state.phase == RecreatePhase::Pending;
    if states.iter().any(is_missing) {
        return Some(SignedDuration::from_secs(2));
    }
    let seconds = min_started(request);
    (seconds > 0).then(|| SignedDuration::from_secs(seconds))
}

/// Whether a failed container stops the request.
pub fn goes_on(request: &ContainerRecreateRequest) -> bool {
    strategy(request).and_then(|one| one.failure_policy.as_ref()) == Some(&RecreateFailurePolicy::Ignore)
}

/// The states after a stop (CD-9, CD-10).
pub fn after_stop(
    mut states: Vec<RecreateState>,
    index: usize,
    outcome: Result<(), String>,
) -> Vec<RecreateState> {
    match outcome {
        Ok(()) => set(&mut states, index, RecreatePhase::Recreating, None),
        Err(error) => {
            set(&mut states, index, RecreatePhase::Failed, Some(format!("kill container error: {error}")));
            if let Some(state) = states.get_mut(index) {
                state.is_killed = None;
            }
        }
    }
    states
}

fn set(states: &mut [RecreateState], index: usize, phase: RecreatePhase, message: Option<String>) {
    if let Some(state) = states.get_mut(index) {
        *state = RecreateState { phase, message, is_killed: Some(true), ..state.clone() };
    }
}

/// CD-9: a stop with grace, hook and ports of the request.
fn target(request: &ContainerRecreateRequest, container: &RecreateContainer, seen: &Seen) -> Target {
    let meta = &request.metadata;
    let label = |key: &str| {
        meta.labels.iter().flatten().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
    };
    let port = |port: &kruise_api::apps::containerrecreaterequest::v1beta1::ContainerPort| Port {
        name: port.name.clone().unwrap_or_default(),
        container_port: port.container_port,
    };
    let hook = container.pre_stop.as_ref().and_then(|hook| serde_json::to_string(hook).ok());
    let message = format!(
        "Stopping container {} by ContainerRecreateRequest {}",
        container.name,
        meta.name.as_deref().unwrap_or_default()
    );
    Target {
        pod: PodOf {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: request.spec.pod_name.clone(),
            uid: label(kruise_api::labels::CRR_POD_UID).unwrap_or_default(),
        },
        container: container.name.clone(),
        id: seen.id.clone(),
        grace: strategy(request).and_then(|one| one.termination_grace_period_seconds).unwrap_or(GRACE),
        pre_stop: hook.and_then(|text| Hook::read(&text)),
        ports: container.ports.iter().flatten().map(port).collect(),
        field_path: format!("spec.containers{{{}}}", container.name),
        message: message_of(&message, &seen.id.id, &container.name),
    }
}

#[cfg(test)]
mod tests;
