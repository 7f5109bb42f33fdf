//! From flags to running controllers, and back to a clean stop.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use kruise_core::admission::selection::Conditions;
use kruise_core::inplace::Resize;
use kruise_runtime::cache::WatchSettings;
use kruise_runtime::clock::Clock;
use kruise_runtime::controller::{Controller, Shared};
use kruise_runtime::events::Recorder;
use kruise_runtime::gates::FeatureGates;
use kruise_runtime::lease::{self, Candidate};
use kruise_runtime::metrics::{Leading, Metrics};
use kruise_runtime::queue::Queue;
use kube::client::ClientBuilder;
use kube::{Client, Config};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing_subscriber::EnvFilter;

use crate::controllers::{CloneSets, Context as Views, Planned, PodStates, StatefulSets, Workloads};
use crate::flags::{Flags, planner_gates};
use crate::front::{Aborting, Front};
use crate::stores::{Optional, Stores, Use};

/// A stopping leader gives plans that are being carried out this long to end.
const STOP_WITHIN: Duration = Duration::from_secs(10);

pub fn logging(flags: &Flags) {
    let level = match flags.v {
        0..=3 => "info",
        4..=5 => "info,kruise_runtime=debug,kruise_manager=debug",
        _ => "debug",
    };
    // The client library reports every answer that is not a success; what matters of them we report ourselves.
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| format!("{level},kube_client=off").into());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if flags.logging_format == "json" { builder.json().init() } else { builder.with_ansi(false).init() }
}

pub async fn run(flags: &Flags) -> anyhow::Result<()> {
    let gates = flags.gates()?;
    let client = client(flags).await?;
    let server = client.apiserver_version().await.context("the API server cannot be reached")?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), server = server.git_version, "starting");

    let stores = Arc::new(Stores::new(optional(&gates)));
    let seed = random();
    let shared = Shared {
        client: client.clone(),
        caches: Arc::new(stores.caches()),
        recorder: Recorder::new("kruise-manager", Clock::system()),
        clock: Clock::system(),
        metrics: Arc::new(Metrics::default()),
        back_off: flags.back_off(),
        seed,
    };
    let since = |version| is_since(version, &server.major, &server.minor);
    let conditions = if since((1, 28)) { Conditions::Known } else { Conditions::Unknown };
    let front = Front::open(flags, &gates, &shared, &stores).await?;
    // `pods/resize` exists from 1.32 on (SM-36).
    let resize = if since((1, 32)) { Resize::Endpoint } else { Resize::InPod };
    let views = Views { stores: Arc::clone(&stores), gates: planner_gates(&gates), resize };
    let controllers = controllers(flags, &views, &shared);
    let selecting = front.selecting(flags, &gates, &stores, conditions);
    // A standby keeps its caches warm: the watches run before and without leading.
    let settings = WatchSettings { namespace: flags.namespace.as_str().into(), seed };
    let _watches = stores.watch(&client, &settings, &flags.webhook.pod_namespace);
    let _events = Aborting(vec![tokio::spawn(shared.recorder.clone().run(client.clone()))]);

    let candidate = flags.enable_leader_election.then(|| candidate(flags, &client, seed));
    tokio::select! {
        biased;
        signal = stop_signal() => {
            front.close().await;
            return signal;
        }
        () = ready(&stores, candidate.as_ref()) => {}
    }
    shared.metrics.leads(Leading::Yes);
    tracing::info!(
        clonesets = stores.clonesets.len(),
        statefulsets = stores.statefulsets.len(),
        pods = stores.pods.len(),
        "leading"
    );
    let _selecting = selecting.start();
    let (queues, workers): (Vec<_>, Vec<_>) =
        controllers.into_iter().map(|one| (one.queue, (one.start)())).unzip();
    let outcome = tokio::select! {
        biased;
        signal = stop_signal() => signal,
        () = lost(candidate.as_ref()) => Err(anyhow::anyhow!("leader election lost")),
    };
    close(&queues);
    // The lead is given back while webhooks are still answered.
    let step_down = async {
        wait_for(workers.into_iter().flatten().collect()).await;
        if let Some(candidate) = &candidate {
            candidate.release().await;
        }
    };
    tokio::join!(step_down, front.close());
    outcome
}

fn close(queues: &[Arc<Queue>]) {
    for queue in queues {
        queue.close();
    }
}

/// A controller whose keys are woken already; it works once it is started.
struct Ready {
    queue: Arc<Queue>,
    start: Box<dyn FnOnce() -> Vec<JoinHandle<()>>>,
}

fn controllers(flags: &Flags, views: &Views, shared: &Shared) -> Vec<Ready> {
    vec![
        ready_to_start(CloneSets(flags.preparing_delete()), flags.cloneset_workers, views, shared),
        ready_to_start(StatefulSets, flags.statefulset_workers, views, shared),
        pod_states(flags.persistentpodstate_workers, views, shared),
    ]
}

fn pod_states(workers: usize, views: &Views, shared: &Shared) -> Ready {
    let queue = Arc::new(Queue::new(shared.back_off));
    PodStates::wake(&views.stores, &queue);
    let controller =
        Controller::new(PodStates::new(Arc::clone(&views.stores)), Arc::clone(&queue), shared.clone());
    Ready { queue, start: Box::new(move || controller.start(workers)) }
}

fn ready_to_start<K: Planned>(kind: K, workers: usize, views: &Views, shared: &Shared) -> Ready {
    let queue = Arc::new(Queue::new(shared.back_off));
    Workloads::<K>::wake(&views.stores, &queue);
    let planner = Workloads::new(views.clone(), kind);
    let controller = Controller::new(planner, Arc::clone(&queue), shared.clone());
    Ready { queue, start: Box::new(move || controller.start(workers)) }
}

fn optional(gates: &FeatureGates) -> Optional {
    let used = |gate: &str| if gates.on(gate) { Use::Used } else { Use::Unused };
    Optional { pull_jobs: used("ImagePullJobGate"), storage_classes: used("StatefulSetAutoResizePVCGate") }
}

/// Caches are filled first, so that a new leader acts at once.
async fn ready(stores: &Stores, candidate: Option<&Candidate>) {
    stores.synced().await;
    if let Some(candidate) = candidate {
        tracing::info!(lease = candidate.name, "caches are warm; standing by for the lease");
        candidate.acquire().await;
    }
}

async fn lost(candidate: Option<&Candidate>) {
    match candidate {
        Some(candidate) => candidate.hold().await,
        None => std::future::pending().await,
    }
}

async fn wait_for(workers: Vec<JoinHandle<()>>) {
    let deadline = Instant::now() + STOP_WITHIN;
    for worker in workers {
        if tokio::time::timeout_at(deadline, worker).await.is_err() {
            tracing::warn!("a plan was still being carried out at the end; its successor will go on");
        }
    }
}

async fn client(flags: &Flags) -> anyhow::Result<Client> {
    let config = match flags.kubeconfig() {
        Some(path) => {
            let read =
                kube::config::Kubeconfig::read_from(&path).with_context(|| path.display().to_string())?;
            Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default()).await?
        }
        None => {
            Config::infer().await.context("no kubeconfig was given and this is not a pod of a cluster")?
        }
    };
    match flags.limit() {
        Some(limit) => Ok(ClientBuilder::try_from(config)?.with_layer(&limit).build()),
        None => Ok(Client::try_from(config)?),
    }
}

fn candidate(flags: &Flags, client: &Client, seed: u64) -> Candidate {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Candidate {
        client: client.clone(),
        clock: Clock::system(),
        namespace: Some(flags.leader_election_namespace.clone())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| flags.webhook.pod_namespace.clone()),
        name: flags.leader_election_id.clone(),
        identity: lease::identity(host.trim(), [seed, random()]),
        timings: flags.timings(),
    }
}

/// The only randomness of the process: names and jitter follow from it.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// What cannot be read counts as older.
fn is_since(version: (u32, u32), major: &str, minor: &str) -> bool {
    let number =
        |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>();
    matches!((number(major), number(minor)), (Ok(major), Ok(minor)) if (major, minor) >= version)
}

async fn stop_signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        result = tokio::signal::ctrl_c() => result?,
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    // A second signal does not wait for anything.
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(1);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_since;

    #[test]
    fn sm_36_resize_endpoint_from_1_32_on() {
        for (major, minor, expected) in
            [("1", "32", true), ("1", "31+", false), ("2", "0", true), ("x", "40", false)]
        {
            assert_eq!(is_since((1, 32), major, minor), expected, "{major}.{minor}");
        }
    }
}
