//! The runtimes that can be used now. Sockets may appear later, and runtimes restart or hang: it keeps looking.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kruise_api::reasons::event::CONTAINER_RUNTIME_NOT_FOUND;
use tokio::sync::watch;

use super::client::Cri;
use super::find::SocketPlaces;
use crate::api::{About, Recorder, Severity};
use crate::metrics::Metrics;

/// Between two looks while no runtime is there, and once one is.
const LOOK_FIRST: Duration = Duration::from_secs(2);
const LOOK_LATER: Duration = Duration::from_secs(15);
/// A runtime that has not answered so often in a row hangs.
const HUNG_AFTER: u32 = 3;

/// What `/healthz` says about runtimes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuntimesHealth {
    /// A socket that does not answer.
    pub hung: Option<PathBuf>,
    /// None was found: no fault of the agent, it keeps looking.
    pub is_missing: bool,
}

/// All runtimes of the node, in the order of their places.
pub struct Runtimes {
    places: SocketPlaces,
    known: Mutex<Vec<Known>>,
    changed: watch::Sender<usize>,
    metrics: Arc<Metrics>,
}

struct Known {
    cri: Arc<Cri>,
    /// Looks in a row without an answer.
    silent: u32,
}

impl Runtimes {
    pub fn new(places: SocketPlaces, metrics: Arc<Metrics>) -> Arc<Self> {
        let (changed, _) = watch::channel(0);
        Arc::new(Self { places, known: Mutex::default(), changed, metrics })
    }

    /// CRI-7: the runtime that an id names.
    pub fn named(&self, runtime: &str) -> Option<Arc<Cri>> {
        self.lock().iter().find(|one| one.cri.name == runtime).map(|one| Arc::clone(&one.cri))
    }

    /// CRI-7: the one that pulls images.
    pub fn first(&self) -> Option<Arc<Cri>> {
        self.lock().first().map(|one| Arc::clone(&one.cri))
    }

    pub fn all(&self) -> Vec<Arc<Cri>> {
        self.lock().iter().map(|one| Arc::clone(&one.cri)).collect()
    }

    /// The first runtime, once there is one.
    pub async fn wait_for_one(&self) -> Arc<Cri> {
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(first) = self.first() {
                return first;
            }
            if changes.changed().await.is_err() {
                // The sender lives as long as this.
                std::future::pending::<()>().await;
            }
        }
    }

    /// How many there are, whenever that changes.
    pub fn changes(&self) -> watch::Receiver<usize> {
        self.changed.subscribe()
    }

    pub fn health(&self) -> RuntimesHealth {
        let known = self.lock();
        let hung = known.iter().find(|one| one.silent >= HUNG_AFTER).map(|one| one.cri.path.clone());
        RuntimesHealth { hung, is_missing: known.is_empty() }
    }

    /// Looks until aborted. Nothing that it finds or misses ends the agent.
    pub async fn keep_looking(self: Arc<Self>, events: Recorder, node: String) {
        let mut was_missing = false;
        loop {
            self.look().await;
            let is_missing = self.first().is_none();
            if is_missing && !was_missing {
                let places = self.places.describe();
                tracing::warn!(places, "no container runtime answers; looking again");
                let text = format!("kruise-daemon found no container runtime that answers at {places}");
                events.tell(About::node(&node), Severity::Warning, CONTAINER_RUNTIME_NOT_FOUND, &text);
            }
            was_missing = is_missing;
            tokio::time::sleep(if is_missing { LOOK_FIRST } else { LOOK_LATER }).await;
        }
    }

    /// One look at all places.
    pub async fn look(&self) {
        for path in self.places.existing() {
            let known = self.lock().iter().find(|one| one.cri.path == path).map(|one| Arc::clone(&one.cri));
            match known {
                Some(cri) => self.ping(&cri).await,
                None => self.meet(path).await,
            }
        }
        // A socket that is gone is not hung: its runtime is being restarted or removed.
        let existing = self.places.existing();
        for one in self.lock().iter_mut().filter(|one| !existing.contains(&one.cri.path)) {
            one.silent = 0;
        }
        let count = self.lock().len();
        self.metrics.runtimes(count);
        self.changed.send_if_modified(|before| std::mem::replace(before, count) != count);
    }

    async fn ping(&self, cri: &Arc<Cri>) {
        let answer = cri.version().await;
        for one in self.lock().iter_mut().filter(|one| Arc::ptr_eq(&one.cri, cri)) {
            one.silent = if answer.is_ok() { 0 } else { one.silent.saturating_add(1) };
        }
    }

    async fn meet(&self, path: PathBuf) {
        match Cri::connect(&path, Arc::clone(&self.metrics)).await {
            Err(error) => tracing::debug!(path = %path.display(), %error, "this socket cannot be used"),
            Ok(cri) => {
                tracing::info!(path = %path.display(), runtime = cri.name, "container runtime found");
                let order = self.places.all();
                let place = |of: &PathBuf| order.iter().position(|one| one == of);
                let mut known = self.lock();
                known.push(Known { cri: Arc::new(cri), silent: 0 });
                known.sort_by_key(|one| place(&one.cri.path));
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
