//! The loop: requests come in, one task per pod works on them one after the other.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kruise_api::Kind;
use kruise_api::apps::containerrecreaterequest::v1beta1::{
    ContainerRecreateRequest, RecreatePhase, RecreateState,
};
use kruise_api::labels::CRR_POD_UID;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::decide::{self, NotUnready, Seen, Step};
use crate::api::{Api, ApiError, Change, Key, PatchKind, Watched};
use crate::clock;
use crate::cri::{ContainerId, Cri, CriError, Detail, Runtimes};
use crate::kill::Killer;
use crate::random;

/// After an error: doubles (DP-6).
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LONGEST: Duration = Duration::from_secs(50);
/// How often something is looked at that only changes outside should have announced (problem 9).
const LOOK_AGAIN: Duration = Duration::from_secs(30);

impl Watched for ContainerRecreateRequest {
    fn key(&self) -> Key {
        let meta = &self.metadata;
        (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    }

    fn version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    fn trimmed(mut self) -> Self {
        self.metadata.managed_fields = None;
        self
    }
}

/// Why a pass did not come to its end.
#[derive(Debug, thiserror::Error)]
enum PassError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Cri(#[from] CriError),
}

/// What comes after a pass.
enum Next {
    Again,
    After(Duration),
    /// Nothing is left for this pod.
    Nothing,
}

/// Everything that the tasks share.
pub struct Recreator {
    pub api: Api,
    pub runtimes: Arc<Runtimes>,
    pub killer: Killer,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: HashMap<Key, Arc<ContainerRecreateRequest>>,
    /// Tasks of pods, by namespace and name of the pod (CD-1).
    pods: HashMap<Key, Arc<Notify>>,
}

fn pod_of(request: &ContainerRecreateRequest) -> Key {
    (request.metadata.namespace.clone().unwrap_or_default(), request.spec.pod_name.clone())
}

/// Resource versions of one type grow.
fn is_newer(one: &ContainerRecreateRequest, other: &ContainerRecreateRequest) -> bool {
    let number = |request: &ContainerRecreateRequest| request.version().parse::<u64>().unwrap_or(0);
    number(one) > number(other)
}

impl Recreator {
    pub fn new(api: Api, runtimes: Arc<Runtimes>, killer: Killer) -> Arc<Self> {
        Arc::new(Self { api, runtimes, killer, state: Mutex::default() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the watch tells; wakes the pod in any case, also when a request is gone (problem 1).
    pub fn hear(self: &Arc<Self>, change: Change<ContainerRecreateRequest>) {
        let pod = match change {
            Change::Applied(request) => self.keep(request),
            Change::Gone(key) => match self.lock().requests.remove(&key) {
                Some(request) => pod_of(&request),
                None => return,
            },
        };
        self.wake(pod);
    }

    /// The newer of what is known and what comes: own writes are known before the watch tells them (CD-2).
    fn keep(&self, request: ContainerRecreateRequest) -> Key {
        let (pod, key) = (pod_of(&request), request.key());
        let mut state = self.lock();
        let is_old = state
            .requests
            .get(&key)
            .is_some_and(|known| known.metadata.uid == request.metadata.uid && is_newer(known, &request));
        if !is_old {
            state.requests.insert(key, Arc::new(request));
        }
        pod
    }

    fn wake(self: &Arc<Self>, pod: Key) {
        let mut state = self.lock();
        if let Some(known) = state.pods.get(&pod) {
            known.notify_one();
            return;
        }
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        state.pods.insert(pod.clone(), Arc::clone(&notify));
        tokio::spawn(Arc::clone(self).work(pod, notify));
    }

    /// All requests of one pod, until none is left.
    async fn work(self: Arc<Self>, pod: Key, notify: Arc<Notify>) {
        let mut failures = 0;
        notify.notified().await;
        loop {
            let wait = match self.pass(&pod).await {
                Ok(Next::Again) => {
                    failures = 0;
                    continue;
                }
                Ok(Next::After(wait)) => {
                    failures = 0;
                    wait
                }
                Ok(Next::Nothing) => {
                    let mut state = self.lock();
                    if !state.requests.values().any(|one| pod_of(one) == pod && !decide::is_over(one)) {
                        state.pods.remove(&pod);
                        return;
                    }
                    LOOK_AGAIN
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(pod = %format!("{}/{}", pod.0, pod.1), %error, "recreation is tried again");
                    retry(failures)
                }
            };
            tokio::select! {
                biased;
                () = notify.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn pass(&self, pod: &Key) -> Result<Next, PassError> {
        let all: Vec<_> = {
            let state = self.lock();
            state.requests.values().filter(|one| pod_of(one) == *pod).cloned().collect()
        };
        let picked = decide::pick(all.iter().map(|one| &**one));
        for waiting in picked.to_pending {
            self.write(waiting, json!({"phase": RecreatePhase::Pending.as_str()})).await?;
        }
        let Some(request) = picked.next else { return Ok(Next::Nothing) };
        if request.status.as_ref().is_none_or(|status| status.phase != RecreatePhase::Recreating) {
            self.write(request, json!({"phase": RecreatePhase::Recreating.as_str()})).await?;
            return Ok(Next::Again);
        }
        match decide::unready_left(request, Timestamp::now()) {
            Err(NotUnready) => return Ok(Next::After(LOOK_AGAIN)),
            Ok(left) if left > SignedDuration::ZERO => return Ok(Next::After(left.unsigned_abs())),
            Ok(_) => {}
        }
        let runtime = match decide::runtime(request) {
            Ok(name) => name,
            Err(why) => {
                return self.complete(request, &format!("failed to find runtime service: {why}")).await;
            }
        };
        let Some(cri) = self.runtimes.named(&runtime) else {
            // A runtime that has not answered yet may still come; one that is not here never does.
            if self.runtimes.first().is_none() {
                return Ok(Next::After(RETRY_LONGEST / 10));
            }
            let why =
                format!("failed to find runtime service: not found runtime service for {runtime} in daemon");
            return self.complete(request, &why).await;
        };
        self.step(&cri, request).await
    }

    async fn step(&self, cri: &Cri, request: &ContainerRecreateRequest) -> Result<Next, PassError> {
        let seen = look(cri, request).await?;
        match decide::step(request, &seen, Timestamp::now()) {
            Step::Write(states) => self.write_states(request, &states).await?,
            Step::Complete => return self.complete(request, "").await,
            Step::Wait(after) => {
                let after = after.map_or(LOOK_AGAIN, |after| after.unsigned_abs().min(LOOK_AGAIN));
                return Ok(Next::After(after));
            }
            Step::Stop { index, target, states, is_forced } => {
                let mut request = std::borrow::Cow::Borrowed(request);
                if is_forced {
                    let conditions = decide::issued(&request, &target, clock::now());
                    if let Some(written) = self.write(&request, json!({"conditions": conditions})).await? {
                        request = std::borrow::Cow::Owned(written);
                    }
                }
                let stopped = match self.killer.stop(cri, &target).await {
                    // Nothing is known of a stop that the runtime did not answer: it is looked at again (acceptance 12).
                    Err(error @ (CriError::Unreachable { .. } | CriError::TimedOut { .. })) => {
                        return Err(error.into());
                    }
                    Err(CriError::NotFound { .. }) | Ok(()) => Ok(()),
                    Err(error @ (CriError::DeadlineExceeded { .. } | CriError::Failed { .. })) => {
                        Err(error.to_string())
                    }
                };
                self.write_states(&request, &decide::after_stop(states, index, stopped)).await?;
            }
        }
        Ok(Next::Again)
    }

    async fn write_states(
        &self,
        request: &ContainerRecreateRequest,
        states: &[RecreateState],
    ) -> Result<(), PassError> {
        self.write(request, json!({"containerRecreateStates": states})).await.map(drop)
    }

    async fn complete(&self, request: &ContainerRecreateRequest, message: &str) -> Result<Next, PassError> {
        let message = Some(message).filter(|message| !message.is_empty());
        let completed = RecreatePhase::Completed.as_str();
        let time = kruise_core::time::seconds(clock::now());
        self.write(request, json!({"phase": completed, "completionTime": time, "message": message})).await?;
        Ok(Next::Again)
    }

    /// One merge patch; nothing if the request is gone or is another one by now.
    async fn write(
        &self,
        request: &ContainerRecreateRequest,
        status: Value,
    ) -> Result<Option<ContainerRecreateRequest>, PassError> {
        let (namespace, name) = request.key();
        let path = format!("{}/status", ContainerRecreateRequest::RESOURCE.object(&namespace, &name));
        let body = json!({"metadata": {"uid": request.metadata.uid}, "status": status});
        match self.api.patch::<ContainerRecreateRequest>(&path, PatchKind::Merge, &body).await {
            Ok(written) => {
                self.keep(written.clone().trimmed());
                Ok(Some(written))
            }
            Err(ApiError::NotFound | ApiError::Conflict(_)) => {
                self.lock().requests.retain(|_, one| one.metadata.uid != request.metadata.uid);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn retry(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
    let wait = RETRY_FIRST.saturating_mul(factor).min(RETRY_LONGEST);
    wait + random::up_to(wait / 10)
}

/// CD-6: the newest container of each name of the request.
async fn look(cri: &Cri, request: &ContainerRecreateRequest) -> Result<BTreeMap<String, Seen>, CriError> {
    let uid = request.metadata.labels.iter().flatten().find(|(key, _)| *key == CRR_POD_UID);
    let uid = uid.map(|(_, value)| value.clone()).unwrap_or_default();
    let mut seen = BTreeMap::new();
    for container in cri.of_pod(&uid).await? {
        let name = container.name().to_owned();
        let is_named = request.spec.containers.iter().any(|one| one.name == name);
        if !is_named || seen.contains_key(&name) {
            continue;
        }
        let started_at = match cri.details(&container.id, Detail::Plain).await {
            Ok(details) => details.started_at,
            // It went between the two questions: the next look finds the new one.
            Err(CriError::NotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let id = ContainerId { runtime: cri.name.clone(), id: container.id.clone() };
        let restart_count = container.restart_count();
        seen.insert(name, Seen { id, restart_count, has_exited: container.has_exited(), started_at });
    }
    Ok(seen)
}
