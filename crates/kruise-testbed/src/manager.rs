//! Running our manager as part of a test cluster.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::json;

use kruise_api::names::{APPS_GROUP, NAMESPACE}; // The namespace is where the lease is.

use crate::chart::{self, Chart};
use crate::{Cluster, TestbedError, cargo};

/// Its name among the parts of the cluster.
pub const PART: &str = "kruise-manager";

/// Whom the chart's roles are for. Managers of tests are this user: what the roles do not grant fails the tests.
pub const USER: &str = "system:serviceaccount:kruise-system:kruise-manager";

/// The template of the chart that says what the manager may do.
const ROLES: &str = "templates/rbac.yaml";

/// A slow machine needs a while from the start of a process to its first answer.
const CALLED_TRIES: u32 = 240;
const CALLED_LOOK_EVERY: Duration = Duration::from_millis(250);

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

/// As [`start`], with webhooks; returns when the API server asks it about objects of its kinds.
pub async fn start_called(cluster: &Cluster, program: &Path, extra: &[String]) -> Result<u32, TestbedError> {
    let port = free_port()?;
    let kubeconfig = authorize(cluster, gates_of(extra)).await?;
    let mut args = args_with_webhooks(&kubeconfig, port);
    args.extend_from_slice(extra);
    let id = cluster.spawn(PART, program.to_owned(), args)?;
    until_called(&cluster.client()).await?;
    Ok(id)
}

/// Until the API server has seen the manager's configurations, nobody calls it: an object that only its rules refuse tells.
async fn until_called(client: &Client) -> Result<(), TestbedError> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(APPS_GROUP, "v1beta1", "CloneSet"));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind);
    let labels = json!({"app": "probe"});
    let main = json!({"name": "main", "image": "x", "ports": [{"containerPort": 70_000}]});
    let probe = json!({
        "apiVersion": format!("{APPS_GROUP}/v1beta1"), "kind": "CloneSet", "metadata": {"name": "probe"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [main]}},
        },
    });
    let probe: DynamicObject =
        serde_json::from_value(probe).map_err(|error| TestbedError::Unfit(error.to_string()))?;
    let try_only = PostParams { dry_run: true, ..PostParams::default() };
    let mut last = String::new();
    for _ in 0..CALLED_TRIES {
        last = match api.create(&try_only, &probe).await {
            Err(kube::Error::Api(status)) if status.message.contains("vcloneset.kb.io") => {
                return Ok(());
            }
            Ok(_) => "it was let through".to_owned(),
            Err(error) => error.to_string(),
        };
        tokio::time::sleep(CALLED_LOOK_EVERY).await;
    }
    Err(TestbedError::Unfit(format!("the manager's webhooks were never called: {last}")))
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
    ]
}

/// As [`args`], for a manager whose webhooks the API server reaches on loopback at this port.
pub fn args_with_webhooks(kubeconfig: &Path, port: u16) -> Vec<String> {
    let mut args = args(kubeconfig);
    args.retain(|arg| !arg.starts_with("--webhook-port"));
    args.extend([
        format!("--webhook-port={port}"),
        "--webhook-host=127.0.0.1".to_owned(),
        "--webhook-cert-writer=secret".to_owned(),
    ]);
    args
}

/// A port that nobody listens on at the moment.
pub fn free_port() -> Result<u16, TestbedError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(TestbedError::io("finding a free port"))
}

/// Makes sure that the manager's namespace exists.
pub async fn namespace(client: &Client) -> Result<(), TestbedError> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let params = PatchParams::apply("kruise-testbed").force();
    let applied =
        Api::<Namespace>::all(client.clone()).patch(NAMESPACE, &params, &Patch::Apply(object)).await;
    applied.map(drop).map_err(TestbedError::api("the manager's namespace"))
}

/// The manager's program, built at the first call if it is not up to date.
pub fn program() -> Result<PathBuf, TestbedError> {
    cargo::program("kruise-manager")
}
