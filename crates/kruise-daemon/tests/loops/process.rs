//! The program itself: what ends it, and what does not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::until;

/// The program with a kubeconfig of a server that nobody answers at.
fn program(address: &str, folder: &std::path::Path) -> Command {
    let named = |what: &str, is: serde_json::Value| json!([{"name": "n", (what): is}]);
    let config = json!({
        "clusters": named("cluster", json!({"server": "https://127.0.0.1:1"})), "users": named("user", json!({})),
        "contexts": named("context", json!({"cluster": "n", "user": "n"})), "current-context": "n",
    });
    let path = folder.join("kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kruise-daemon"));
    command
        .arg(format!("--kubeconfig={}", path.display()))
        .arg(format!("--addr={address}"))
        .arg(format!("--socket-dir={}", folder.display()))
        .args(["--logtostderr=true", "--v=4"])
        .env_remove("NODE_NAME")
        .stderr(Stdio::piped());
    command
}

fn failed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

fn ask(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer).filter(|answer| !answer.is_empty())
}

/// Ends the process it holds.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// daemon, acceptance 3.
#[test]
fn dp_1_no_node_name_and_an_occupied_port_are_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let error = failed(program("127.0.0.1:0", folder.path()));
    assert!(error.contains("not found NODE_NAME in environments"), "{error}");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = program(&taken.local_addr().unwrap().to_string(), folder.path());
    command.env("NODE_NAME", "node-1");
    assert!(failed(command).contains("listening on 127.0.0.1:"));
}

/// daemon, acceptance 2 and 4: neither a missing runtime nor a missing API server ends it; `/healthz` says what is missing.
#[tokio::test]
async fn dp_3_cri_4_agent_without_runtime_and_server_lives_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = program(&format!("127.0.0.1:{port}"), folder.path());
    let mut running = Running(command.env("NODE_NAME", "node-1").spawn().unwrap());

    let answer = until("an answer", || ask(port)).await;

    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(answer.ends_with("check nodeImageInformerSynced failed, err: not synced"), "{answer}");
    assert_eq!(running.0.try_wait().unwrap(), None, "it lives");
}
