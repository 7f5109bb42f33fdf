//! The configuration files of one node's programs. JSON where YAML is wanted: every JSON document is YAML too.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::network::Network;
use super::preflight::Fit;
use crate::TestbedError;
use crate::certs::Pair;
use crate::images::PAUSE;

/// What the files of a node refer to.
pub(super) struct Settings<'a> {
    pub name: &'a str,
    pub index: u8,
    pub network: &'a Network,
    pub fit: &'a Fit,
    pub registry: SocketAddr,
    pub ca: PathBuf,
    pub identity: &'a Pair,
    pub proxy_kubeconfig: PathBuf,
}

/// All paths of a node, below one directory.
#[derive(Debug, Clone)]
pub(super) struct Paths(pub PathBuf);

impl Paths {
    pub fn namespaces(&self) -> PathBuf {
        self.0.join("namespaces")
    }

    pub fn network(&self) -> PathBuf {
        self.namespaces().join("network")
    }

    pub fn mounts(&self) -> PathBuf {
        self.namespaces().join("mounts")
    }

    /// The node's `/run/containerd/containerd.sock`, seen from outside.
    pub fn socket(&self) -> PathBuf {
        self.0.join("run/containerd/containerd.sock")
    }

    pub fn containerd_config(&self) -> PathBuf {
        self.0.join("containerd.toml")
    }

    pub fn kubelet_config(&self) -> PathBuf {
        self.0.join("kubelet.json")
    }

    pub fn proxy_config(&self) -> PathBuf {
        self.0.join("kube-proxy.json")
    }
}

/// Writes all of them.
pub(super) fn write(paths: &Paths, settings: &Settings<'_>) -> Result<(), TestbedError> {
    let hosts = paths.0.join("registries/_default/hosts.toml");
    let plugins = paths.0.join("cni/10-pods.conflist");
    for (path, text) in [
        (paths.containerd_config(), containerd(paths, settings)),
        (hosts, registry_hosts(settings.registry)),
        (plugins, pod_network(settings).to_string()),
        (paths.kubelet_config(), kubelet(settings).to_string()),
        (paths.proxy_config(), proxy(settings).to_string()),
    ] {
        let dir = path.parent().unwrap_or(&paths.0);
        fs::create_dir_all(dir).map_err(TestbedError::io(format!("creating {}", dir.display())))?;
        fs::write(&path, text).map_err(TestbedError::io(format!("writing {}", path.display())))?;
    }
    Ok(())
}

/// State and sockets are where they always are, in the node's own `/run`. `opt` would make a directory outside.
fn containerd(paths: &Paths, settings: &Settings<'_>) -> String {
    let dir = paths.0.display();
    format!(
        r#"version = 3
root = "{dir}/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.cri.v1.images"]
snapshotter = "{snapshotter}"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "{dir}/registries"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{plugin_dir}"]
conf_dir = "{dir}/cni"
"#,
        snapshotter = snapshotter(&paths.0),
        plugin_dir = settings.fit.plugin_dir.display(),
    )
}

/// Overlay cannot be stacked on overlay, which is what a container's own disk is.
fn snapshotter(dir: &Path) -> &'static str {
    const OVERLAY: u64 = 0x794c_7630;
    match rustix::fs::statfs(dir) {
        Ok(status) if u64::try_from(status.f_type) == Ok(OVERLAY) => "native",
        Ok(_) | Err(_) => "overlayfs",
    }
}

/// Every registry is ours.
fn registry_hosts(registry: SocketAddr) -> String {
    format!(
        "server = \"http://{registry}\"\n[host.\"http://{registry}\"]\ncapabilities = [\"pull\", \"resolve\"]\n"
    )
}

/// Point-to-point links instead of a bridge: all traffic of a pod is routed, so replies pass the rules of kube-proxy
/// also between two pods of one node, without a kernel module for bridges.
fn pod_network(settings: &Settings<'_>) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": settings.network.unique(settings.index),
        "plugins": [
            {
                "type": "ptp",
                "ipam": {
                    "type": "host-local",
                                        "ranges": [[{"subnet": settings.network.pods_of(settings.index)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
}

fn kubelet(settings: &Settings<'_>) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": settings.network.node(settings.index).to_string(),
        "readOnlyPort": 0,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": settings.ca},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": settings.identity.certificate,
        "tlsPrivateKeyFile": settings.identity.key,
        "rotateCertificates": false,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", settings.network.unique(settings.index)),
        "enforceNodeAllocatable": [],
        "failCgroupV1": false,
        "failSwapOn": false,
        // Lowering it needs a capability that sandboxes do not give.
        "oomScoreAdj": 0,
        "clusterDNS": [settings.network.dns_service().to_string()],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        // The machine is also a developer's: nearly full is not full.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 99,
        "imageGCLowThresholdPercent": 98,
        "serializeImagePulls": false,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "syncFrequency": "5s",
        "nodeStatusUpdateFrequency": "5s",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
    })
}

fn proxy(settings: &Settings<'_>) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "hostnameOverride": settings.name,
        // Who is not a pod is masked, so that the answer comes back through the node that changed the address.
        "clusterCIDR": settings.network.pods(),
        "clientConnection": {"kubeconfig": settings.proxy_kubeconfig},
        // Limits of connection tracking belong to the whole machine.
        "conntrack": {"maxPerCore": 0, "min": 0},
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
    })
}
