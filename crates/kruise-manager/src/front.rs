//! What others see of this process: webhooks, health and metrics, and how it leaves without anybody noticing (PL-B4).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use kruise_core::admission::selection::Conditions;
use kruise_core::random::Random;
use kruise_runtime::certs::{Selections, State};
use kruise_runtime::controller::Shared;
use kruise_runtime::gates::FeatureGates;
use kruise_runtime::health::{self, Life, Readiness};
use kruise_runtime::metrics::Metrics;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::flags::{Flags, planner_gates};
use crate::stores::Stores;
use crate::webhooks::pods::{self, PodWebhook, Selecting};
use crate::webhooks::{self, Started, flags::Source};

/// Load balancers learn within this time that we are not ready any more; until then they send us requests.
const STILL_CALLED: Duration = Duration::from_secs(5);
/// Then whoever is being answered is answered.
const DRAINED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The open doors of the process.
pub struct Front {
    life: watch::Sender<Life>,
    selections: watch::Sender<Selections>,
    metrics: Arc<Metrics>,
    keeper: Aborting,
    /// The webhook server; none where it is switched off.
    server: Option<Aborting>,
    _pages: Aborting,
}

impl Front {
    /// Every replica answers webhooks, whether it leads or not.
    pub async fn open(
        flags: &Flags,
        gates: &FeatureGates,
        shared: &Shared,
        stores: &Arc<Stores>,
    ) -> anyhow::Result<Self> {
        let cx = webhooks::Context {
            client: shared.client.clone(),
            stores: Arc::clone(stores),
            gates: planner_gates(gates),
            namespace: flags.webhook.pod_namespace.clone(),
            names: Mutex::new(Random::from_seed(shared.seed)),
        };
        let source = if gates.on("EnableExternalCerts") { Source::External } else { Source::Ours };
        let (selections, selected) = watch::channel(pods::nobody_decides());
        let metrics = Arc::clone(&shared.metrics);
        let started =
            webhooks::start(&flags.webhook, Arc::new(cx), source, Arc::clone(&metrics), selected).await?;
        let (life, living) = watch::channel(Life::Running);
        let readiness = readiness(flags, shared, started.as_ref(), living);
        let pages = Aborting(serve(flags, shared, readiness).await?);
        let (server, keeper) = match started {
            Some(Started { server, keeper, .. }) => (Some(Aborting(vec![server])), keeper),
            None => (None, Vec::new()),
        };
        Ok(Self { life, selections, metrics, keeper: Aborting(keeper), server, _pages: pages })
    }

    /// Ready to keep the pod webhook as narrow as our objects allow; only who leads starts it.
    pub fn selecting(
        &self,
        flags: &Flags,
        gates: &FeatureGates,
        stores: &Arc<Stores>,
        conditions: Conditions,
    ) -> Selector {
        let changed = Arc::new(Notify::new());
        pods::wake(stores, &changed);
        let selecting = Selecting {
            stores: Arc::clone(stores),
            gates: planner_gates(gates),
            pod_webhook: if gates.on("PodWebhook") { PodWebhook::On } else { PodWebhook::Off },
            conditions,
            own_namespace: flags.webhook.pod_namespace.clone(),
        };
        Selector { selecting, changed, out: self.selections.clone() }
    }

    /// Not ready first; answered until nobody sends requests any more; then closed.
    pub async fn close(self) {
        self.life.send_replace(Life::Stopping);
        // From here on nobody repairs configurations: they may be going with us.
        drop(self.keeper);
        let Some(server) = self.server else { return };
        tokio::time::sleep(STILL_CALLED).await;
        let drained = async {
            while self.metrics.webhooks_in_flight() > 0 {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        if tokio::time::timeout(DRAINED_WITHIN, drained).await.is_err() {
            tracing::warn!("webhook requests were still being answered at the end");
        }
        drop(server);
    }
}

/// Woken by the caches already; see [`Front::selecting`].
pub struct Selector {
    selecting: Selecting,
    changed: Arc<Notify>,
    out: watch::Sender<Selections>,
}

impl Selector {
    /// Selects for as long as the answer lives.
    pub fn start(self) -> Aborting {
        Aborting(vec![tokio::spawn(pods::keep_selected(self.selecting, self.changed, self.out))])
    }
}

fn readiness(
    flags: &Flags,
    shared: &Shared,
    started: Option<&Started>,
    life: watch::Receiver<Life>,
) -> Readiness {
    let state: Option<watch::Receiver<State>> = started.map(|started| started.state.clone());
    let own = started.map(|started| health::OwnWebhook {
        port: flags.webhook.webhook_port,
        serving: started.serving.clone(),
    });
    Readiness { caches: Arc::clone(&shared.caches), state, own, life }
}

async fn serve(flags: &Flags, shared: &Shared, readiness: Readiness) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let mut tasks = Vec::new();
    if let Some(listener) = listen(&flags.health_probe_addr).await? {
        let serving = health::serve_health(listener, readiness);
        tasks.push(tokio::spawn(async move { report(serving.await) }));
    }
    if let Some(listener) = listen(&flags.metrics_addr).await? {
        let serving = health::serve_metrics(listener, Arc::clone(&shared.metrics));
        tasks.push(tokio::spawn(async move { report(serving.await) }));
    }
    Ok(tasks)
}

/// `0` switches a server off, as with the original's library.
async fn listen(address: &str) -> anyhow::Result<Option<TcpListener>> {
    if address == "0" {
        return Ok(None);
    }
    let parsed = health::address(address).map_err(anyhow::Error::msg)?;
    let listener = TcpListener::bind(parsed).await;
    listener.map(Some).with_context(|| format!("{address} cannot be listened on: is it in use?"))
}

fn report(ended: std::io::Result<()>) {
    if let Err(error) = ended {
        tracing::error!(%error, "an HTTP server of the manager ended");
    }
}

/// Tasks that end with the scope.
pub struct Aborting(pub Vec<JoinHandle<()>>);

impl Drop for Aborting {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}
