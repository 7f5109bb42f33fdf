//! Running our manager as part of a test cluster.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::{Cluster, TestbedError, cargo};

/// Its name among the parts of the cluster.
pub const PART: &str = "kruise-manager";

/// Where the lease is.
const NAMESPACE: &str = "kruise-system";

/// Starts the manager; it ends with the cluster. Returns its process id.
pub async fn start(cluster: &Cluster, program: &Path, extra: &[String]) -> Result<u32, TestbedError> {
    namespace(&cluster.client()).await?;
    let mut args = args(cluster.kubeconfig());
    args.extend_from_slice(extra);
    cluster.spawn(PART, program.to_owned(), args)
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

/// Makes sure that the manager's namespace exists.
pub async fn namespace(client: &Client) -> Result<(), TestbedError> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let params = PatchParams::apply("kruise-testbed").force();
    let applied =
        Api::<Namespace>::all(client.clone()).patch(NAMESPACE, &params, &Patch::Apply(object)).await;
    applied.map(drop).map_err(TestbedError::api("the manager's namespace"))
}

/// The manager's program, built now if it is not up to date.
pub fn program() -> Result<PathBuf, TestbedError> {
    cargo::build("kruise-manager")
}
