//! Stops containers whose environment is old, so that the kubelet starts them with the new one (CM-9 … CM-11).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::decide::{self, RuntimeMeta};
use super::report::Reporter;
use crate::api::Key;
use crate::cri::{ContainerId, CriError, Runtimes};
use crate::kill::{self, Killer};
use crate::random;

/// The kubelet restarts a container for a new image in this time; then nothing is left to stop (CM-11).
const FIRST: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_mins(10);

/// Stops each container at most once at a time.
pub struct Restarter {
    runtimes: Arc<Runtimes>,
    killer: Killer,
    working: Mutex<HashSet<String>>,
    /// Who knows the pods as they are when the time comes.
    pods: OnceLock<Weak<Reporter>>,
}

impl Restarter {
    pub fn new(runtimes: Arc<Runtimes>, killer: Killer) -> Arc<Self> {
        Arc::new(Self { runtimes, killer, working: Mutex::default(), pods: OnceLock::new() })
    }

    /// Set once, when everything is put together.
    pub fn looks_at(&self, reporter: &Arc<Reporter>) {
        let _set_before = self.pods.set(Arc::downgrade(reporter));
    }

    pub fn add(self: &Arc<Self>, pod: &Key, id: &str) {
        let Some(read) = ContainerId::read(id) else { return };
        let is_new = self.working.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        if is_new {
            tokio::spawn(Arc::clone(self).work(pod.clone(), read));
        }
    }

    async fn work(self: Arc<Self>, pod: Key, id: ContainerId) {
        let mut wait = FIRST;
        loop {
            tokio::time::sleep(wait).await;
            if !self.is_still_old(&pod, &id) {
                break;
            }
            match self.stop(&id).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(container = %id, %error, "container is stopped later");
                    wait = (wait * 2).min(LONGEST) + random::up_to(FIRST);
                }
            }
        }
        self.working.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
    }

    /// The pod as it is now still asks for it: the annotation was not taken back, and the update still runs.
    fn is_still_old(&self, pod: &Key, id: &ContainerId) -> bool {
        let pod = self.pods.get().and_then(Weak::upgrade).and_then(|pods| pods.pod(pod));
        let Some(pod) = pod else { return false };
        let Some(meta) = RuntimeMeta::of(&pod) else { return false };
        let none = std::collections::BTreeMap::new();
        decide::to_restart(&pod, &meta, &none).contains(&id.to_string())
    }

    /// CM-10: a container that is gone or does not run is dropped.
    async fn stop(&self, id: &ContainerId) -> Result<(), CriError> {
        let Some(cri) = self.runtimes.named(&id.runtime) else { return Ok(()) };
        let message = format!("Stopping containerID {id} by container meta restarter");
        match kill::restored(&cri, id.clone(), &message).await? {
            Some(target) => self.killer.stop(&cri, &target).await,
            None => Ok(()),
        }
    }
}
