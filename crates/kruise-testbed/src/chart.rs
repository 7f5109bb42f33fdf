//! Our chart and the helm that renders and installs it.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::components::{self, Component, KUBERNETES};
use crate::{Cluster, TestbedError, checkout};

/// Helm, and the chart of this checkout.
#[derive(Debug, Clone)]
pub struct Chart {
    helm: PathBuf,
    pub dir: PathBuf,
}

impl Chart {
    /// Builds helm if it is missing.
    pub async fn find() -> Result<Self, TestbedError> {
        let binaries = tokio::task::spawn_blocking(|| components::ensure(Component::Helm))
            .await
            .map_err(|error| TestbedError::Unfit(error.to_string()))??;
        Ok(Self { helm: binaries.path("helm"), dir: checkout::root().join("charts/kruise") })
    }

    /// The helm program.
    pub fn program(&self) -> &Path {
        &self.helm
    }

    /// What `helm lint` says, and whether it is content.
    pub async fn lint(&self, args: &[&str]) -> Result<Output, TestbedError> {
        self.run(Command::new(&self.helm).arg("lint").arg(&self.dir).args(args)).await
    }

    /// `helm template`, as for a release `kruise` of a user who says nothing else.
    pub async fn render(&self, args: &[&str]) -> Result<Output, TestbedError> {
        self.render_dir(&self.dir, args).await
    }

    /// As [`Chart::rendered`], of another chart.
    pub async fn rendered_of(&self, dir: &Path, args: &[&str]) -> Result<String, TestbedError> {
        let output = self.render_dir(dir, args).await?;
        text(&output, &format!("helm template {}", dir.display()))
    }

    async fn render_dir(&self, dir: &Path, args: &[&str]) -> Result<Output, TestbedError> {
        let version = format!("--kube-version={KUBERNETES}");
        let mut helm = Command::new(&self.helm);
        helm.arg("template").arg("kruise").arg(dir).arg(version).args(args);
        self.run(&mut helm).await
    }

    /// As [`Chart::render`]; a chart that does not render is an error.
    pub async fn rendered(&self, args: &[&str]) -> Result<String, TestbedError> {
        let output = self.render(args).await?;
        text(&output, &format!("helm template {}", args.join(" ")))
    }

    /// Any helm command about a cluster; with an error if it fails.
    pub async fn helm(&self, cluster: &Cluster, args: &[&str]) -> Result<String, TestbedError> {
        let output = self.try_helm(cluster, args).await?;
        text(&output, &format!("helm {}", args.join(" ")))
    }

    /// Any helm command about a cluster, however it ends.
    pub async fn try_helm(&self, cluster: &Cluster, args: &[&str]) -> Result<Output, TestbedError> {
        let home = cluster.dir().join("helm");
        let mut helm = Command::new(&self.helm);
        helm.args(args).arg("--kubeconfig").arg(cluster.kubeconfig());
        // Nothing of the user's own helm is read or written.
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            helm.env(name, &home);
        }
        self.run(&mut helm).await
    }

    async fn run(&self, helm: &mut Command) -> Result<Output, TestbedError> {
        helm.stdin(Stdio::null()).output().await.map_err(TestbedError::io("starting helm"))
    }
}

/// Who merges what is applied with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    /// The API server, by who owns a field.
    Server,
    /// kubectl, by what it noted the last time.
    Client,
}

/// `kubectl apply` of a text.
pub async fn apply(cluster: &Cluster, manifests: &str) -> Result<(), TestbedError> {
    apply_as(cluster, manifests, Apply::Server).await
}

/// As [`apply`], in either way.
pub async fn apply_as(cluster: &Cluster, manifests: &str, how: Apply) -> Result<(), TestbedError> {
    let mut kubectl = Command::new(cluster.kubectl());
    kubectl
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .arg("--cache-dir")
        .arg(cluster.dir().join("kubectl-cache"));
    match how {
        Apply::Server => kubectl.args(["apply", "--server-side", "--force-conflicts", "-f", "-"]),
        Apply::Client => kubectl.args(["apply", "-f", "-"]),
    };
    kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = kubectl.spawn().map_err(TestbedError::io("starting kubectl"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(manifests.as_bytes()).await.map_err(TestbedError::io("writing to kubectl"))?;
    }
    let output = child.wait_with_output().await.map_err(TestbedError::io("waiting for kubectl"))?;
    text(&output, "kubectl apply").map(drop)
}

fn text(output: &Output, what: &str) -> Result<String, TestbedError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(TestbedError::Unfit(format!("{what}: {}", String::from_utf8_lossy(&output.stderr))))
}
