//! `make run`, `make demo`, `make bench`: build what is needed, then become the testbed.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::{cargo, must, root};

#[derive(Debug, clap::Args)]
pub struct Run {
    #[arg(long, value_enum, default_value_t = Which::New)]
    cluster: Which,
    #[arg(long, default_value_t = 20)]
    nodes: usize,
    /// A fixed port for the API server
    #[arg(long)]
    port: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    New,
    Existing,
}

#[derive(Debug, clap::Args)]
pub struct Bench {
    /// cloneset or statefulset
    #[arg(long, default_value = "cloneset")]
    kind: String,
    #[arg(long, default_value_t = 300)]
    replicas: usize,
    #[arg(long, default_value_t = 1)]
    workloads: usize,
    #[arg(long, default_value_t = 20)]
    nodes: usize,
    /// Further options of `kruise-testbed bench`
    #[arg(last = true)]
    more: Vec<String>,
}

/// Builds the manager and the testbed, then becomes `kruise-testbed up`.
pub fn run(arguments: &Run) -> anyhow::Result<()> {
    say("building the manager and the testbed");
    must(cargo().args(["build", "--workspace", "--bin", "kruise-manager", "--bin", "kruise-testbed"]))?;
    let mut testbed = Command::new(program("debug", "kruise-testbed"));
    testbed.arg("up").arg("--manager").arg(program("debug", "kruise-manager"));
    match arguments.cluster {
        Which::New => {
            testbed.args(["--nodes", &arguments.nodes.to_string()]);
            testbed.arg("--write-kubeconfig").arg(kubeconfig());
            if let Some(port) = arguments.port {
                testbed.args(["--port", &port.to_string()]);
            }
        }
        Which::Existing => {
            let Some(kubeconfig) = std::env::var_os("KUBECONFIG") else {
                anyhow::bail!("CLUSTER=existing needs KUBECONFIG to name the kubeconfig of your cluster");
            };
            testbed.arg("--existing").arg(kubeconfig);
        }
    }
    // From here on Ctrl-C is the testbed's.
    Err(anyhow::anyhow!("starting {testbed:?}: {}", testbed.exec()))
}

/// Becomes `kruise-testbed demo` on the cluster that `make run` started.
pub fn demo() -> anyhow::Result<()> {
    anyhow::ensure!(
        kubeconfig().is_file(),
        "no cluster is running: start one with `make run` in another terminal"
    );
    must(cargo().args(["build", "--quiet", "--workspace", "--bin", "kruise-testbed"]))?;
    let mut testbed = Command::new(program("debug", "kruise-testbed"));
    testbed.arg("demo").arg("--kubeconfig").arg(kubeconfig()).arg("--root").arg(root());
    Err(anyhow::anyhow!("starting {testbed:?}: {}", testbed.exec()))
}

/// Builds with optimisation, then becomes `kruise-testbed bench`.
pub fn bench(arguments: &Bench) -> anyhow::Result<()> {
    say("building the manager and the testbed with optimisation");
    must(cargo().args(["build", "--release", "--package", "kruise-manager", "--package", "kruise-testbed"]))?;
    let mut testbed = Command::new(program("release", "kruise-testbed"));
    let flags =
        "--kubeconfig {kubeconfig} --metrics-addr=127.0.0.1:{metrics} --health-probe-addr=0 --webhook-port=0";
    let manager = format!("ours={} {flags}", program("release", "kruise-manager").display());
    testbed.args(["bench", "--manager", &manager]);
    testbed.args(["--kind", &arguments.kind, "--replicas", &arguments.replicas.to_string()]);
    testbed.args(["--workloads", &arguments.workloads.to_string()]);
    testbed.args(["--nodes", &arguments.nodes.to_string()]).args(&arguments.more);
    testbed.arg("--json").arg(root().join("target/bench.json"));
    Err(anyhow::anyhow!("starting {testbed:?}: {}", testbed.exec()))
}

/// Where the running cluster's kubeconfig is while it runs.
fn kubeconfig() -> PathBuf {
    root().join("target/kubeconfig")
}

fn program(profile: &str, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(profile).join(name)
}

fn say(words: &str) {
    eprintln!("[kruise] {words}");
}
