//! One real node: its programs and where to look at them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::cleanup::Leftover;
use super::config::{self, Paths, Settings};
use super::ground::{Ground, Parts};
use super::{cgroup, preflight, rooms, wiring};
use crate::TestbedError;
use crate::certs::Subject;
use crate::keeper::Start;
use crate::keeper::cleanup::Cleanup;
use crate::kubeconfig;

/// A running node.
#[derive(Debug, Clone)]
pub struct RealNode {
    pub(super) index: u8,
    name: String,
    address: Ipv4Addr,
    paths: Paths,
    logs: PathBuf,
    cgroup: String,
    interface: String,
}

impl RealNode {
    pub(super) fn new(ground: &Ground, index: u8) -> Self {
        let name = format!("real-{index}");
        Self {
            index,
            address: ground.network().node(index),
            paths: Paths(ground.dir().join(&name)),
            logs: ground.dir().join("log"),
            cgroup: ground.network().unique(index),
            interface: ground.network().leg(index),
            name,
        }
    }

    /// The name of the Node object.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Where the container runtime interface is served.
    pub fn containerd_socket(&self) -> PathBuf {
        self.paths.socket()
    }

    /// The network namespace of the node: `nsenter --net=…` enters it.
    pub fn network(&self) -> PathBuf {
        self.paths.network()
    }

    /// The machine's end of the node's leg on the bridge.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The cgroup below which all containers of the node are.
    pub fn cgroup(&self) -> &str {
        &self.cgroup
    }

    pub fn kubelet_log(&self) -> PathBuf {
        self.log("kubelet")
    }

    pub fn containerd_log(&self) -> PathBuf {
        self.log("containerd")
    }

    /// What the keeper calls one of the node's programs: `kubelet`, `containerd` or `kube-proxy`.
    pub fn part(&self, program: &str) -> String {
        format!("{program}-{}", self.name)
    }

    fn log(&self, program: &str) -> PathBuf {
        self.logs.join(format!("{}.log", self.part(program)))
    }

    /// Everything that does not need a running program: clean-ups first, then namespace, cgroup, certificate, files.
    pub(super) fn prepare(&self, ground: &Ground, parts: &Parts<'_>) -> Result<(), TestbedError> {
        for leftover in self.leftovers() {
            parts.keeper.at_end(Cleanup::Node(leftover))?;
        }
        rooms::furnish(&self.paths)?;
        wiring::connect(ground.network(), self.index, &self.paths.network())?;
        cgroup::create(&self.cgroup)
            .map_err(TestbedError::io(format!("creating the cgroup {}", self.cgroup)))?;
        let user = format!("system:node:{}", self.name);
        let subject = Subject {
            common_name: &user,
            organization: Some("system:nodes"),
            names: vec![self.name.clone(), self.address.to_string()],
        };
        let identity = parts.authority.issue(&self.part("kubelet"), &subject)?;
        let ca = parts.authority.ca();
        kubeconfig::write(&self.kubeconfig(), &parts.server, &ca, &identity)?;
        let settings = Settings {
            name: &self.name,
            index: self.index,
            network: ground.network(),
            fit: parts.kit.fit(),
            registry: ground.registry().address(),
            ca,
            identity: &identity,
            proxy_kubeconfig: ground.proxy_kubeconfig(),
        };
        config::write(&self.paths, &settings)
    }

    /// In the order of registration; the keeper removes the last one first.
    fn leftovers(&self) -> Vec<Leftover> {
        vec![
            Leftover::Interface { name: self.interface.clone() },
            Leftover::Cgroup { name: self.cgroup.clone() },
            Leftover::Mounts { below: self.paths.0.clone() },
            Leftover::Processes { namespace: self.paths.network(), cgroup: self.cgroup.clone() },
        ]
    }

    pub(super) fn start_containerd(&self, parts: &Parts<'_>) -> Result<(), TestbedError> {
        let config = self.paths.containerd_config().display().to_string();
        self.start(
            parts,
            "containerd",
            &parts.kit.containerd().path("containerd"),
            vec![format!("--config={config}")],
        )
    }

    pub(super) fn has_runtime(&self) -> bool {
        UnixStream::connect(self.paths.socket()).is_ok()
    }

    pub(super) fn start_kubelet(&self, parts: &Parts<'_>) -> Result<(), TestbedError> {
        let args = [
            ("config", self.paths.kubelet_config().display().to_string()),
            ("kubeconfig", self.kubeconfig().display().to_string()),
            ("hostname-override", self.name.clone()),
            ("node-ip", self.address.to_string()),
            ("v", "2".to_owned()),
        ];
        let args = args.into_iter().map(|(flag, value)| format!("--{flag}={value}")).collect();
        self.start(parts, "kubelet", &parts.kubernetes.path("kubelet"), args)
    }

    pub(super) fn start_proxy(&self, parts: &Parts<'_>) -> Result<(), TestbedError> {
        let config = self.paths.proxy_config().display().to_string();
        self.start(
            parts,
            "kube-proxy",
            &parts.kubernetes.path("kube-proxy"),
            vec![format!("--config={config}")],
        )
    }

    /// Runs a program inside the node. `nsenter` becomes the program, so the keeper's hold on it stays.
    fn start(
        &self,
        parts: &Parts<'_>,
        name: &str,
        program: &Path,
        args: Vec<String>,
    ) -> Result<(), TestbedError> {
        let mut words = vec![
            format!("--net={}", self.paths.network().display()),
            format!("--mount={}", self.paths.mounts().display()),
            program.display().to_string(),
        ];
        words.extend(args);
        let path = format!("{}:{}", parts.kit.containerd().dir().display(), preflight::SYSTEM_PATH);
        parts
            .keeper
            .spawn(Start {
                name: self.part(name),
                program: Path::new("nsenter").to_owned(),
                args: words,
                env: BTreeMap::from([("PATH".to_owned(), path)]),
                log: self.log(name),
            })
            .map(drop)
    }

    fn kubeconfig(&self) -> PathBuf {
        self.paths.0.join("kubelet.kubeconfig")
    }
}
