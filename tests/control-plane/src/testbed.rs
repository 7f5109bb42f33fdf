//! The testbed itself: it starts, serves, and leaves nothing behind.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kruise_testbed::{Cluster, Options, TestbedError};

#[tokio::test]
async fn two_clusters_run_side_by_side_and_leave_nothing_behind() {
    let first = Cluster::start(Options::default()).await.unwrap();
    let second = Cluster::start(Options::default()).await.unwrap();

    let versions = [
        first.client().apiserver_version().await.unwrap(),
        second.client().apiserver_version().await.unwrap(),
    ];

    assert!(versions.iter().all(|version| version.git_version == "v1.36.3"), "{versions:?}");
    let dirs = [first.dir().to_owned(), second.dir().to_owned()];
    drop((first, second));
    for dir in dirs {
        assert!(!dir.exists(), "{} was left", dir.display());
        assert_eq!(processes_of(&dir), Vec::<String>::new());
    }
}

#[test]
fn killed_parent_leaves_no_process_and_no_file() {
    let (mut parent, dir) = start_in_another_process();
    assert_eq!(processes_of(&dir).len(), 4, "{:?}", processes_of(&dir));

    parent.kill().unwrap(); // SIGKILL: nothing of the parent's own code runs after it.
    parent.wait().unwrap();

    let patience = Instant::now() + Duration::from_secs(30);
    while dir.exists() || !processes_of(&dir).is_empty() {
        assert!(Instant::now() < patience, "left behind: {:?}", processes_of(&dir));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test]
async fn occupied_port_is_named() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();

    let error = Cluster::start(Options { port: Some(port), ..Options::default() }).await.err().unwrap();

    assert!(matches!(error, TestbedError::PortInUse { port: named } if named == port), "{error}");
    assert!(error.to_string().contains("--port"), "{error}");
}

#[tokio::test]
async fn part_that_ends_during_start_is_named_with_its_log() {
    let api_server_args = vec!["--no-such-flag".to_owned()];

    let error = Cluster::start(Options { api_server_args, ..Options::default() }).await.err().unwrap();

    let text = error.to_string();
    assert!(text.starts_with("kube-apiserver ended") && text.contains("no-such-flag"), "{text}");
}

#[test]
fn missing_and_old_tools_are_named_with_what_to_install() {
    let dir = tempfile::tempdir().unwrap();
    let build = || {
        let program = kruise_testbed::cluster::program().unwrap();
        let output = Command::new(program)
            .args(["build", "etcd"])
            .env("PATH", dir.path())
            .env("KRUISE_TESTBED_CACHE", dir.path().join("cache"))
            .env_remove("KRUISE_TESTBED_BIN")
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };

    let missing = build();
    assert!(missing.contains("go was not found on PATH: install Go 1.26"), "{missing}");

    let go = dir.path().join("go");
    std::fs::write(&go, "#!/bin/sh\necho go version go1.19.8 linux/amd64\n").unwrap();
    std::fs::set_permissions(&go, std::fs::Permissions::from_mode(0o755)).unwrap();
    let old = build();
    assert!(old.contains("go 1.19 is too old to build etcd: install Go 1.26 or newer"), "{old}");
}

/// Runs `kruise-testbed up` as its own process; returns it and the cluster's directory.
fn start_in_another_process() -> (Child, PathBuf) {
    let program = kruise_testbed::cluster::program().unwrap();
    let mut child =
        Command::new(program).args(["up", "--nodes", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let kubeconfig = lines
        .map_while(Result::ok)
        .find_map(|line| line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from))
        .expect("the address of the cluster");
    (child, kubeconfig.parent().unwrap().to_owned())
}

/// Programs whose command line names the directory.
pub fn processes_of(dir: &Path) -> Vec<String> {
    let needle = format!("{}/", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        // Processes come and go while we look.
        let Ok(command) = std::fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(&needle) {
            found.push(command);
        }
    }
    found
}
