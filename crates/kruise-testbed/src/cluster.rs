//! One real control plane: start, reach, stop parts of it.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::{Client, Config};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::TestbedError;
use crate::certs::Subject;
use crate::components::{self, Binaries, Component};
use crate::control_plane::{self, Addresses, Files, Services};
use crate::keeper::{Keeper, Start};
use crate::kubeconfig;
use crate::manager;
use crate::node::{self, Ground, Parts, RealNode};
use crate::registry::Registry;

/// Longer than any part takes on a busy machine of two cores.
const READY_WITHIN: Duration = Duration::from_mins(2);
const PROBE_EVERY: Duration = Duration::from_millis(100);

/// As many as [`addresses`] gives away.
const CONTROL_PLANE_PORTS: u16 = 5;

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Log all writes (see [`Cluster::audit_log`]).
    pub audit: bool,
    /// A fixed port for the API server; otherwise one of the instance's own.
    pub port: Option<u16>,
    /// How many real nodes to start, at most [`node::NODES_MAX`]; they need root (see [`node::preflight`]).
    pub real_nodes: u8,
    /// Appended to the API server's flags: they win over ours.
    pub api_server_args: Vec<String>,
}

/// A running control plane. Dropping it ends all parts and removes their files.
pub struct Cluster {
    keeper: Keeper,
    files: Files,
    addresses: Addresses,
    binaries: ControlPlane,
    client: Client,
    pids: Vec<(&'static str, u32)>,
    real_nodes: Vec<RealNode>,
    /// Last, so that the registry is there until the nodes are gone.
    ground: Option<Ground>,
    _permit: SemaphorePermit<'static>,
}

/// Control planes of one process at a time; more would only make each other late on two cores. Three may be shared by a whole
/// test run and are never given back, and one test has two of its own: with fewer than five it could wait for ever.
static CLUSTERS: Semaphore = Semaphore::const_new(5);

/// Set to the version of other servers than the usual ones (see [`components::OLDEST_KUBERNETES`]).
const VERSION: &str = "KRUISE_TESTBED_KUBERNETES";

fn servers(usual: &Binaries) -> Result<Binaries, TestbedError> {
    match std::env::var(VERSION) {
        Err(_) => Ok(usual.clone()),
        Ok(version) if version == components::OLDEST_KUBERNETES => {
            components::ensure(Component::OldestKubernetes)
        }
        Ok(version) => Err(TestbedError::Unfit(format!(
            "{VERSION} is {version}: use {}, or leave it out",
            components::OLDEST_KUBERNETES
        ))),
    }
}

struct ControlPlane {
    etcd: Binaries,
    kubernetes: Binaries,
    /// API server, controller manager and scheduler: those, or of an older version.
    servers: Binaries,
    /// Only where real nodes were asked for.
    node: Option<node::Kit>,
}

impl Cluster {
    /// Builds what is missing, starts all parts and returns when they serve.
    pub async fn start(options: Options) -> Result<Self, TestbedError> {
        let permit = CLUSTERS.acquire().await.map_err(|error| TestbedError::Unfit(error.to_string()))?;
        let count = options.real_nodes;
        let binaries = tokio::task::spawn_blocking(move || {
            // First: a machine that cannot run nodes should say so before it builds for minutes.
            let node = (0 < count).then(node::Kit::collect).transpose()?;
            let etcd = components::ensure(Component::Etcd)?;
            let kubernetes = components::ensure(Component::Kubernetes)?;
            let servers = servers(&kubernetes)?;
            Ok::<_, TestbedError>(ControlPlane { etcd, kubernetes, servers, node })
        })
        .await
        .map_err(|error| TestbedError::Unfit(error.to_string()))??;
        let keeper = Keeper::start(&program()?)?;
        let ground = binaries.node.as_ref().map(|kit| Ground::prepare(kit, &keeper, count)).transpose()?;
        let addresses = addresses(keeper.first_port(), options.port, ground.as_ref())?;
        let log_dir = keeper.dir().join("log");
        std::fs::create_dir_all(&log_dir)
            .map_err(TestbedError::io(format!("creating {}", log_dir.display())))?;
        let files = Files::write(keeper.dir(), &addresses)?;
        let client = client(&files.admin_kubeconfig, "kruise-testbed").await?;
        let mut cluster = Self {
            keeper,
            files,
            addresses,
            binaries,
            client,
            pids: Vec::new(),
            real_nodes: Vec::new(),
            ground,
            _permit: permit,
        };
        cluster.start_parts(&options).await?;
        cluster.real_nodes = cluster.start_nodes().await?;
        Ok(cluster)
    }

    async fn start_nodes(&self) -> Result<Vec<RealNode>, TestbedError> {
        let (Some(ground), Some(kit)) = (&self.ground, &self.binaries.node) else { return Ok(Vec::new()) };
        let parts = Parts {
            keeper: &self.keeper,
            authority: &self.files.authority,
            server: format!("https://{}:{}", self.addresses.advertise, self.addresses.api_server),
            kit,
            kubernetes: &self.binaries.kubernetes,
            client: self.client(),
        };
        ground.start_nodes(&parts).await
    }

    /// The real nodes asked for with [`Options::real_nodes`].
    pub fn real_nodes(&self) -> &[RealNode] {
        &self.real_nodes
    }

    /// Where the real nodes pull from; there is none without them.
    pub fn registry(&self) -> Option<&Registry> {
        self.ground.as_ref().map(Ground::registry)
    }

    async fn start_parts(&mut self, options: &Options) -> Result<(), TestbedError> {
        let (files, at) = (&self.files, &self.addresses);
        let etcd = control_plane::etcd(files, at, &self.binaries.etcd);
        let mut api_server = control_plane::api_server(files, at, &self.binaries.servers);
        if options.audit {
            control_plane::audit(files, &mut api_server)?;
        }
        api_server.args.extend(options.api_server_args.iter().cloned());
        let controller_manager = control_plane::controller_manager(files, at, &self.binaries.servers);
        let scheduler = control_plane::scheduler(files, at, &self.binaries.servers);
        // The API server retries until etcd is there. The others give up on an API server that does not know their roles
        // within ten seconds, which a busy machine may need: they start when it is ready.
        self.spawn_parts([("etcd", etcd), ("kube-apiserver", api_server)])?;
        self.until_serving("kube-apiserver", self.addresses.api_server, "/readyz").await?;
        self.spawn_parts([("kube-controller-manager", controller_manager), ("kube-scheduler", scheduler)])?;
        self.until_serving("kube-controller-manager", self.addresses.controller_manager, "/healthz").await?;
        self.until_serving("kube-scheduler", self.addresses.scheduler, "/healthz").await?;
        self.until_accounts_exist().await
    }

    fn spawn_parts(&mut self, parts: [(&'static str, Start); 2]) -> Result<(), TestbedError> {
        for (name, start) in parts {
            let pid = self.keeper.spawn(start)?;
            self.pids.push((name, pid));
        }
        Ok(())
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client that calls itself `user_agent`, so that the audit log tells its writes apart.
    pub async fn client_named(&self, user_agent: &str) -> Result<Client, TestbedError> {
        client(&self.files.admin_kubeconfig, user_agent).await
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.files.admin_kubeconfig
    }

    /// A kubeconfig for one more user, who may do what the cluster's roles say.
    pub fn kubeconfig_of(&self, user: &str) -> Result<PathBuf, TestbedError> {
        let file = user.replace(':', "_");
        let path = self.dir().join(format!("{file}.kubeconfig"));
        if path.is_file() {
            return Ok(path);
        }
        let subject = Subject { common_name: user, ..Subject::default() };
        let pair = self.files.authority.issue(&file, &subject)?;
        kubeconfig::write(&path, &self.addresses.server(), &self.files.authority.ca(), &pair)
    }

    pub fn kubectl(&self) -> PathBuf {
        self.binaries.kubernetes.path("kubectl")
    }

    /// Directory with everything of this cluster; gone when it is.
    pub fn dir(&self) -> &Path {
        self.keeper.dir()
    }

    pub fn log_dir(&self) -> PathBuf {
        self.keeper.dir().join("log")
    }

    /// One JSON event a line, if asked for with [`Options::audit`].
    pub fn audit_log(&self) -> PathBuf {
        self.files.audit_log()
    }

    /// Process ids of the control plane, by name of the part.
    pub fn pids(&self) -> &[(&'static str, u32)] {
        &self.pids
    }

    /// Ports of this cluster's own, so that two clusters of one machine never meet.
    pub fn manager_ports(&self) -> manager::Ports {
        let first = self.keeper.first_port() + CONTROL_PLANE_PORTS;
        manager::Ports { webhook: first, metrics: first + 1, health: first + 2 }
    }

    /// Runs one more program as part of the cluster: it ends with it and logs beside the others.
    pub fn spawn(&self, name: &str, program: PathBuf, args: Vec<String>) -> Result<u32, TestbedError> {
        let log = self.files.log(name);
        self.keeper.spawn(Start { name: name.to_owned(), program, args, log, ..Start::default() })
    }

    /// Ends a part at once: a program given to [`Cluster::spawn`] or a part of the control plane.
    pub fn stop(&self, name: &str) -> Result<(), TestbedError> {
        self.keeper.stop(name)
    }

    /// What to say about a part that ended by itself.
    pub fn part_ended(&self, part: &str, status: String) -> TestbedError {
        let log = self.files.log(part);
        TestbedError::PartEnded { part: part.into(), status, tail: tail(&log), log }
    }

    /// How a part ended, if it did.
    pub fn ended(&self, name: &str) -> Option<String> {
        self.keeper.ended(name)
    }

    async fn until_serving(&self, part: &str, port: u16, path: &str) -> Result<(), TestbedError> {
        let client = client_at(&self.files.admin_kubeconfig, "kruise-testbed", Some(port)).await?;
        self.until(part, || async {
            let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
            client.request_text(request).await.map(drop).map_err(|error| error.to_string())
        })
        .await
    }

    /// Pods are refused until the controller manager has made their namespace's account.
    async fn until_accounts_exist(&self) -> Result<(), TestbedError> {
        use k8s_openapi::api::core::v1::ServiceAccount;
        let accounts: kube::Api<ServiceAccount> = kube::Api::namespaced(self.client(), "default");
        self.until("kube-controller-manager", || async {
            accounts.get("default").await.map(drop).map_err(|error| error.to_string())
        })
        .await
    }

    /// Probes until all is well; an error says what the probe said last, and the end of the part's log.
    pub(crate) async fn until<F>(&self, part: &str, mut probe: impl FnMut() -> F) -> Result<(), TestbedError>
    where
        F: Future<Output = Result<(), String>>,
    {
        let started = Instant::now();
        loop {
            let Err(last) = probe().await else { return Ok(()) };
            if let Some(status) = self.keeper.ended(part) {
                return Err(self.part_ended(part, status));
            }
            if started.elapsed() >= READY_WITHIN {
                let log = self.files.log(part);
                let seconds = READY_WITHIN.as_secs();
                return Err(TestbedError::NotReady {
                    part: part.into(),
                    seconds,
                    last,
                    tail: tail(&log),
                    log,
                });
            }
            tokio::time::sleep(PROBE_EVERY).await;
        }
    }
}

/// This crate's program, which is also the keeper: of the same build as the running one, else built now.
pub fn program() -> Result<PathBuf, TestbedError> {
    let own = std::env::current_exe().map_err(TestbedError::io("finding the running program"))?;
    if own.file_name().is_some_and(|name| name == "kruise-testbed") {
        return Ok(own);
    }
    crate::cargo::program("kruise-testbed")
}

fn addresses(first: u16, fixed: Option<u16>, ground: Option<&Ground>) -> Result<Addresses, TestbedError> {
    if let Some(port) = fixed
        && std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err()
    {
        return Err(TestbedError::PortInUse { port });
    }
    // Real nodes and their pods reach the API server over the bridge, everybody else on loopback.
    let (bind, advertise, services) = match ground.map(Ground::network) {
        Some(network) => (
            Ipv4Addr::UNSPECIFIED,
            network.host(),
            Services { range: network.services(), first: network.api_service() },
        ),
        None => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Services::default()),
    };
    Ok(Addresses {
        etcd: first,
        etcd_peer: first + 1,
        api_server: fixed.unwrap_or(first + 2),
        controller_manager: first + 3,
        scheduler: first + 4,
        bind,
        advertise,
        services,
    })
}

/// A client for the user of a kubeconfig.
pub async fn client(kubeconfig: &Path, user_agent: &str) -> Result<Client, TestbedError> {
    client_at(kubeconfig, user_agent, None).await
}

/// A client for the kubeconfig's user, at another port of this machine if given.
async fn client_at(kubeconfig: &Path, user_agent: &str, port: Option<u16>) -> Result<Client, TestbedError> {
    let unfit = |error: String| TestbedError::Unfit(format!("{}: {error}", kubeconfig.display()));
    let read = kube::config::Kubeconfig::read_from(kubeconfig).map_err(|error| unfit(error.to_string()))?;
    let mut config = Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default())
        .await
        .map_err(|error| unfit(error.to_string()))?;
    if let Some(port) = port {
        config.cluster_url = Addresses::url(port, "").parse().map_err(|_| unfit("not an address".into()))?;
    }
    let value = http::HeaderValue::from_str(user_agent).map_err(|error| unfit(error.to_string()))?;
    config.headers.push((http::header::USER_AGENT, value));
    Client::try_from(config).map_err(|error| unfit(error.to_string()))
}

/// The last lines of a log, for an error message.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_else(|error| error.to_string());
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
