//! `make run`: a cluster to play with, and what a newcomer needs to know about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kruise_sim::kubelet::{Behaviour, Which};

use crate::provisioner::{self, Provisioner};
use crate::simnodes::{self, SimNodes};
use crate::{Cluster, Options, TestbedError, crds, manager, welcome};

/// The image of the job in `examples/`.
const ENDING_IMAGE: &str = "busybox:1.36";

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

async fn bring_up(settings: &Settings) -> Result<(), TestbedError> {
    let started = std::time::Instant::now();
    let cluster = Cluster::start(Options { port: settings.port, ..Options::default() }).await?;
    say(&format!("control plane ready ({:.1} s)", started.elapsed().as_secs_f64()));
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await?, settings.nodes).await?;
    say(&format!("{} simulated nodes registered", nodes.names().len()));
    // No program runs on a simulated node: the one of the job in examples/ would never end by itself.
    let ending = Which { image: Some(ENDING_IMAGE.to_owned()), ..Which::default() };
    nodes.rule(ending, Behaviour::Exits { exit_code: 0, after: Duration::from_secs(2) });
    let _volumes = Provisioner::start(cluster.client_named(provisioner::USER_AGENT).await?).await?;
    let count = crds::install(&cluster.client()).await?;
    say(&format!("{count} CRDs installed"));
    if let Some(manager) = &settings.manager {
        manager::start_called(&cluster, manager, &[manager::GATES_OF_EXAMPLES.to_owned()]).await?;
        say(&format!(
            "manager ready, and called by the API server ({:.1} s)",
            started.elapsed().as_secs_f64()
        ));
    }
    let wanted = settings.write_kubeconfig.as_deref();
    let _copy = wanted.map(|path| KubeconfigCopy::make(&cluster, path)).transpose()?;
    let ports = settings.manager.is_some().then(|| cluster.manager_ports());
    println!("{}", welcome::text(&cluster, ports)?);
    watch_parts(&cluster).await
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
pub(crate) async fn interrupt() -> Result<(), TestbedError> {
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

/// Where `make demo` finds the cluster that was started last. Removed when the cluster goes, so that nobody finds a dead one.
struct KubeconfigCopy {
    path: PathBuf,
    text: Vec<u8>,
}

impl KubeconfigCopy {
    fn make(cluster: &Cluster, path: &Path) -> Result<Self, TestbedError> {
        let writing = || TestbedError::io(format!("writing {}", path.display()));
        let text = std::fs::read(cluster.kubeconfig()).map_err(writing())?;
        std::fs::write(path, &text).map_err(writing())?;
        Ok(Self { path: path.to_owned(), text })
    }
}

impl Drop for KubeconfigCopy {
    fn drop(&mut self) {
        // A cluster that was started later may have put its own there.
        let is_ours = std::fs::read(&self.path).is_ok_and(|text| text == self.text);
        if is_ours && let Err(error) = std::fs::remove_file(&self.path) {
            eprintln!("[testbed] {} was not removed: {error}", self.path.display());
        }
    }
}

/// A line of progress, apart from what others may read from standard output.
pub(crate) fn say(words: &str) {
    eprintln!("[testbed] {words}");
}
