//! Caches, queues and the lease: what runs of a manager behind its front. A process gives it the ground to stand on, and
//! so does the simulator.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kruise_api::reasons;
use kruise_core::gates::Gates;
use kruise_core::inplace::Resize;
use kruise_core::turn::Setup;
use kruise_runtime::cache::WatchSettings;
use kruise_runtime::clock::Clock;
use kruise_runtime::controller::{Shared, Start};
use kruise_runtime::events::Recorder;
use kruise_runtime::lease::Candidate;
use kruise_runtime::metrics::{Leading, Metrics};
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::flags::Flags;
use crate::front::Aborting;
use crate::kinds;
use crate::stores::Stores;

/// A stopping leader gives plans that are being carried out this long to end.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// Everything from outside that decides what a manager does, besides its flags.
pub struct Ground {
    pub client: Client,
    /// For the lease alone: a renewal never waits behind other requests.
    pub elector: Client,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    /// Names and jitter follow from it.
    pub seed: u64,
    /// Who this process is among candidates for the lease.
    pub identity: String,
}

pub struct Engine {
    pub stores: Arc<Stores>,
    pub shared: Shared,
    controllers: Vec<Start>,
    candidate: Option<Candidate>,
    namespace: Arc<str>,
    /// Where the administrator's configuration is.
    own_namespace: String,
}

/// Watches and the writer of events; they end with it.
pub struct Running {
    _watches: JoinSet<()>,
    _events: Aborting,
}

impl Engine {
    pub fn new(flags: &Flags, gates: &Gates, ground: Ground, resize: Resize) -> Self {
        let secrets = &flags.kinds.images.daemon_config_namespace;
        let stores = Arc::new(Stores::with_secrets_in(gates, secrets));
        let candidate = flags.enable_leader_election.then(|| candidate(flags, &ground));
        let Ground { client, elector: _, clock, metrics, seed, identity: _ } = ground;
        let shared = Shared {
            client,
            caches: Arc::clone(&stores.caches),
            recorder: Recorder::new("kruise-manager", clock.clone()),
            clock,
            metrics,
            back_off: flags.back_off(),
            seed,
        };
        let own_namespace = flags.webhook.pod_namespace.clone();
        let setup = Setup { gates: gates.clone(), resize, namespace: own_namespace.as_str().into() };
        let controllers = kinds::controllers(flags, &stores, &setup, &shared);
        let namespace = flags.namespace.as_str().into();
        Self { stores, shared, controllers, candidate, namespace, own_namespace }
    }

    /// A standby keeps its caches warm: the watches run before and without leading.
    pub fn watch(&self) -> Running {
        let settings = WatchSettings { namespace: Arc::clone(&self.namespace), seed: self.shared.seed };
        let events = self.shared.recorder.clone().run(self.shared.client.clone());
        Running {
            _watches: self.stores.watch(&self.shared.client, &settings, &self.own_namespace),
            _events: Aborting(vec![tokio::spawn(events)]),
        }
    }

    /// Caches are filled first, so that a new leader has little left to read.
    pub async fn ready(&self) {
        self.stores.synced().await;
        if let Some(candidate) = &self.candidate {
            tracing::info!(lease = candidate.name, "caches are in sync; waiting for the lease");
            candidate.acquire().await;
            candidate.tell(&self.shared.recorder, reasons::event::LEADER_ELECTION, "became leader");
        }
    }

    /// Works until told to stop or deposed, with what `beside` starts as long. The lead is given back while `closing` still answers.
    pub async fn lead(
        self,
        beside: impl FnOnce() -> Aborting,
        stop: impl Future<Output = anyhow::Result<()>>,
        closing: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let candidate = self.candidate.as_ref();
        let mut ended = pin!(async {
            tokio::select! {
                biased;
                signal = stop => End::Told(signal),
                () = lost(candidate) => End::Deposed,
            }
        });
        let controllers = self.controllers;
        let queues: Vec<_> = controllers.iter().map(|one| Arc::clone(&one.queue)).collect();
        let (mut workers, mut others) = (Aborting(Vec::new()), Aborting(Vec::new()));
        let end = tokio::select! {
            biased;
            end = &mut ended => end,
            () = caught_up(candidate, &self.stores) => {
                self.shared.metrics.leads(Leading::Yes);
                let counts = self.stores.caches.counts().map(|(resource, count)| format!("{resource:?}={count}"));
                tracing::info!(objects = counts.collect::<Vec<_>>().join(" "), "leading");
                others = beside();
                workers.0 = controllers.into_iter().flat_map(Start::start).collect();
                ended.await
            }
        };
        drop(others);
        let outcome = match end {
            End::Told(outcome) => outcome,
            End::Deposed => {
                // Another one may lead soon: nothing is written any more, and there is nothing to give back.
                drop(workers);
                closing.await;
                return Err(anyhow::anyhow!("leader election lost"));
            }
        };
        for queue in queues {
            queue.close();
        }
        let step_down = async {
            wait_for(workers).await;
            if let Some(candidate) = candidate {
                candidate.release().await;
            }
        };
        tokio::join!(step_down, closing);
        outcome
    }
}

/// Why a leader ends.
enum End {
    Told(anyhow::Result<()>),
    Deposed,
}

fn candidate(flags: &Flags, ground: &Ground) -> Candidate {
    Candidate {
        client: ground.elector.clone(),
        clock: ground.clock.clone(),
        namespace: Some(flags.leader_election_namespace.clone())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| flags.webhook.pod_namespace.clone()),
        name: flags.leader_election_id.clone(),
        identity: ground.identity.clone(),
        timings: flags.timings(),
    }
}

async fn lost(candidate: Option<&Candidate>) {
    match candidate {
        Some(candidate) => candidate.hold().await,
        None => std::future::pending().await,
    }
}

/// Resolves when everything is known that the leader before has done. Without a lease there is none.
async fn caught_up(candidate: Option<&Candidate>, stores: &Stores) {
    if candidate.is_some() {
        stores.catch_up().await;
    }
}

async fn wait_for(mut workers: Aborting) {
    let deadline = Instant::now() + STOP_WITHIN;
    for worker in &mut workers.0 {
        if tokio::time::timeout_at(deadline, worker).await.is_err() {
            tracing::warn!("a plan was still being applied at shutdown; the next leader continues it");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use clap::Parser;
    use http::{Method, Request, Response};
    use kruise_runtime::clock::Clock;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    /// A server that has nothing but one lease, of which it tells what was written, and no answer to any list.
    fn lease_alone(then: fn(&Value) -> Option<Value>) -> (Client, Arc<Mutex<Vec<Value>>>) {
        let written: Arc<Mutex<Vec<Value>>> = Arc::default();
        let log = Arc::clone(&written);
        let service = tower::service_fn(move |request: Request<Body>| {
            let log = Arc::clone(&log);
            async move {
                if !request.uri().path().ends_with("/leases/kruise-manager") {
                    return std::future::pending().await;
                }
                if request.method() == Method::PUT {
                    let bytes = request.into_body().collect_bytes().await.map_err(std::io::Error::other)?;
                    log.lock().unwrap().push(serde_json::from_slice(&bytes)?);
                }
                let ours = json!({"holderIdentity": "us", "leaseDurationSeconds": 15});
                let spec = log.lock().unwrap().last().and_then(then).unwrap_or(ours);
                let lease = json!({"metadata": {"resourceVersion": "1"}, "spec": spec});
                Ok::<_, std::io::Error>(Response::new(Body::from(lease.to_string().into_bytes())))
            }
        });
        (Client::new(service, "default"), written)
    }

    fn engine(client: Client) -> Engine {
        let flags = Flags::parse_from(["kruise-manager", "--leader-election-retry-period=10ms"]);
        let metrics = Arc::new(Metrics::default());
        let (elector, clock, identity) = (client.clone(), Clock::system(), "us".to_owned());
        let ground = Ground { client, elector, clock, metrics, seed: 1, identity };
        Engine::new(&flags, &flags.features.read().unwrap().gates, ground, Resize::Endpoint)
    }

    fn nothing() -> Aborting {
        Aborting(Vec::new())
    }

    fn holders(written: &Mutex<Vec<Value>>) -> Vec<String> {
        let holder = |lease: &Value| lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        written.lock().unwrap().iter().map(holder).collect()
    }

    /// LE-3: who has the lease and does not work yet, because it still reads what its predecessor did, renews it and gives it back.
    #[tokio::test]
    async fn le_3_lease_is_held_and_given_back_while_catching_up() {
        let (client, written) = lease_alone(|_| None);
        let engine = engine(client);
        let (_running, metrics) = (engine.watch(), Arc::clone(&engine.shared.metrics));
        let stop = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(())
        };

        engine.lead(nothing, stop, async {}).await.unwrap();

        let holders = holders(&written);
        let (last, before) = holders.split_last().unwrap();
        assert_eq!(last, "", "given back: {holders:?}");
        assert!(before.len() > 1 && before.iter().all(|holder| holder == "us"), "renewed: {holders:?}");
        assert!(metrics.render().contains("leader_election_master_status{name=\"kruise-manager\"} 0"));
    }

    /// LE-1: the same if somebody else takes it meanwhile.
    #[tokio::test]
    async fn le_1_lease_can_be_lost_while_catching_up() {
        let (client, _) =
            lease_alone(|_| Some(json!({"holderIdentity": "them", "leaseDurationSeconds": 15})));
        let engine = engine(client);
        let _running = engine.watch();

        let lost = engine.lead(nothing, std::future::pending(), async {}).await;

        assert_eq!(lost.unwrap_err().to_string(), "leader election lost");
    }
}
