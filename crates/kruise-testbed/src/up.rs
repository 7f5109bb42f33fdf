//! `make run`: a cluster to play with, and what a newcomer needs to know about it.

use std::path::{Path, PathBuf};

use kube::Client;

use crate::simnodes::{self, SimNodes};
use crate::{Cluster, Options, TestbedError, cluster, crds, manager};

/// What to bring up.
#[derive(Debug, Clone)]
pub struct Settings {
    pub nodes: usize,
    pub port: Option<u16>,
    /// The manager's program; none to start without one.
    pub manager: Option<PathBuf>,
    /// A copy of the kubeconfig is kept here while the cluster runs, so that other commands find it.
    pub write_kubeconfig: Option<PathBuf>,
}

/// Runs a new cluster until Ctrl-C.
pub async fn run(settings: &Settings) -> Result<(), TestbedError> {
    let interrupted = interrupt();
    tokio::select! {
        biased;
        result = interrupted => result,
        result = bring_up(settings) => result,
    }
}

/// Runs the manager against the cluster of a kubeconfig until Ctrl-C.
pub async fn run_existing(kubeconfig: &Path, manager: &Path) -> Result<(), TestbedError> {
    let client = cluster::client(kubeconfig, "kruise-testbed").await?;
    let server = client.apiserver_version().await.map_err(TestbedError::api("its version"))?;
    say(&format!("found Kubernetes {}", server.git_version));
    install_crds(&client).await?;
    manager::namespace(&client).await?;
    let mut child = tokio::process::Command::new(manager)
        .args(manager::args(kubeconfig))
        .kill_on_drop(true)
        .spawn()
        .map_err(TestbedError::io(format!("starting {}", manager.display())))?;
    say("the manager runs against your cluster; Ctrl-C stops it and changes nothing else");
    tokio::select! {
        biased;
        result = interrupt() => result,
        status = child.wait() => {
            let status = status.map_err(TestbedError::io("waiting for the manager"))?;
            Err(TestbedError::Unfit(format!("the manager ended ({status}); its messages are above")))
        }
    }
}

async fn bring_up(settings: &Settings) -> Result<(), TestbedError> {
    let started = std::time::Instant::now();
    let cluster = Cluster::start(Options { port: settings.port, ..Options::default() }).await?;
    say(&format!("control plane ready ({:.1} s)", started.elapsed().as_secs_f64()));
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await?, settings.nodes).await?;
    say(&format!("{} simulated nodes registered", nodes.names().len()));
    install_crds(&cluster.client()).await?;
    if let Some(manager) = &settings.manager {
        manager::start(&cluster, manager, &[]).await?;
        say("manager started");
    }
    let shown = KubeconfigCopy::make(&cluster, settings.write_kubeconfig.as_deref())?;
    welcome(&cluster, &shown.path);
    watch_parts(&cluster).await
}

async fn install_crds(client: &Client) -> Result<(), TestbedError> {
    let count = crds::install(client).await?;
    say(&format!("{count} custom resource definitions installed"));
    Ok(())
}

/// Returns only when a part ends that should not.
async fn watch_parts(cluster: &Cluster) -> Result<(), TestbedError> {
    let mut parts: Vec<&str> = cluster.pids().iter().map(|(name, _)| *name).collect();
    parts.push(manager::PART);
    loop {
        for part in &parts {
            if let Some(status) = cluster.ended(part) {
                return Err(cluster.part_ended(part, status));
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

/// Ctrl-C and a polite kill both mean: stop everything that was started here.
async fn interrupt() -> Result<(), TestbedError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(TestbedError::io("waiting for signals"))?;
    tokio::select! {
        biased;
        result = tokio::signal::ctrl_c() => result.map_err(TestbedError::io("waiting for Ctrl-C"))?,
        _ = terminate.recv() => {}
    }
    say("stopping what was started");
    Ok(())
}

/// Removed when the cluster goes, so that nobody finds a dead one.
struct KubeconfigCopy {
    path: PathBuf,
    is_copy: bool,
}

impl KubeconfigCopy {
    fn make(cluster: &Cluster, wanted: Option<&Path>) -> Result<Self, TestbedError> {
        let Some(path) = wanted else {
            return Ok(Self { path: cluster.kubeconfig().to_owned(), is_copy: false });
        };
        std::fs::copy(cluster.kubeconfig(), path)
            .map_err(TestbedError::io(format!("writing {}", path.display())))?;
        Ok(Self { path: path.to_owned(), is_copy: true })
    }
}

impl Drop for KubeconfigCopy {
    fn drop(&mut self) {
        if self.is_copy
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            eprintln!("[testbed] {} was not removed: {error}", self.path.display());
        }
    }
}

fn welcome(cluster: &Cluster, kubeconfig: &Path) {
    println!(
        "\nA real Kubernetes is running, and Kruise with it.\n\n  \
         export KUBECONFIG={}\n  \
         alias kubectl={}\n\n\
         Try\n  \
         make demo                       a CloneSet is rolled out in place (in another terminal)\n  \
         kubectl get nodes               the simulated nodes\n  \
         kubectl explain cloneset.spec   what can be said about a CloneSet\n\n\
         Logs   {}\n\
         Stop   Ctrl-C; nothing is left behind\n",
        kubeconfig.display(),
        cluster.kubectl().display(),
        cluster.log_dir().display(),
    );
}

fn say(words: &str) {
    eprintln!("[testbed] {words}");
}
