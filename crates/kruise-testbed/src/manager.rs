//! Running our manager as part of a test cluster.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use kruise_api::names::{DAEMON_CONFIG_NAMESPACE, NAMESPACE}; // The latter is where the lease is.

use crate::called::is_called;
use crate::chart::{self, Chart};
use crate::{Cluster, TestbedError, cargo, pages};

/// Its name among the parts of the cluster.
pub const PART: &str = "kruise-manager";

/// Whom the chart's roles are for. Managers of tests are this user: what the roles do not grant fails the tests.
pub const USER: &str = "system:serviceaccount:kruise-system:kruise-manager";

/// The template of the chart that says what the manager may do.
const ROLES: &str = "templates/rbac.yaml";

/// Simulated nodes are ready when they say so.
const NODE_IMAGES_AT_ONCE: &str = "--nodeimage-creation-delay=0s";

/// What the chart turns on unless its user says otherwise, and what `examples/` need beyond that.
pub const GATES_OF_EXAMPLES: &str = "--feature-gates=ImagePullJobGate=true,ResourceDistributionGate=true";

/// Ports that the manager of one cluster has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    pub webhook: u16,
    pub metrics: u16,
    pub health: u16,
}

/// A manager that acts on one namespace only, for a test that starts and kills it as it likes.
pub struct Own<'a> {
    cluster: &'a Cluster,
    program: PathBuf,
    part: String,
    args: Vec<String>,
}

impl<'a> Own<'a> {
    /// Not started yet; the cluster knows the roles ([`authorize`]). Others act on other namespaces, so it needs no lease; `extra` flags are added.
    pub fn of(cluster: &'a Cluster, namespace: &str, extra: &[&str]) -> Result<Self, TestbedError> {
        let mut args = args(&cluster.kubeconfig_of(USER)?);
        args.push(format!("--namespace={namespace}"));
        args.push("--enable-leader-election=false".to_owned());
        args.extend(extra.iter().map(|&flag| flag.to_owned()));
        Ok(Self { cluster, program: program()?, part: format!("{PART}-{namespace}"), args })
    }

    /// Reaches the API server as this kubeconfig says.
    #[must_use]
    pub fn through(mut self, kubeconfig: &Path) -> Self {
        if let Some(path) = self.args.get_mut(1) {
            *path = kubeconfig.display().to_string();
        }
        self
    }

    pub fn start(&self) -> Result<u32, TestbedError> {
        self.cluster.spawn(&self.part, self.program.clone(), self.args.clone())
    }

    /// SIGKILL: nothing of its own code runs after it.
    pub fn kill(&self) -> Result<(), TestbedError> {
        self.cluster.stop(&self.part)
    }
}

/// Starts the manager; it ends with the cluster. Returns its process id.
pub async fn start(cluster: &Cluster, program: &Path, extra: &[String]) -> Result<u32, TestbedError> {
    let kubeconfig = authorize(cluster, gates_of(extra)).await?;
    let mut args = args(&kubeconfig);
    args.extend_from_slice(extra);
    cluster.spawn(PART, program.to_owned(), args)
}

/// As [`start`], with everything that it serves; returns when the API server calls it.
pub async fn start_called(cluster: &Cluster, program: &Path, extra: &[String]) -> Result<u32, TestbedError> {
    let kubeconfig = authorize(cluster, gates_of(extra)).await?;
    let ports = cluster.manager_ports();
    let mut args = vec!["--kubeconfig".to_owned(), kubeconfig.display().to_string()];
    args.push(format!("--metrics-addr=127.0.0.1:{}", ports.metrics));
    args.push(format!("--health-probe-addr=127.0.0.1:{}", ports.health));
    args.extend(webhook_args(ports.webhook));
    args.push(NODE_IMAGES_AT_ONCE.to_owned());
    args.extend_from_slice(extra);
    let id = cluster.spawn(PART, program.to_owned(), args)?;
    let client = cluster.client();
    // It says that it is ready when it has written all configurations; then the API server has to see them.
    cluster.until(PART, || is_ready(ports.health)).await?;
    cluster.until(PART, || is_called(&client)).await?;
    Ok(id)
}

async fn is_ready(health: u16) -> Result<(), String> {
    let answer = pages::ask(health, "/readyz").await.map_err(|error| error.to_string())?;
    if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(answer) }
}

fn gates_of(extra: &[String]) -> &str {
    extra.iter().find_map(|arg| arg.strip_prefix("--feature-gates=")).unwrap_or_default()
}

/// Applies the roles that the chart renders for these feature gates; the kubeconfig of the one who has them.
pub async fn authorize(cluster: &Cluster, gates: &str) -> Result<PathBuf, TestbedError> {
    let chart = Chart::find().await?;
    let gates = format!("featureGates={}", gates.replace(',', "\\,"));
    let roles = chart.rendered(&["--set-string", &gates, "--show-only", ROLES]).await?;
    namespace(&cluster.client()).await?;
    chart::apply(cluster, &roles).await?;
    cluster.kubeconfig_of(USER)
}

/// What every manager of a test cluster is started with: its ports are not for others.
pub fn args(kubeconfig: &Path) -> Vec<String> {
    let kubeconfig = kubeconfig.display().to_string();
    vec![
        "--kubeconfig".to_owned(),
        kubeconfig,
        "--metrics-addr=0".to_owned(),
        "--health-probe-addr=0".to_owned(),
        "--webhook-port=0".to_owned(),
        NODE_IMAGES_AT_ONCE.to_owned(),
    ]
}

/// As [`args`], for a manager whose webhooks the API server reaches on loopback at this port.
pub fn args_with_webhooks(kubeconfig: &Path, port: u16) -> Vec<String> {
    let mut args = args(kubeconfig);
    args.retain(|arg| !arg.starts_with("--webhook-port"));
    args.extend(webhook_args(port));
    args
}

/// Webhooks on loopback, with certificates where a manager inside of a cluster keeps them.
fn webhook_args(port: u16) -> [String; 3] {
    [
        format!("--webhook-port={port}"),
        "--webhook-host=127.0.0.1".to_owned(),
        "--webhook-cert-writer=secret".to_owned(),
    ]
}

/// Ports above those that the kernel gives to outgoing connections: one that is free now is not taken by the next connection.
const PORTS: Range<u16> = 61_000..65_500;

/// A port that nobody listens on, and that this process gives to nobody else.
pub fn free_port() -> Result<u16, TestbedError> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    // Each process begins elsewhere.
    let first = std::process::id().wrapping_mul(97) % count;
    for _ in 0..count {
        let place = (first + GIVEN.fetch_add(1, Ordering::Relaxed)) % count;
        let port = PORTS.start + u16::try_from(place).unwrap_or_default();
        if [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED]
            .iter()
            .all(|one| TcpListener::bind((*one, port)).is_ok())
        {
            return Ok(port);
        }
    }
    Err(TestbedError::io("finding a free port")(std::io::ErrorKind::AddrInUse.into()))
}

/// Makes sure that the manager's namespace exists, and that of the copies of pull secrets.
pub async fn namespace(client: &Client) -> Result<(), TestbedError> {
    for name in [NAMESPACE, DAEMON_CONFIG_NAMESPACE] {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let params = PatchParams::apply("kruise-testbed").force();
        let applied = Api::<Namespace>::all(client.clone()).patch(name, &params, &Patch::Apply(object)).await;
        applied.map(drop).map_err(TestbedError::api("the manager's namespaces"))?;
    }
    Ok(())
}

/// The manager's program, built at the first call if it is not up to date.
pub fn program() -> Result<PathBuf, TestbedError> {
    cargo::program("kruise-manager")
}
