//! `make run CLUSTER=existing`: the manager of this checkout, as a process of this machine, works on a cluster of the user's.
//!
//! Webhooks need an API server that reaches this machine: one on loopback does, as a rule, and `WEBHOOK_HOST` names an address that
//! another one reaches. Otherwise the manager runs without webhooks: v1beta1 objects work, without defaults and refusals beyond
//! those of the CRDs; v1alpha1 objects need conversion and are refused by the API server.

use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::process::{Child, Command};

use crate::called::is_called;
use crate::up::{interrupt, say};
use crate::webhook_objects::{self, Owner};
use crate::{TestbedError, cluster, crds, manager};

/// Where the API server reaches this machine. The manager reads the same variable.
const WEBHOOK_HOST: &str = "WEBHOOK_HOST";

/// An API server on loopback may still be inside of a container, where loopback is another one.
const CALLED_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How webhooks are served.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Webhooks {
    At { host: String, port: u16 },
    Off,
}

/// Runs the manager against the cluster of a kubeconfig until Ctrl-C.
pub async fn run(kubeconfig: &Path, manager: &Path) -> Result<(), TestbedError> {
    let client = cluster::client(kubeconfig, "kruise-testbed").await?;
    let server = client.apiserver_version().await.map_err(TestbedError::api("its version"))?;
    say(&format!("found Kubernetes {}", server.git_version));
    // Of a run that was killed.
    webhook_objects::withdraw(&client).await?;
    let count = crds::install(&client).await?;
    say(&format!("{count} CRDs installed"));
    manager::namespace(&client).await?;
    let ended = tokio::select! {
        biased;
        result = interrupt() => result,
        result = work(&client, kubeconfig, manager) => result,
    };
    webhook_objects::withdraw(&client).await?;
    ended
}

/// Returns only when the manager ends by itself.
async fn work(client: &Client, kubeconfig: &Path, program: &Path) -> Result<(), TestbedError> {
    let certificates = tempfile::tempdir().map_err(TestbedError::io("a directory for certificates"))?;
    let start = |webhooks: &Webhooks| {
        let mut command = Command::new(program);
        command.args(args(kubeconfig, webhooks, certificates.path())).kill_on_drop(true);
        command.spawn().map_err(TestbedError::io(format!("starting {}", program.display())))
    };
    let webhooks = choose(client, kubeconfig).await?;
    let mut child = start(&webhooks)?;
    if webhooks != Webhooks::Off
        && let Err(last) = until_called(client, &mut child).await?
    {
        child.kill().await.map_err(TestbedError::io("stopping the manager"))?;
        webhook_objects::withdraw(client).await?;
        say(&format!("the API server does not reach this machine ({last})"));
        say(WITHOUT);
        child = start(&Webhooks::Off)?;
    }
    say(
        "ready: the manager works on your cluster; Ctrl-C stops it and takes its webhooks away, CRDs and objects stay",
    );
    let status = child.wait().await.map_err(TestbedError::io("waiting for the manager"))?;
    Err(ended(&status.to_string()))
}

const WITHOUT: &str = "running without webhooks: v1alpha1 objects and pods that only webhooks change do not work; \
                       WEBHOOK_HOST=<address of this machine that the API server reaches> serves them";

/// The outer error ends everything; the inner one says why the API server has not called.
async fn until_called(client: &Client, child: &mut Child) -> Result<Result<(), String>, TestbedError> {
    let started = Instant::now();
    loop {
        let Err(last) = is_called(client).await else { return Ok(Ok(())) };
        if let Some(status) = child.try_wait().map_err(TestbedError::io("looking at the manager"))? {
            return Err(ended(&status.to_string()));
        }
        if started.elapsed() >= CALLED_WITHIN {
            return Ok(Err(last));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn ended(status: &str) -> TestbedError {
    TestbedError::Unfit(format!("the manager ended ({status}); its messages are above"))
}

async fn choose(client: &Client, kubeconfig: &Path) -> Result<Webhooks, TestbedError> {
    if webhook_objects::owner(client).await? == Owner::Release {
        say("Kruise is installed there: its webhooks stay as they are, this manager serves none");
        return Ok(Webhooks::Off);
    }
    let given = std::env::var(WEBHOOK_HOST).ok().filter(|host| !host.is_empty());
    let Some(host) = given.or(loopback(kubeconfig).await?) else {
        say(WITHOUT);
        return Ok(Webhooks::Off);
    };
    let port = manager::free_port()?;
    say(&format!("serving webhooks on {host}, port {port}"));
    Ok(Webhooks::At { host, port })
}

/// The loopback address, if the API server is there.
async fn loopback(kubeconfig: &Path) -> Result<Option<String>, TestbedError> {
    let unfit = |error: String| TestbedError::Unfit(format!("{}: {error}", kubeconfig.display()));
    let read = Kubeconfig::read_from(kubeconfig).map_err(|error| unfit(error.to_string()))?;
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .map_err(|error| unfit(error.to_string()))?;
    let is_here = config.cluster_url.host().is_some_and(is_loopback);
    Ok(is_here.then(|| "127.0.0.1".to_owned()))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Certificates are kept here and not in the cluster: they are of no use to anybody else.
fn args(kubeconfig: &Path, webhooks: &Webhooks, certificates: &Path) -> Vec<String> {
    let mut args = manager::args(kubeconfig);
    args.push(manager::GATES_OF_EXAMPLES.to_owned());
    if let Webhooks::At { host, port } = webhooks {
        args.retain(|arg| !arg.starts_with("--webhook-port"));
        args.push(format!("--webhook-port={port}"));
        args.push(format!("--webhook-host={host}"));
        args.push("--webhook-cert-writer=fs".to_owned());
        args.push(format!("--webhook-cert-dir={}", certificates.display()));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_this_machine_are_told_from_others() {
        for host in ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "::1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["10.0.0.1", "localhost.example.com", "kubernetes.default.svc", "[2001:db8::1]"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
