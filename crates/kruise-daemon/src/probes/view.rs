//! The containers of the node as probes see them: one list per runtime and second, whatever the number of probes (problem 14).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::cri::{Container, Cri, CriError, Detail, Runtimes};

/// How old the list may be.
const FRESH: Duration = Duration::from_millis(900);

/// A container that a probe is about.
#[derive(Clone)]
pub struct Found {
    pub cri: Arc<Cri>,
    pub id: String,
    pub is_running: bool,
    pub started_at: Option<Timestamp>,
}

pub struct View {
    runtimes: Arc<Runtimes>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listed: Option<Instant>,
    /// The newest container by pod and name.
    newest: HashMap<(String, String), (Arc<Cri>, Container)>,
    /// Never changes for a container that runs.
    started: HashMap<String, Timestamp>,
}

impl View {
    pub fn new(runtimes: Arc<Runtimes>) -> Self {
        Self { runtimes, state: Mutex::default() }
    }

    /// The newest container of that name in the pod (PB-4), in whichever runtime it is.
    pub async fn find(&self, uid: &str, name: &str) -> Result<Option<Found>, CriError> {
        let mut state = self.state.lock().await;
        if state.listed.is_none_or(|at| at.elapsed() > FRESH) {
            self.list(&mut state).await?;
        }
        let Some((cri, container)) = state.newest.get(&(uid.to_owned(), name.to_owned())) else {
            return Ok(None);
        };
        let (cri, id, is_running) = (Arc::clone(cri), container.id.clone(), container.is_running());
        let started_at = match state.started.get(&id) {
            Some(at) => Some(*at),
            None if is_running => {
                let at = cri.details(&id, Detail::Plain).await?.started_at;
                if let Some(at) = at {
                    state.started.insert(id.clone(), at);
                }
                at
            }
            None => None,
        };
        Ok(Some(Found { cri, id, is_running, started_at }))
    }

    async fn list(&self, state: &mut State) -> Result<(), CriError> {
        let mut newest: HashMap<(String, String), (Arc<Cri>, Container)> = HashMap::new();
        let mut error = None;
        for cri in self.runtimes.all() {
            let containers = match cri.all().await {
                Ok(containers) => containers,
                Err(why) => {
                    error = Some(why);
                    continue;
                }
            };
            for mut container in containers {
                let key = (container.pod_uid().to_owned(), container.name().to_owned());
                // Labels have said what they had to say.
                container.labels = HashMap::new();
                container.annotations = HashMap::new();
                let is_newest =
                    newest.get(&key).is_none_or(|(_, other)| other.created_at < container.created_at);
                if is_newest {
                    newest.insert(key, (Arc::clone(&cri), container));
                }
            }
        }
        if let Some(error) = error.filter(|_| newest.is_empty()) {
            return Err(error);
        }
        state.started.retain(|id, _| newest.values().any(|(_, container)| container.id == *id));
        (state.newest, state.listed) = (newest, Some(Instant::now()));
        Ok(())
    }
}
