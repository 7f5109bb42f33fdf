//! A killed test process leaves nothing: no process, mount, interface, cgroup or file.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kruise_testbed::{Cluster, Options};
use serde_json::{Value, json};

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
    println!("\n{MARK}{}", json!({"dir": cluster.dir(), "cgroup": node.cgroup(), "leg": node.interface()}));
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
    let said: Value =
        serde_json::from_str(&said.expect("the victim ended before its pod was ready")).unwrap();
    let text = |key: &str| said[key].as_str().unwrap().to_owned();
    let dir = PathBuf::from(text("dir"));
    assert!(!traces(&dir, &text("cgroup"), &text("leg")).is_empty(), "nothing to be seen of a running node");

    victim.kill().unwrap();

    assert_eq!(victim.wait().unwrap().signal(), Some(9));
    let start = Instant::now();
    loop {
        let left = traces(&dir, &text("cgroup"), &text("leg"));
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "left behind: {left:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Everything on this machine that belongs to the victim.
fn traces(dir: &Path, cgroup: &str, leg: &str) -> Vec<String> {
    let bridge = leg.rsplit_once('n').unwrap().0;
    let mut traces = Vec::new();
    let interfaces = [leg, bridge].map(|name| Path::new("/sys/class/net").join(name));
    let cgroups =
        std::fs::read_dir("/sys/fs/cgroup").unwrap().map(|entry| entry.unwrap().path().join(cgroup));
    for path in
        interfaces.into_iter().chain(cgroups).chain([Path::new("/sys/fs/cgroup").join(cgroup), dir.into()])
    {
        if path.exists() {
            traces.push(path.display().to_string());
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let below = format!(" {}/", dir.display());
    traces.extend(mounts.lines().filter(|line| line.contains(&below)).map(str::to_owned));
    traces.extend(processes(dir, cgroup));
    traces
}

/// Processes that name the directory in their arguments, or are in the cgroup.
fn processes(dir: &Path, cgroup: &str) -> Vec<String> {
    let below = format!("{}/", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let read = |file: &str| {
            String::from_utf8_lossy(&std::fs::read(entry.path().join(file)).unwrap_or_default())
                .replace('\0', " ")
        };
        if read("cmdline").contains(&below) || read("cgroup").contains(&format!(":/{cgroup}/")) {
            found.push(format!("{}: {}", entry.file_name().display(), read("cmdline")));
        }
    }
    found
}
