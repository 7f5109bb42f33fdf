//! The testbed as a program: build the parts, run a cluster to play with, simulate nodes, measure.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand};
use kruise_testbed::components::{self, Component};
use kruise_testbed::images::{reproduce, shipped};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{bench, cluster, demo, existing, keeper, up};

/// A fifth of the simulated kubelets' CPU went to the system's allocator: they read and write JSON all day.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(about = "A real Kubernetes on this machine")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the parts of Kubernetes that are not in the cache yet
    Build {
        /// Only these
        #[arg(value_parser = component)]
        only: Vec<Component>,
    },
    /// Run a cluster with simulated nodes and the manager until Ctrl-C
    Up(Up),
    /// Register simulated nodes with a cluster and play their kubelets until Ctrl-C
    Simnodes {
        #[arg(long, env = "KUBECONFIG")]
        kubeconfig: PathBuf,
        #[arg(long, default_value_t = 50)]
        nodes: usize,
    },
    /// Roll out a sample on a running cluster
    Demo {
        #[arg(long, env = "KUBECONFIG")]
        kubeconfig: PathBuf,
        /// The checkout, where the sample is
        #[arg(long, default_value = ".")]
        root: PathBuf,
    },
    /// Measure rollouts: wall time, writes per pod, CPU and memory of a manager, and the floor
    Bench(Bench),
    /// Build the image here and in a copy of the checkout elsewhere, and compare the digests; takes two release builds
    ImagesCheck {
        /// The sources; they must not change meanwhile
        #[arg(long, default_value = ".")]
        checkout: PathBuf,
    },
    /// Build the images that ship, into an OCI layout
    Images {
        /// Where the layout is written
        #[arg(long, default_value = "target/images/kruise-manager")]
        out: PathBuf,
        #[arg(long, default_value = concat!("v", env!("CARGO_PKG_VERSION")))]
        tag: String,
    },
    /// Started by the library: looks after the processes of one cluster
    #[command(hide = true)]
    Keeper,
    /// Started by the keeper: becomes PROGRAM, tied to the keeper's life
    #[command(hide = true)]
    Exec {
        keeper: u32,
        program: PathBuf,
        #[arg(last = true)]
        args: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
struct Up {
    #[arg(long, default_value_t = 20)]
    nodes: usize,
    /// A fixed port for the API server
    #[arg(long)]
    port: Option<u16>,
    /// The manager's program
    #[arg(long)]
    manager: Option<PathBuf>,
    /// Keep a copy of the kubeconfig here while the cluster runs
    #[arg(long)]
    write_kubeconfig: Option<PathBuf>,
    /// Use the cluster of this kubeconfig instead of a new one
    #[arg(long, requires = "manager")]
    existing: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Bench {
    /// What is rolled out
    #[arg(long, value_enum, default_value_t)]
    kind: bench::Kind,
    /// Pods per workload
    #[arg(long, default_value_t = 300)]
    replicas: usize,
    #[arg(long, default_value_t = 1)]
    workloads: usize,
    #[arg(long, default_value_t = 50)]
    nodes: usize,
    /// The last phase that the managers are measured in
    #[arg(long, value_enum, default_value_t)]
    until: bench::Part,
    /// Pods of the bare client, if not as many as the managers have
    #[arg(long)]
    floor_pods: Option<usize>,
    /// Requests in flight of the bare client
    #[arg(long, default_value_t = 48)]
    workers: usize,
    /// A manager to start and measure, as NAME=COMMAND; {kubeconfig} and {metrics}, a free port, are filled in. May be repeated
    #[arg(long, value_parser = name_and_value)]
    manager: Vec<(String, String)>,
    /// A manager that runs already, as NAME=PID; needs --kubeconfig
    #[arg(long, value_parser = name_and_pid, requires = "kubeconfig")]
    attach: Option<(String, u32)>,
    /// Measure on this cluster instead of a new one
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The audit log of that cluster
    #[arg(long, requires = "kubeconfig")]
    audit_log: Option<PathBuf>,
    /// Also write the result as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kruise-testbed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Build { only } => {
            for component in if only.is_empty() { Component::ALL.to_vec() } else { only } {
                let binaries = components::ensure(component)?;
                println!("{} {}: {}", component.name(), component.version(), binaries.dir().display());
            }
            Ok(())
        }
        Command::Up(arguments) => on_runtime(bring_up(arguments)),
        Command::Simnodes { kubeconfig, nodes } => simulate(&kubeconfig, nodes),
        Command::Demo { kubeconfig, root } => Ok(demo::run(&kubeconfig, &root)?),
        Command::Bench(arguments) => on_runtime(measure(arguments)),
        Command::Images { out, tag } => {
            let built = shipped::manager(&tag, shipped::SHIPPED)?.build()?;
            shipped::write_layout(&built, &out)?;
            println!("{}: {}:{tag} {}", out.display(), shipped::MANAGER_NAME, built.manifest);
            Ok(())
        }
        Command::ImagesCheck { checkout } => {
            let builds = reproduce::twice("check", shipped::SHIPPED, &checkout)?;
            anyhow::ensure!(builds.here == builds.elsewhere, "two builds differ: {builds:?}");
            println!("both builds are {}", builds.here);
            Ok(())
        }
        Command::Keeper => Ok(keeper::serve(&keeper::root())?),
        Command::Exec { keeper, program, args } => {
            let error = keeper::exec_child(keeper, &program, &args);
            Err(anyhow::anyhow!("{}: {error}", program.display()))
        }
    }
}

fn on_runtime(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    log_to_stderr();
    runtime().build()?.block_on(work)
}

/// One thread: simulated nodes and the bare client are busy waiting, not computing, and leave cores to the others.
fn runtime() -> tokio::runtime::Builder {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    builder
}

fn log_to_stderr() {
    // The client library reports every answer that is not a success; here those are expected or reported by us.
    let quiet = || "warn,kube_client=off".into();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| quiet()))
        .with_writer(std::io::stderr)
        .init();
}

async fn bring_up(arguments: Up) -> anyhow::Result<()> {
    if let (Some(kubeconfig), Some(manager)) = (&arguments.existing, &arguments.manager) {
        return Ok(existing::run(kubeconfig, manager).await?);
    }
    let Up { nodes, port, manager, write_kubeconfig, existing: _ } = arguments;
    Ok(up::run(&up::Settings { nodes, port, manager, write_kubeconfig }).await?)
}

/// So long news gather before simulated kubelets look at them: most of what one costs is waking up with cold caches. A real kubelet
/// takes longer.
const MOMENT: Duration = Duration::from_millis(10);

fn simulate(kubeconfig: &Path, nodes: usize) -> anyhow::Result<()> {
    log_to_stderr();
    runtime().on_thread_park(|| std::thread::sleep(MOMENT)).build()?.block_on(async {
        let client = cluster::client(kubeconfig, simnodes::USER_AGENT).await?;
        let _nodes = SimNodes::start(client, nodes).await?;
        Ok(tokio::signal::ctrl_c().await?)
    })
}

async fn measure(arguments: Bench) -> anyhow::Result<()> {
    let existing =
        arguments.kubeconfig.map(|kubeconfig| bench::Existing { kubeconfig, audit_log: arguments.audit_log });
    let settings = bench::Settings {
        kind: arguments.kind,
        replicas: arguments.replicas,
        workloads: arguments.workloads,
        nodes: arguments.nodes,
        until: arguments.until,
        floor_pods: arguments.floor_pods,
        workers: arguments.workers,
        managers: arguments.manager,
        attached: arguments.attach,
        existing,
    };
    let report = bench::run(&settings).await?;
    println!("{report}");
    if let Some(path) = arguments.json {
        std::fs::write(&path, serde_json::to_vec_pretty(&report)?)
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn component(name: &str) -> Result<Component, String> {
    let names = || Component::ALL.map(Component::name).join(", ");
    Component::ALL
        .into_iter()
        .find(|component| component.name() == name)
        .ok_or_else(|| format!("known are {}", names()))
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn name_and_pid(text: &str) -> Result<(String, u32), String> {
    let (name, value) = name_and_value(text)?;
    Ok((name, value.parse().map_err(|_| format!("{value} is not a process id"))?))
}
