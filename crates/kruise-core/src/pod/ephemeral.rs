//! Ephemeral containers of a pod: whose they are, and what became of them (EJ-12, EJ-19).

use std::sync::Arc;

use kruise_api::{env, kubernetes::RUN_CONTAINER_ERROR};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Clone, PartialEq)]
pub struct EphemeralContainer {
    pub name: Arc<str>,
    /// Uid of the EphemeralJob that put it there.
    pub job: Option<Arc<str>>,
    pub state: EphemeralState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EphemeralState {
    /// The kubelet has not said anything that counts.
    Unknown,
    Waiting,
    Running,
    Succeeded,
    Failed,
}

#[derive(Deserialize)]
pub(super) struct EphemeralWire {
    name: Arc<str>,
    env: Option<Vec<Variable>>,
}

#[derive(Deserialize)]
struct Variable {
    #[serde(default)]
    name: String,
    value: Option<Arc<str>>,
}

#[derive(Deserialize)]
pub(super) struct EphemeralStatus {
    name: Arc<str>,
    #[serde(default)]
    state: State,
}

#[derive(Deserialize, Default)]
struct State {
    waiting: Option<Waiting>,
    running: Option<IgnoredAny>,
    terminated: Option<Terminated>,
}

#[derive(Deserialize)]
struct Waiting {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Terminated {
    #[serde(default)]
    exit_code: i32,
    finished_at: Option<IgnoredAny>,
}

pub(super) fn read(
    containers: Vec<EphemeralWire>,
    statuses: &[EphemeralStatus],
) -> Box<[EphemeralContainer]> {
    let read = |wire: EphemeralWire| {
        let status = statuses.iter().find(|status| status.name == wire.name);
        let variables = wire.env.into_iter().flatten();
        EphemeralContainer {
            job: variables.filter(|one| one.name == env::EPHEMERALJOB_ID).find_map(|one| one.value),
            state: status.map_or(EphemeralState::Unknown, |status| status.state.outcome()),
            name: wire.name,
        }
    };
    containers.into_iter().map(read).collect()
}

impl State {
    fn outcome(&self) -> EphemeralState {
        match self {
            Self { terminated: Some(end), .. } if end.exit_code != 0 => EphemeralState::Failed,
            Self { terminated: Some(end), .. } if end.finished_at.is_some() => EphemeralState::Succeeded,
            Self { running: Some(_), .. } => EphemeralState::Running,
            Self { waiting: Some(why), .. } if why.reason == RUN_CONTAINER_ERROR => EphemeralState::Failed,
            Self { waiting: Some(_), .. } => EphemeralState::Waiting,
            Self { .. } => EphemeralState::Unknown,
        }
    }
}
