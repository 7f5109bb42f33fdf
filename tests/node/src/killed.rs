//! A killed test process leaves nothing: no process, mount, interface, cgroup or file.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kruise_testbed::{Cluster, Options};
use serde::Deserialize;
use serde_json::json;

use crate::fixtures::{PATIENCE, can_run, is_ready};

/// Set for the process that is going to be killed.
const VICTIM: &str = "KRUISE_NODE_TESTS_VICTIM";
/// Begins the one line that the victim has to say.
const MARK: &str = "victim: ";

/// Not a test by itself: the process that the next test starts and kills runs only this.
#[tokio::test]
async fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let cluster = Cluster::start(Options { real_nodes: 1, ..Options::default() }).await.unwrap();
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> = kube::Api::default_namespaced(cluster.client());
    let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "nginx:1.14.2"}]}});
    pods.create(&kube::api::PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    kruise_testbed::wait::until(&pods, "web", "the pod to be ready", is_ready).await.unwrap();
    let node = &cluster.real_nodes()[0];
    let inode = std::fs::metadata(node.network()).unwrap().ino();
    let said = json!({
        "dir": cluster.dir(),
        "cgroup": node.cgroup(),
        "leg": node.interface(),
        "network": format!("net:[{inode}]"),
    });
    println!("\n{MARK}{said}");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn killed_test_process_leaves_nothing_behind() {
    if !can_run() {
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::victim", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find_map(|line| line.strip_prefix(MARK).map(str::to_owned));
    let said = said.expect("the victim ended before its pod was ready");
    let victims: Victims = serde_json::from_str(&said).unwrap();
    let alive = victims.traces();
    for program in ["containerd-shim", "kubelet", "kube-proxy", "testapp", "etcd"] {
        assert!(alive.iter().any(|trace| trace.contains(program)), "{program} is not seen alive: {alive:#?}");
    }

    victim.kill().unwrap();

    assert_eq!(victim.wait().unwrap().signal(), Some(9));
    let start = Instant::now();
    loop {
        let left = victims.traces();
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "left behind: {left:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What tells the victim's things from those of others.
#[derive(Debug, Deserialize)]
struct Victims {
    dir: PathBuf,
    cgroup: String,
    leg: String,
    /// The node's network namespace, in the words of `/proc`: all its programs and shims are in it.
    network: String,
}

impl Victims {
    /// Everything on this machine that belongs to the victim.
    fn traces(&self) -> Vec<String> {
        let bridge = self.leg.rsplit_once('n').unwrap().0;
        let cgroups = Path::new("/sys/fs/cgroup");
        let mut paths = vec![self.dir.clone(), cgroups.join(&self.cgroup)];
        paths.extend([self.leg.as_str(), bridge].map(|name| Path::new("/sys/class/net").join(name)));
        paths.extend(
            std::fs::read_dir(cgroups).unwrap().map(|entry| entry.unwrap().path().join(&self.cgroup)),
        );
        let mut traces: Vec<String> =
            paths.iter().filter(|path| path.exists()).map(|path| path.display().to_string()).collect();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let below = format!(" {}/", self.dir.display());
        traces.extend(mounts.lines().filter(|line| line.contains(&below)).map(str::to_owned));
        traces.extend(self.processes());
        traces
    }

    /// Processes that name the directory in their arguments, are in the cgroup, or in the node's network.
    fn processes(&self) -> Vec<String> {
        let below = format!("{}/", self.dir.display());
        let cgroup = format!(":/{}/", self.cgroup);
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let read = |file: &str| {
                String::from_utf8_lossy(&std::fs::read(entry.path().join(file)).unwrap_or_default())
                    .replace('\0', " ")
            };
            let network = std::fs::read_link(entry.path().join("ns/net"));
            let inside = network.is_ok_and(|link| link == Path::new(&self.network));
            if inside || read("cmdline").contains(&below) || read("cgroup").contains(&cgroup) {
                found.push(format!("{}: {}", entry.file_name().display(), read("cmdline")));
            }
        }
        found
    }
}
