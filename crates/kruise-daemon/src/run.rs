//! From flags to running loops (DP-1 … DP-7).

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use anyhow::Context;
use kruise_api::Kind;
use kruise_api::Resource;
use kruise_api::apps::containerrecreaterequest::v1beta1::ContainerRecreateRequest;
use kruise_api::apps::nodeimage::v1beta1::NodeImage;
use kruise_api::apps::nodepodprobe::v1alpha1::NodePodProbe;
use kruise_api::labels::{CRR_ACTIVE, CRR_NODE_NAME, node_value};
use kruise_api::names::component;
use kruise_core::gates::{Gate, Gates};
use kube::{Client, Config};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::api::{Api, Pulse, Recorder, Selection, Watcher, Writer, watch};
use crate::cri::{Runtimes, SocketPlaces};
use crate::flags::Flags;
use crate::health::{self, Health};
use crate::images::{Plugins, Puller, Pulling};
use crate::kill::Killer;
use crate::meta::{Environments, Reporter, Restarter};
use crate::metrics::Metrics;
use crate::pod::Pod;
use crate::probes::{Prober, View};
use crate::recreate::Recreator;

/// What all loops share.
pub struct Agent {
    pub api: Api,
    pub node: String,
    pub gates: Gates,
    pub runtimes: Arc<Runtimes>,
    pub metrics: Arc<Metrics>,
    events: Recorder,
    pulses: Vec<Arc<Pulse>>,
    /// Ends everything when it is dropped.
    tasks: JoinSet<()>,
}

/// What a loop of images is told on the command line.
pub struct PullSettings {
    pub workers: i32,
    pub plugins: Plugins,
}

pub async fn run(flags: &Flags) -> anyhow::Result<()> {
    anyhow::ensure!(!flags.node_name.is_empty(), "not found NODE_NAME in environments");
    let listener = listen(&flags.addr).await.with_context(|| format!("listening on {}", flags.addr))?;
    let said = Gates::read(&flags.feature_gates);
    for fault in &said.faults {
        tracing::error!("{fault}; it is ignored");
    }
    let client = client(flags).await?;
    let plugins = Plugins::load(&flags.plugin_config_file, &flags.plugin_bin_dir).unwrap_or_else(|error| {
        tracing::error!(%error, "credential plugins are not used");
        Plugins::default()
    });
    tracing::info!(version = env!("CARGO_PKG_VERSION"), node = flags.node_name, "starting");
    let places = SocketPlaces::new(&flags.socket_dir, &flags.socket_file);
    let mut agent = Agent::new(client, &flags.node_name, said.gates, places);
    agent.start(PullSettings { workers: flags.max_workers_for_pull_image, plugins });
    agent.serve(listener);
    stop_signal().await
}

impl Agent {
    pub fn new(client: Client, node: &str, gates: Gates, places: SocketPlaces) -> Self {
        let metrics = Arc::new(Metrics::default());
        let api = Api::new(client);
        let (events, writer) = Recorder::new("kruise-daemon", node);
        let mut tasks = JoinSet::new();
        tasks.spawn(Writer::run(writer, api.clone()));
        let runtimes = Runtimes::new(places, Arc::clone(&metrics));
        tasks.spawn(Arc::clone(&runtimes).keep_looking(events.clone(), node.to_owned()));
        let node = node.to_owned();
        Self { api, node, gates, runtimes, metrics, events, pulses: Vec::new(), tasks }
    }

    /// All loops that the gates allow, at once; each waits for its own watch (DP-4).
    pub fn start(&mut self, pulls: PullSettings) {
        self.images(pulls);
        self.recreate();
        if self.gates.on(Gate::PodProbeMarker) {
            self.probes();
        }
        if self.gates.on(Gate::DaemonWatchingPod) {
            self.meta();
        }
    }

    pub fn serve(&mut self, listener: TcpListener) {
        let health = Health {
            pulses: self.pulses.clone(),
            runtimes: Arc::clone(&self.runtimes),
            metrics: Arc::clone(&self.metrics),
        };
        self.tasks.spawn(health::serve(listener, Arc::new(health)));
    }

    fn watcher(&mut self, api: &Api, check: &'static str, selection: Selection) -> Watcher {
        let pulse = Arc::new(Pulse::new(check));
        self.pulses.push(Arc::clone(&pulse));
        Watcher { api: api.clone(), selection, pulse, metrics: Arc::clone(&self.metrics) }
    }

    fn part(&self, component: &'static str) -> (Api, Recorder) {
        (self.api.named(component), self.events.named(component))
    }

    fn own(&self, resource: Resource) -> Selection {
        let query = format!("fieldSelector=metadata.name%3D{}", self.node);
        Selection { resource: resource.plural(), path: resource.collection(""), query }
    }

    fn images(&mut self, pulls: PullSettings) {
        let (api, events) = self.part(component::DAEMON_IMAGEPULLER);
        let selection = self.own(NodeImage::RESOURCE);
        let watcher = self.watcher(&api, "nodeImageInformerSynced", selection);
        let pulling = Pulling::new(api.clone(), Arc::clone(&self.runtimes), pulls.plugins);
        let node = (self.node.as_str(), pulls.workers);
        let (puller, heard) = Puller::new((api, events), Arc::clone(&self.metrics), pulling, node);
        self.tasks.spawn(Arc::clone(&puller).run(heard));
        self.tasks.spawn(watch::<NodeImage>(watcher, move |change| puller.hear(change)));
    }

    fn recreate(&mut self) {
        let (api, events) = self.part(component::DAEMON_CRR);
        let node = node_value(&self.node);
        let query = format!("labelSelector={CRR_NODE_NAME}%3D{node},{CRR_ACTIVE}%3Dtrue");
        let resource = ContainerRecreateRequest::RESOURCE;
        let selection = Selection { resource: resource.plural(), path: resource.collection(""), query };
        let watcher = self.watcher(&api, "crrInformerSynced", selection);
        let killer = Killer { events, metrics: Arc::clone(&self.metrics), by: "recreate" };
        let recreator = Recreator::new(api, Arc::clone(&self.runtimes), killer);
        self.tasks.spawn(watch::<ContainerRecreateRequest>(watcher, move |change| recreator.hear(change)));
    }

    fn probes(&mut self) {
        let part = self.part(component::DAEMON_PODPROBE);
        let selection = self.own(NodePodProbe::RESOURCE);
        let watcher = self.watcher(&part.0, "nodePodProbeInformerSynced", selection);
        let view = View::new(Arc::clone(&self.runtimes));
        let prober = Prober::new(part, Arc::clone(&self.metrics), &self.node, view);
        self.tasks.spawn(Arc::clone(&prober).report());
        self.tasks.spawn(watch::<NodePodProbe>(watcher, move |change| prober.hear(change)));
    }

    fn meta(&mut self) {
        let (api, events) = self.part(component::DAEMON_CONTAINERMETA);
        let query = format!("fieldSelector=spec.nodeName%3D{}", self.node);
        let selection = Selection { resource: "pods", path: "/api/v1/pods".to_owned(), query };
        let watcher = self.watcher(&api, "podInformerSynced", selection);
        let killer = Killer { events, metrics: Arc::clone(&self.metrics), by: "restart" };
        let restarter = Restarter::new(Arc::clone(&self.runtimes), killer);
        let environments = if self.gates.on(Gate::InPlaceUpdateEnvFromMetadata) {
            Environments::Compared
        } else {
            Environments::Ignored
        };
        let reporter = Reporter::new(api, Arc::clone(&self.runtimes), environments, Arc::clone(&restarter));
        restarter.looks_at(&reporter);
        self.tasks.spawn(watch::<Pod>(watcher, move |change| reporter.hear(change)));
    }
}

async fn client(flags: &Flags) -> anyhow::Result<Client> {
    let config = if flags.kubeconfig.is_empty() {
        Config::infer().await.context("no kubeconfig was given and this is not a pod of a cluster")?
    } else {
        let read = kube::config::Kubeconfig::read_from(&flags.kubeconfig)
            .with_context(|| flags.kubeconfig.clone())?;
        Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default()).await?
    };
    Ok(Client::try_from(config)?)
}

/// `:10221` is all addresses, of both families where the machine has both.
async fn listen(address: &str) -> std::io::Result<TcpListener> {
    let odd = |error: std::num::ParseIntError| std::io::Error::other(error);
    match address.strip_prefix(':') {
        Some(port) => {
            let port: u16 = port.parse().map_err(odd)?;
            match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
                Ok(listener) => Ok(listener),
                Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
            }
        }
        None => TcpListener::bind(address).await,
    }
}

/// DP-5: the process ends at once; a stop or pull that is under way ends with the runtime, and is looked at again at the next start.
async fn stop_signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        result = tokio::signal::ctrl_c() => result?,
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    Ok(())
}
