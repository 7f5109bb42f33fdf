//! The loop: the NodePodProbe comes in, one task per probe runs, results go out in bursts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kruise_api::Kind;
use kruise_api::apps::nodepodprobe::v1alpha1::{NodePodProbe, NodePodProbeSpec};
use kruise_api::reasons::event::{PROBE_FAILED, PROBE_SUCCEEDED};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::check::check;
use super::decide::{self, ProbeKey, State, Streak, Wanted};
use super::view::View;
use crate::api::{About, Api, ApiError, Change, Key, PatchKind, Recorder, Severity, Watched};
use crate::metrics::Metrics;
use crate::random;

/// Results that come together are written together.
const GATHER: Duration = Duration::from_millis(200);
/// After a write that failed.
const RETRY: Duration = Duration::from_secs(3);

impl Watched for NodePodProbe {
    fn key(&self) -> Key {
        (String::new(), self.metadata.name.clone().unwrap_or_default())
    }

    fn version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    fn trimmed(mut self) -> Self {
        self.metadata.managed_fields = None;
        self
    }
}

/// Everything that the loop and its probes share.
pub struct Prober {
    pub api: Api,
    pub events: Recorder,
    pub metrics: Arc<Metrics>,
    pub node: String,
    view: View,
    started: Instant,
    shared: Mutex<Shared>,
    /// Something has to be written.
    changed: Notify,
}

#[derive(Default)]
struct Shared {
    object: Option<NodePodProbe>,
    running: BTreeMap<ProbeKey, Running>,
}

/// One probe that runs. It is replaced as a whole, so a probe that comes back is always a new one (problem 8).
struct Running {
    wanted: watch::Sender<Wanted>,
    streak: Streak,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Prober {
    pub fn new((api, events): (Api, Recorder), metrics: Arc<Metrics>, node: &str, view: View) -> Arc<Self> {
        let node = node.to_owned();
        let (shared, changed) = (Mutex::default(), Notify::new());
        Arc::new(Self { api, events, metrics, node, view, started: Instant::now(), shared, changed })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// PB-1: starts, changes and stops probes.
    pub fn hear(self: &Arc<Self>, change: Change<NodePodProbe>) {
        let mut shared = self.lock();
        shared.object = match change {
            Change::Applied(object) => Some(object),
            Change::Gone(_) => None,
        };
        let none = NodePodProbeSpec::default();
        let wanted = decide::wanted(shared.object.as_ref().map_or(&none, |object| &object.spec));
        shared.running.retain(|key, _| wanted.contains_key(key));
        for (key, one) in wanted {
            match shared.running.get_mut(&key) {
                None => {
                    let (sender, receiver) = watch::channel(one);
                    let task = tokio::spawn(Arc::clone(self).probe(key.clone(), receiver)).abort_handle();
                    shared.running.insert(key, Running { wanted: sender, streak: Streak::default(), task });
                }
                Some(running) => {
                    let before = running.wanted.borrow().clone();
                    if decide::is_another_check(&before.probe, &one.probe) {
                        running.streak.restart(Timestamp::now());
                    }
                    running.wanted.send_if_modified(|now| (*now != one).then(|| *now = one).is_some());
                }
            }
        }
        drop(shared);
        self.changed.notify_one();
    }

    /// PB-2: one probe until it is not wanted any more.
    async fn probe(self: Arc<Self>, key: ProbeKey, mut wanted: watch::Receiver<Wanted>) {
        let period = decide::period(&wanted.borrow().probe);
        if self.started.elapsed() < period {
            tokio::time::sleep(random::up_to(period)).await;
        }
        loop {
            let now = wanted.borrow_and_update().clone();
            let next = Instant::now() + decide::period(&now.probe);
            self.once(&key, &now).await;
            tokio::select! {
                biased;
                // A changed period, address or check counts at once (problems 7 and 9).
                changed = wanted.changed() => if changed.is_err() { return },
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    /// PB-4: one run.
    async fn once(&self, key: &ProbeKey, wanted: &Wanted) {
        let found = match self.view.find(&key.uid, &key.container).await {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "containers cannot be listed");
                return;
            }
        };
        let now = Timestamp::now();
        let mut is_news = self.with_streak(key, |streak| streak.is_about(&found.id, now));
        if found.is_running {
            if found.started_at.is_some_and(|at| !decide::is_too_early(&wanted.probe, at, now))
                && let Some((state, message)) = check(&wanted.probe, &found.cri, &found.id, &wanted.ip).await
            {
                self.metrics.probed(state.text());
                is_news |= self
                    .with_streak(key, |streak| streak.take(&wanted.probe, state, &message, Timestamp::now()));
            }
        } else {
            // It is not probed: another container of the pod may answer in its place (problem 16).
            let message = format!("Container({}) is Non-running", key.container);
            is_news |=
                self.with_streak(key, |streak| streak.take(&wanted.probe, State::Failed, &message, now));
        }
        if is_news {
            self.changed.notify_one();
        }
    }

    fn with_streak(&self, key: &ProbeKey, change: impl FnOnce(&mut Streak) -> bool) -> bool {
        self.lock().running.get_mut(key).is_some_and(|running| change(&mut running.streak))
    }

    /// Writes results until aborted (PB-11).
    pub async fn report(self: Arc<Self>) {
        loop {
            self.changed.notified().await;
            tokio::time::sleep(GATHER).await;
            while let Err(error) = self.write().await {
                tracing::warn!(%error, "status of the NodePodProbe not written");
                tokio::time::sleep(RETRY + random::up_to(RETRY)).await;
            }
        }
    }

    async fn write(&self) -> Result<(), ApiError> {
        let (status, changes) = {
            let shared = self.lock();
            let Some(object) = &shared.object else { return Ok(()) };
            let published = shared.running.iter().filter_map(|(key, running)| {
                running.streak.published.clone().map(|outcome| (key.clone(), outcome))
            });
            let before = object.status.clone().unwrap_or_default();
            let (after, changes) =
                decide::status(&object.spec, &before, &published.collect(), crate::clock::now());
            if after == before {
                return Ok(());
            }
            (after, changes)
        };
        let path = format!("{}/status", NodePodProbe::RESOURCE.object("", &self.node));
        let body = json!({"status": {"podProbeStatuses": status.pod_probe_statuses}});
        match self.api.patch::<NodePodProbe>(&path, PatchKind::Merge, &body).await {
            Ok(written) => {
                if let Some(object) = &mut self.lock().object {
                    object.status = written.status;
                }
            }
            Err(ApiError::NotFound) => return Ok(()),
            Err(error) => return Err(error),
        }
        for change in changes {
            let reason = if change.state == State::Succeeded { PROBE_SUCCEEDED } else { PROBE_FAILED };
            let about = About {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                namespace: change.namespace,
                name: change.pod,
                uid: change.uid,
                field_path: String::new(),
            };
            self.events.tell(about, Severity::Normal, reason, &change.message);
        }
        Ok(())
    }
}
