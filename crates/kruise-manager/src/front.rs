//! What others see of this process: webhooks, health and metrics, and how it leaves without anybody noticing (PL-B4).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use kruise_core::admission::selection::{Conditions, Place};
use kruise_core::gates::{Gate, Gates, Said};
use kruise_core::random::Random;
use kruise_runtime::certs::State;
use kruise_runtime::controller::Shared;
use kruise_runtime::health::{self, Life, Readiness};
use kruise_runtime::listen::Address;
use kruise_runtime::metrics::Metrics;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::flags::Flags;
use crate::stores::Stores;
use crate::webhooks::selecting::{self, Selecting, Widener, Writer};
use crate::webhooks::{self, Started, flags::Source, pods};

/// Load balancers learn within this time that we are not ready any more; until then they send us requests.
const STILL_CALLED: Duration = Duration::from_secs(5);
/// Then whoever is being answered is answered.
const DRAINED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The open doors of the process.
pub struct Front {
    life: watch::Sender<Life>,
    writer: Writer,
    /// Told when something changes that selections depend on, or a configuration.
    changed: Arc<Notify>,
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
        said: &Said,
        shared: &Shared,
        (stores, conditions): (&Arc<Stores>, Conditions),
    ) -> anyhow::Result<Self> {
        let gates = &said.gates;
        let steps = Arc::new(pods::steps());
        let writer = Writer {
            client: shared.client.clone(),
            steps: Arc::clone(&steps),
            place: Place { own_namespace: flags.webhook.pod_namespace.clone(), conditions },
            metrics: Arc::clone(&shared.metrics),
        };
        let (widener, widening) = Widener::start(writer.clone());
        let cx = webhooks::Context {
            client: shared.client.clone(),
            stores: Arc::clone(stores),
            gates: gates.clone(),
            clock: shared.clock.clone(),
            namespace: flags.webhook.pod_namespace.clone(),
            names: Mutex::new(Random::from_seed(shared.seed)),
            steps,
            widener,
            fresh: webhooks::Fresh::default(),
        };
        let source = if gates.on(Gate::EnableExternalCerts) { Source::External } else { Source::Ours };
        let changed = Arc::new(Notify::new());
        let metrics = Arc::clone(&shared.metrics);
        let started =
            webhooks::start(&flags.webhook, Arc::new(cx), source, Arc::clone(&metrics), Arc::clone(&changed))
                .await?;
        let (life, living) = watch::channel(Life::Running);
        let mut readiness = readiness(flags, shared, started.as_ref(), living);
        readiness.remarks = said.faults.iter().map(|fault| format!("{fault}; it is ignored")).collect();
        let pages = Aborting(serve(flags, shared, readiness).await?);
        let (server, keeper) = match started {
            Some(Started { server, keeper, .. }) => (Some(Aborting(vec![server, widening])), keeper),
            None => (None, vec![widening]),
        };
        Ok(Self { life, writer, changed, metrics, keeper: Aborting(keeper), server, _pages: pages })
    }

    /// Ready to keep the pod webhook as narrow as our objects allow; only who leads starts it.
    pub fn selecting(&self, gates: &Gates, stores: &Arc<Stores>) -> Selector {
        selecting::wake(&self.writer.steps, stores, &self.changed);
        let (stores, gates, writer) = (Arc::clone(stores), gates.clone(), self.writer.clone());
        // Who does not answer does not say what is asked.
        let selecting = self.server.is_some().then_some(Selecting { stores, gates, writer });
        Selector { selecting, changed: Arc::clone(&self.changed) }
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
            tracing::warn!("webhook requests were still in progress at shutdown");
        }
        drop(server);
    }
}

/// Woken by the caches already; see [`Front::selecting`].
pub struct Selector {
    selecting: Option<Selecting>,
    changed: Arc<Notify>,
}

impl Selector {
    /// Selects for as long as the answer lives.
    pub fn start(self) -> Aborting {
        let keeping = self.selecting.map(|one| tokio::spawn(selecting::keep_selected(one, self.changed)));
        Aborting(keeping.into_iter().collect())
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
    let (caches, metrics) = (Arc::clone(&shared.caches), Arc::clone(&shared.metrics));
    Readiness { caches, state, own, life, remarks: Vec::new(), metrics }
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
    let listener = Address::read(address).map_err(anyhow::Error::msg)?.listen().await;
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use tokio::net::TcpStream;

    use super::*;

    /// PL-B8: a probe of an IPv6-only cluster reaches the default address, and an address in brackets is one.
    #[tokio::test]
    async fn pl_b8_health_and_metrics_are_reached_by_both_families() {
        let has_six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.is_ok();
        let all = listen(":0").await.unwrap().unwrap();
        let port = all.local_addr().unwrap().port();
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok());
        assert_eq!(TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.is_ok(), has_six);
        assert_eq!(listen("[::1]:0").await.is_ok(), has_six);
        assert!(listen("0").await.unwrap().is_none(), "switched off");
    }
}
