//! The benchmark: what a rollout costs, and what the API server of this machine allows at best.
//!
//! Each phase (create, in-place rollout, recreate rollout, scale-in) is timed from the request to the last pod; the
//! audit log tells the writes by user agent, `/proc` the CPU time and memory of the manager. In the same run, before and after
//! the managers, a bare client makes only the unavoidable writes: that floor is what any manager is compared with. Twice,
//! because a new control plane is slow at first and a busy machine slows down: the mean of both is fair to who runs between.

pub mod audit;
mod floor;
mod latency;
mod managed;
mod observe;
mod process;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kube::Client;

use crate::simnodes;
use crate::{Cluster, Options, TestbedError};

use managed::Manager;
use process::Usage;
use report::Phase;
pub use report::Report;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Settings {
    pub kind: Kind,
    /// Pods per workload.
    pub replicas: usize,
    pub workloads: usize,
    pub nodes: usize,
    /// The last phase of the managers.
    pub until: Part,
    /// Pods of the bare client; as many as the managers have, if not said. Its speed hardly depends on it, its time does.
    pub floor_pods: Option<usize>,
    /// Requests in flight of the bare client.
    pub workers: usize,
    /// Programs to start one after the other: a name and a command line, `{kubeconfig}` and `{metrics}`, a free port, are filled in.
    pub managers: Vec<(String, String)>,
    /// A manager that runs already: a name and its process id. Needs `existing`.
    pub attached: Option<(String, u32)>,
    /// Measure on this cluster instead of a new one.
    pub existing: Option<Existing>,
}

/// What the managers look after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    #[default]
    Cloneset,
    /// Parallel: in order no two pods move at once, whoever manages them.
    Statefulset,
}

/// Nothing but leases was written for so long: the server is quiet.
const QUIET: Duration = Duration::from_millis(500);

/// How often that is looked for; a server that never is quiet is measured all the same.
const QUIET_LOOKS_MAX: usize = 20;

/// A phase. Each begins where the one before ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Part {
    Create,
    InPlace,
    Recreate,
    #[default]
    ScaleIn,
}

/// A cluster that somebody else started.
#[derive(Debug, Clone)]
pub struct Existing {
    pub kubeconfig: PathBuf,
    /// Where its API server writes the audit log; without it no writes are counted.
    pub audit_log: Option<PathBuf>,
}

/// Where the phases run.
struct Stage<'a> {
    client: Client,
    audit: audit::Log,
    settings: &'a Settings,
}

/// Who works, and on how many pods.
#[derive(Debug, Clone, Copy)]
struct Worker {
    pods: usize,
    /// A manager's process, whose CPU time and memory are read.
    process: Option<u32>,
}

impl Stage<'_> {
    /// Times one phase and counts what it cost, with what it leaves behind: a last status, events of the scheduler.
    async fn timed<F>(&self, worker: Worker, part: Part, work: F) -> Result<Phase, TestbedError>
    where
        F: Future<Output = Result<(), TestbedError>>,
    {
        let mark = self.audit.mark()?;
        let before = worker.process.map(Usage::of).transpose()?;
        let started = Instant::now();
        work.await?;
        let elapsed = started.elapsed();
        self.quiet().await?;
        let mut phase = Phase::new(part.name(), worker.pods, elapsed, self.audit.since(mark)?);
        if let (Some(pid), Some(before)) = (worker.process, before) {
            let after = Usage::of(pid)?;
            phase = phase.by_manager(after.cpu.saturating_sub(before.cpu), after.rss_bytes);
        }
        eprintln!("[bench] {}", phase.line());
        Ok(phase)
    }

    /// Waits until nobody writes any more, so that no phase pays for the one before it.
    async fn quiet(&self) -> Result<(), TestbedError> {
        for _ in 0..QUIET_LOOKS_MAX {
            let mark = self.audit.mark()?;
            tokio::time::sleep(QUIET).await;
            let writes = self.audit.since(mark)?;
            if writes.values().flat_map(BTreeMap::keys).all(|what| what.ends_with(" leases")) {
                break;
            }
        }
        Ok(())
    }
}

impl Settings {
    fn pods(&self) -> usize {
        self.replicas * self.workloads
    }
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::InPlace => "in-place",
            Self::Recreate => "recreate",
            Self::ScaleIn => "scale-in",
        }
    }
}

/// Runs all that was asked for. Words about progress go to standard error.
pub async fn run(settings: &Settings) -> Result<Report, TestbedError> {
    let mut report = Report::new(settings);
    if let Some(existing) = &settings.existing {
        let client = crate::cluster::client(&existing.kubeconfig, floor::USER_AGENT).await?;
        let stage = Stage { client, audit: audit::Log::at(existing.audit_log.clone()), settings };
        if let Some((name, pid)) = &settings.attached {
            report.add(name, managed::run(&stage, &Manager { pid: *pid, metrics: None }).await?, None);
        }
        report.add(floor::NAME, floor::run(&stage).await?, None);
        return Ok(report);
    }
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await?;
    let simulated = start_nodes(&cluster, settings.nodes)?;
    let client = cluster.client_named(floor::USER_AGENT).await?;
    let stage = Stage { client, audit: audit::Log::at(Some(cluster.audit_log())), settings };
    observe::nodes_ready(&stage.client, settings.nodes).await?;
    crate::crds::install(&stage.client).await?;
    crate::manager::namespace(&stage.client).await?;
    let before = floor::run(&stage).await?;
    for (name, command) in &settings.managers {
        let manager = managed::start(&cluster, command)?;
        let phases = managed::run(&stage, &manager).await?;
        let p99 = match manager.metrics {
            Some(port) => latency::p99(port, settings.kind).await,
            None => None,
        };
        report.add(name, phases, p99);
        cluster.stop(managed::PART)?;
    }
    let after = floor::run(&stage).await?;
    report.add(floor::NAME, before.iter().zip(&after).map(|(a, b)| a.and(b)).collect(), None);
    report.simulated_kubelet(&Usage::of(simulated)?, stage.audit.count_by(simnodes::USER_AGENT)?);
    Ok(report)
}

/// In a process of their own, so that their CPU time is not the bare client's.
fn start_nodes(cluster: &Cluster, nodes: usize) -> Result<u32, TestbedError> {
    let program = std::env::current_exe().map_err(TestbedError::io("finding the running program"))?;
    let args = [
        "simnodes",
        "--nodes",
        &nodes.to_string(),
        "--kubeconfig",
        &cluster.kubeconfig().display().to_string(),
    ];
    cluster.spawn("simulated-nodes", program, args.map(str::to_owned).to_vec())
}
