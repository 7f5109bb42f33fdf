//! One cluster for a whole test run, a namespace for each test.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::channel;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use crate::provisioner::{self, Provisioner};
use crate::simnodes::{self, SimNodes};
use crate::{Cluster, Options, TestbedError, crds, manager, wait};

/// Enough for zones, for spreading and for a node or two to go away.
const NODES: usize = 12;

const ALL_GATES: &str = "AllAlpha=true,ResourceDistributionGate=true";

/// The cluster that all tests of one process share.
pub struct Shared {
    pub cluster: Cluster,
    pub nodes: SimNodes,
    /// Volumes appear while this lives.
    _provisioner: Provisioner,
}

/// How the manager of a shared cluster runs. Gates belong to a process, and two managers must not act on one
/// namespace: tests that need gates share a cluster of their own.
#[derive(Debug, Clone, Copy)]
enum Flavour {
    Defaults,
    /// And with webhooks: what it refuses never gets as far as its controllers.
    AllGates,
    /// Tests start managers of their own, each for its namespace only.
    NoManager,
}

impl Flavour {
    async fn start_manager(self, cluster: &Cluster, program: &Path) -> Result<(), TestbedError> {
        match self {
            Self::Defaults => manager::start(cluster, program, &[]).await.map(drop),
            Self::AllGates => {
                let gates = [format!("--feature-gates={ALL_GATES}")];
                manager::start_called(cluster, program, &gates).await.map(drop)
            }
            Self::NoManager => manager::authorize(cluster, ALL_GATES).await.map(drop),
        }
    }

    fn cluster(self) -> &'static OnceLock<Result<Shared, String>> {
        static DEFAULTS: OnceLock<Result<Shared, String>> = OnceLock::new();
        static ALL_GATES: OnceLock<Result<Shared, String>> = OnceLock::new();
        static NO_MANAGER: OnceLock<Result<Shared, String>> = OnceLock::new();
        match self {
            Self::Defaults => &DEFAULTS,
            Self::AllGates => &ALL_GATES,
            Self::NoManager => &NO_MANAGER,
        }
    }
}

/// A test's corner of the shared cluster.
pub struct Scratch {
    pub client: Client,
    pub namespace: String,
    pub shared: &'static Shared,
}

/// A new namespace of the shared cluster, which is started by the first caller.
///
/// `name` says what the test is about; it shows in the namespace and so in every log line of the control plane.
pub async fn scratch(name: &str) -> Result<Scratch, TestbedError> {
    scratch_of(Flavour::Defaults, name).await
}

/// As [`scratch`], in the shared cluster whose manager runs with every alpha gate and ResourceDistributions on and is asked before objects are stored.
pub async fn scratch_with_all_gates(name: &str) -> Result<Scratch, TestbedError> {
    scratch_of(Flavour::AllGates, name).await
}

/// As [`scratch`], in the shared cluster without a manager: see [`manager::Own`].
pub async fn scratch_without_manager(name: &str) -> Result<Scratch, TestbedError> {
    scratch_of(Flavour::NoManager, name).await
}

async fn scratch_of(flavour: Flavour, name: &str) -> Result<Scratch, TestbedError> {
    let shared = tokio::task::spawn_blocking(move || shared(flavour))
        .await
        .map_err(|error| TestbedError::Unfit(error.to_string()))??;
    // A client per test: its connections belong to the test's own runtime.
    let client = shared.cluster.client_named(&format!("test-{name}")).await?;
    let namespace = new_namespace(&client, name).await?;
    Ok(Scratch { client, namespace, shared })
}

/// A new namespace in which pods can be created at once; its name begins with `name`.
async fn new_namespace(client: &Client, name: &str) -> Result<String, TestbedError> {
    let object = serde_json::from_value(json!({"metadata": {"generateName": format!("{name}-")}}));
    let object: Namespace = object.map_err(|error| TestbedError::Unfit(error.to_string()))?;
    let created = Api::<Namespace>::all(client.clone())
        .create(&PostParams::default(), &object)
        .await
        .map_err(TestbedError::api("a namespace for the test"))?;
    let namespace = created.name_any();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace);
    wait::until(&accounts, "default", "the namespace's service account", |_| true).await?;
    Ok(namespace)
}

impl Scratch {
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// Never dropped: the keeper takes the cluster down when the test process ends, however it ends.
fn shared(flavour: Flavour) -> Result<&'static Shared, TestbedError> {
    flavour
        .cluster()
        .get_or_init(|| start_on_its_own_thread(flavour).map_err(|error| error.to_string()))
        .as_ref()
        .map_err(|message| TestbedError::Unfit(message.clone()))
}

/// The simulated nodes need a runtime that outlives every test's own.
fn start_on_its_own_thread(flavour: Flavour) -> Result<Shared, TestbedError> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                return sender.send(Err(TestbedError::io("starting a runtime")(error))).is_ok();
            }
        };
        runtime.block_on(async {
            let started = start(flavour).await;
            let go_on = started.is_ok();
            if sender.send(started).is_ok() && go_on {
                std::future::pending::<()>().await;
            }
            true
        })
    });
    receiver.recv().map_err(|error| TestbedError::Unfit(error.to_string()))?
}

async fn start(flavour: Flavour) -> Result<Shared, TestbedError> {
    let program = manager::program()?;
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await?;
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await?, NODES).await?;
    let provisioner = Provisioner::start(cluster.client_named(provisioner::USER_AGENT).await?).await?;
    crds::install(&cluster.client()).await?;
    flavour.start_manager(&cluster, &program).await?;
    Ok(Shared { cluster, nodes, _provisioner: provisioner })
}
