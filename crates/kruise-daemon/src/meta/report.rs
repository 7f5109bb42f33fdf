//! The loop: pods come in, their containers are looked at, the annotation goes out.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kruise_api::annotations::RUNTIME_CONTAINERS_META;
use serde_json::json;

use super::decide::{self, Environments, RuntimeMeta, Seen};
use super::restart::Restarter;
use crate::api::{Api, ApiError, Change, Key, PatchKind, Watched};
use crate::cri::{ContainerId, Cri, CriError, Detail, Runtimes};
use crate::environment::{self, Environment};
use crate::pod::Pod;
use crate::random;

/// Changes of a pod come in bursts: it is looked at so long after the first (CM-4).
const GATHER: Duration = Duration::from_secs(1);
/// An environment that could not be read is asked for again: doubles (CM-7, problem 3).
const ASK_AGAIN_FIRST: Duration = Duration::from_secs(3);
const ASK_AGAIN_LONGEST: Duration = Duration::from_mins(5);
/// A command in the container may take so long.
const COMMAND_MAX: Duration = Duration::from_secs(3);

/// What the agent knows of pods and reports about them.
pub struct Reporter {
    api: Api,
    runtimes: Arc<Runtimes>,
    environments: Environments,
    restarter: Arc<Restarter>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pods: HashMap<Key, Arc<Pod>>,
    /// Pods that are being looked at, and whether they changed meanwhile.
    working: HashMap<Key, bool>,
}

/// What a look led to.
enum Looked {
    Fine,
    /// Something could not be found out.
    Again,
}

impl Reporter {
    pub fn new(
        api: Api,
        runtimes: Arc<Runtimes>,
        environments: Environments,
        restarter: Arc<Restarter>,
    ) -> Arc<Self> {
        Arc::new(Self { api, runtimes, environments, restarter, state: Mutex::default() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn pod(&self, key: &Key) -> Option<Arc<Pod>> {
        self.lock().pods.get(key).cloned()
    }

    /// Takes what the watch tells. Pods that are not of interest are not kept.
    pub fn hear(self: &Arc<Self>, change: Change<Pod>) {
        let pod = match change {
            Change::Applied(pod) if pod.is_of_interest() => pod,
            Change::Applied(pod) => return drop(self.lock().pods.remove(&pod.key())),
            Change::Gone(key) => return drop(self.lock().pods.remove(&key)),
        };
        let (key, needs_a_look) = (pod.key(), decide::needs_a_look(&pod, self.environments));
        self.lock().pods.insert(key.clone(), Arc::new(pod));
        if needs_a_look {
            self.wake(key);
        }
    }

    fn wake(self: &Arc<Self>, key: Key) {
        let mut state = self.lock();
        if let Some(again) = state.working.get_mut(&key) {
            *again = true;
            return;
        }
        state.working.insert(key.clone(), false);
        tokio::spawn(Arc::clone(self).work(key));
    }

    /// Looks at one pod until nothing about it is open.
    async fn work(self: Arc<Self>, key: Key) {
        let (mut failures, mut wait) = (0_u32, GATHER);
        loop {
            tokio::time::sleep(wait).await;
            let Some(pod) = self.pod(&key) else { break };
            self.lock().working.insert(key.clone(), false);
            let looked = if decide::needs_a_look(&pod, self.environments) {
                self.look(&pod).await
            } else {
                Ok(Looked::Fine)
            };
            match looked {
                Ok(Looked::Fine) => {
                    let mut state = self.lock();
                    if state.working.get(&key) != Some(&true) {
                        state.working.remove(&key);
                        return;
                    }
                    (failures, wait) = (0, GATHER);
                }
                Ok(Looked::Again) => {
                    failures += 1;
                    wait = again_after(failures);
                }
                Err(why) => {
                    failures += 1;
                    wait = again_after(failures);
                    tracing::warn!(pod = %format!("{}/{}", key.0, key.1), error = why, "container meta not reported");
                }
            }
        }
        self.lock().working.remove(&key);
    }

    /// CM-5 … CM-9.
    async fn look(&self, pod: &Pod) -> Result<Looked, String> {
        let Some(id) = decide::runtime_of(pod) else { return Ok(Looked::Fine) };
        let Some(cri) = self.runtimes.named(&id.runtime) else {
            // Not here yet, perhaps; or never, and then asking again costs nothing.
            return Ok(Looked::Again);
        };
        let seen = self.seen(&cri, pod).await.map_err(|error| error.to_string())?;
        let old = RuntimeMeta::of(pod);
        let mut meta = decide::build(pod, old.as_ref(), &seen);
        let mut looked = Looked::Fine;
        if self.environments == Environments::Compared {
            let (found, is_complete) = environments(&cri, pod, &meta, &seen).await;
            decide::fill(pod, &mut meta, &found);
            if !is_complete {
                looked = Looked::Again;
            }
        }
        if old.as_ref() != Some(&meta) {
            self.write(pod, &meta).await?;
        }
        if self.environments == Environments::Compared {
            for old_one in decide::to_restart(pod, &meta, &seen) {
                self.restarter.add(&pod.key(), &old_one);
            }
        }
        Ok(looked)
    }

    async fn seen(&self, cri: &Cri, pod: &Pod) -> Result<BTreeMap<String, Seen>, CriError> {
        let mut seen = BTreeMap::new();
        for container in cri.of_pod(&pod.metadata.meta.uid).await? {
            let name = container.name().to_owned();
            if seen.contains_key(&name) {
                continue;
            }
            let image = match cri.details(&container.id, Detail::Plain).await {
                Ok(details) => details.image,
                Err(CriError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let id = ContainerId { runtime: cri.name.clone(), id: container.id.clone() };
            let one = Seen {
                id: id.to_string(),
                restart_count: container.restart_count(),
                plain_hash: container.plain_hash(),
                is_running: container.is_running(),
                image,
            };
            seen.insert(name, one);
        }
        Ok(seen)
    }

    /// CM-8. The answer is known before the watch tells it, so nothing is written twice.
    async fn write(&self, pod: &Pod, meta: &RuntimeMeta) -> Result<(), String> {
        let text = serde_json::to_string(meta).map_err(|error| error.to_string())?;
        let (namespace, name) = pod.key();
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
        let annotations = json!({(RUNTIME_CONTAINERS_META): text});
        let body = json!({"metadata": {"uid": pod.metadata.meta.uid, "annotations": annotations}});
        match self.api.patch::<Pod>(&path, PatchKind::Strategic, &body).await {
            Ok(written) => {
                let mut state = self.lock();
                if let Some(known) = state.pods.get_mut(&(namespace, name)) {
                    let number = |one: &Pod| one.version().parse::<u64>().unwrap_or(0);
                    if known.metadata.meta.uid == written.metadata.meta.uid
                        && number(known) < number(&written)
                    {
                        *known = Arc::new(written.trimmed());
                    }
                }
                Ok(())
            }
            // The pod is gone, or another one by now.
            Err(ApiError::NotFound | ApiError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn again_after(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let wait = ASK_AGAIN_FIRST.saturating_mul(factor).min(ASK_AGAIN_LONGEST);
    wait + random::up_to(wait / 10)
}

/// CM-7: environments that are not known yet; and whether all of them could be read.
async fn environments(
    cri: &Cri,
    pod: &Pod,
    meta: &RuntimeMeta,
    seen: &BTreeMap<String, Seen>,
) -> (BTreeMap<String, Environment>, bool) {
    let (mut found, mut is_complete) = (BTreeMap::new(), true);
    for name in decide::unknown_environments(meta, seen) {
        let Some(container) = pod.container(name) else { continue };
        if container.env.is_empty() {
            found.insert(name.to_owned(), Environment::new());
            continue;
        }
        let id = seen.get(name).and_then(|one| ContainerId::read(&one.id));
        match id {
            Some(id) => match environment_of(cri, &id.id).await {
                Some(environment) => drop(found.insert(name.to_owned(), environment)),
                None => is_complete = false,
            },
            None => is_complete = false,
        }
    }
    (found, is_complete)
}

/// From the runtime, or from the process; no program in the container is needed unless both are silent (problem 3).
async fn environment_of(cri: &Cri, id: &str) -> Option<Environment> {
    let details = cri.details(id, Detail::Verbose).await.ok()?;
    if let Some(environment) = details.info.values().find_map(|text| environment::of_verbose(text)) {
        return Some(environment);
    }
    let run = async |command: &[&str]| {
        let command: Vec<String> = command.iter().map(|one| (*one).to_owned()).collect();
        let answer = cri.exec(id, &command, COMMAND_MAX).await.ok()?;
        (answer.exit_code == 0).then_some(answer.stdout)
    };
    if let Some(bytes) = run(&["cat", "/proc/self/environ"]).await {
        return Some(environment::of_kernel(&bytes));
    }
    run(&["env"]).await.map(|bytes| environment::of_lines(&bytes))
}
