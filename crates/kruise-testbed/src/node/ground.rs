//! What the real nodes of one cluster stand on: addresses, a bridge, a registry; and starting them on it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::cleanup::{Leftover, settings};
use super::network::Network;
use super::preflight::Fit;
use super::real::RealNode;
use super::wiring;
use crate::certs::{Authority, Subject};
use crate::cluster::tail;
use crate::components::{self, Binaries, Component};
use crate::keeper::Keeper;
use crate::keeper::cleanup::Cleanup;
use crate::registry::Registry;
use crate::{TestbedError, images, kubeconfig, wait};

/// More were never tried on one machine.
pub const NODES_MAX: u8 = 3;
/// A node is ready after 15 seconds on two cores; a busy machine gets longer.
const READY_WITHIN: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long one watch lasts before the programs are looked at again.
const WATCH_FOR: Duration = Duration::from_secs(5);

/// Address plan, bridge and registry of a cluster that will have real nodes.
pub struct Ground {
    network: Network,
    registry: Registry,
    dir: PathBuf,
    nodes: u8,
}

/// What nodes need beside the control plane's own binaries.
pub struct Kit {
    fit: Fit,
    containerd: Binaries,
    /// The program inside the standard images.
    testapp: Vec<u8>,
}

/// What the control plane lends to its nodes.
pub struct Parts<'a> {
    pub keeper: &'a Keeper,
    pub authority: &'a Authority,
    /// Where nodes reach the API server, `https://…`.
    pub server: String,
    pub kit: &'a Kit,
    pub kubernetes: &'a Binaries,
    pub client: Client,
}

impl Kit {
    /// Checks the machine, then finds or builds everything. Takes minutes the first time.
    pub fn collect() -> Result<Self, TestbedError> {
        let fit = super::preflight()?;
        let containerd = components::ensure(Component::Containerd)?;
        Ok(Self { fit, containerd, testapp: images::testapp::bytes()? })
    }

    pub(super) fn fit(&self) -> &Fit {
        &self.fit
    }

    pub(super) fn containerd(&self) -> &Binaries {
        &self.containerd
    }
}

impl Ground {
    /// Chooses addresses, makes the bridge, and fills a registry on it with the standard images.
    pub fn prepare(kit: &Kit, keeper: &Keeper, nodes: u8) -> Result<Self, TestbedError> {
        if NODES_MAX < nodes {
            return Err(TestbedError::Unfit(format!(
                "{nodes} real nodes were asked for: at most {NODES_MAX} run on one machine, use simulated nodes for more"
            )));
        }
        let network = Network::choose(keeper.instance())?;
        keeper.at_end(Cleanup::Node(Leftover::Interface { name: network.bridge() }))?;
        for setting in settings() {
            keeper.at_end(Cleanup::Node(setting))?;
        }
        wiring::lay_bridge(&network)?;
        let registry = Registry::start(IpAddr::V4(network.host()))?;
        for image in images::standard(&kit.testapp) {
            registry.add(&image)?;
        }
        Ok(Self { network, registry, dir: keeper.dir().to_owned(), nodes })
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn proxy_kubeconfig(&self) -> PathBuf {
        self.dir.join("kube-proxy.kubeconfig")
    }

    /// Starts all nodes and returns when the API server calls them ready.
    pub async fn start_nodes(&self, parts: &Parts<'_>) -> Result<Vec<RealNode>, TestbedError> {
        let user = Subject { common_name: "system:kube-proxy", ..Subject::default() };
        let identity = parts.authority.issue("kube-proxy", &user)?;
        kubeconfig::write(&self.proxy_kubeconfig(), &parts.server, &parts.authority.ca(), &identity)?;
        let nodes: Vec<RealNode> = (1..=self.nodes).map(|index| RealNode::new(self, index)).collect();
        for node in &nodes {
            node.prepare(self, parts)?;
            node.start_containerd(parts)?;
        }
        for node in &nodes {
            for other in nodes.iter().filter(|other| other.index != node.index) {
                wiring::introduce(&self.network, &node.network(), other.index)?;
            }
        }
        for node in &nodes {
            until_runtime(node, parts).await?;
            node.start_kubelet(parts)?;
            node.start_proxy(parts)?;
        }
        until_ready(&nodes, parts).await?;
        Ok(nodes)
    }
}

/// Kubelet ends at once when there is no runtime to talk to.
async fn until_runtime(node: &RealNode, parts: &Parts<'_>) -> Result<(), TestbedError> {
    let start = Instant::now();
    while !node.has_runtime() {
        alive(parts, node, "containerd", node.containerd_log())?;
        if READY_WITHIN <= start.elapsed() {
            return Err(late(node.part("containerd"), "its socket does not answer", node.containerd_log()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

async fn until_ready(nodes: &[RealNode], parts: &Parts<'_>) -> Result<(), TestbedError> {
    let api: Api<Node> = Api::all(parts.client.clone());
    let start = Instant::now();
    loop {
        let all_ready = |seen: &[Node]| {
            nodes
                .iter()
                .all(|node| seen.iter().any(|object| object.name_any() == node.name() && is_ready(object)))
        };
        let waited = wait::until_all_within(
            &api,
            &ListParams::default(),
            "real nodes to be ready",
            WATCH_FOR,
            all_ready,
        )
        .await;
        let Err(error) = waited else { return Ok(()) };
        for node in nodes {
            alive(parts, node, "kubelet", node.kubelet_log())?;
            alive(parts, node, "containerd", node.containerd_log())?;
        }
        if let Some(node) = nodes.first().filter(|_| READY_WITHIN <= start.elapsed()) {
            return Err(late(node.part("kubelet"), &error.to_string(), node.kubelet_log()));
        }
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn alive(parts: &Parts<'_>, node: &RealNode, program: &str, log: PathBuf) -> Result<(), TestbedError> {
    let part = node.part(program);
    match parts.keeper.ended(&part) {
        Some(status) => Err(TestbedError::PartEnded { part, status, tail: tail(&log), log }),
        None => Ok(()),
    }
}

fn late(part: String, last: &str, log: PathBuf) -> TestbedError {
    TestbedError::NotReady {
        part,
        seconds: READY_WITHIN.as_secs(),
        last: last.to_owned(),
        tail: tail(&log),
        log,
    }
}
