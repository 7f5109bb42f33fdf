//! From flags to running controllers, and back to a clean stop.

use std::sync::Arc;

use anyhow::Context;
use kruise_core::admission::selection::Conditions;
use kruise_core::gates::{self, GateFault};
use kruise_core::inplace::Resize;
use kruise_runtime::client::{DeadlineLayer, LimitLayer, connected};
use kruise_runtime::clock::Clock;
use kruise_runtime::lease;
use kruise_runtime::metrics::Metrics;
use kube::{Client, Config};

use crate::engine::{Engine, Ground};
use crate::flags::Flags;
use crate::front::{Aborting, Front};

pub async fn run(flags: &Flags) -> anyhow::Result<()> {
    flags.check_timings()?;
    let said = flags.features.read()?;
    let metrics = Arc::new(Metrics::default());
    report(&said.faults, &metrics);
    let (client, elector) = clients(flags, &metrics).await?;
    let server = client.apiserver_version().await.context("the API server cannot be reached")?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), server = server.git_version, "starting");

    let since = |version| is_since(version, &server.major, &server.minor);
    let conditions = if since((1, 28)) { Conditions::Known } else { Conditions::Unknown };
    let seed = random();
    let ground = Ground { client, elector, clock: Clock::system(), metrics, seed, identity: identity(seed) };
    let engine = Engine::new(flags, &said.gates, ground, resize(&server.major, &server.minor));
    let front = Front::open(flags, &said, &engine.shared, (&engine.stores, conditions)).await?;
    let selecting = front.selecting(&said.gates, &engine.stores);
    let _running = engine.watch();
    tokio::select! {
        biased;
        signal = stop_signal() => {
            front.close().await;
            return signal;
        }
        () = engine.ready() => {}
    }
    engine.lead(|| selecting.start(), stop_signal(), front.close()).await
}

/// The controllers without a front, on somebody else's ground, until they are dropped or deposed.
pub async fn controllers_alone(flags: &Flags, ground: Ground) -> anyhow::Result<()> {
    let gates = flags.features.read()?.gates;
    let server = ground.client.apiserver_version().await.context("the API server cannot be reached")?;
    let engine = Engine::new(flags, &gates, ground, resize(&server.major, &server.minor));
    let _running = engine.watch();
    engine.ready().await;
    engine.lead(|| Aborting(Vec::new()), std::future::pending(), async {}).await
}

/// What `--feature-gates` says in vain: seen by whoever reads the log, a dashboard or `/readyz`.
fn report(faults: &[GateFault], metrics: &Metrics) {
    let known: Vec<&str> = gates::names().collect();
    for fault in faults {
        tracing::error!(known = known.join(", "), "{fault}; it is ignored");
    }
    metrics.ignored_gates(faults.len());
}

/// `pods/resize` exists from 1.32 on (SM-36).
fn resize(major: &str, minor: &str) -> Resize {
    if is_since((1, 32), major, minor) { Resize::Endpoint } else { Resize::InPod }
}

/// One for everything, and one for the lease alone: it has connections of its own and no limit, so it never waits behind writes.
async fn clients(flags: &Flags, metrics: &Metrics) -> anyhow::Result<(Client, Client)> {
    let config = config(flags).await?;
    Ok((client(&config, metrics, flags.limit())?, client(&config, metrics, None)?))
}

async fn config(flags: &Flags) -> anyhow::Result<Config> {
    let config = match flags.kubeconfig() {
        Some(path) => {
            let read =
                kube::config::Kubeconfig::read_from(&path).with_context(|| path.display().to_string())?;
            Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default()).await?
        }
        None => {
            Config::infer().await.context("no kubeconfig was given and this is not a pod of a cluster")?
        }
    };
    anyhow::ensure!(
        config.proxy_url.is_none(),
        "a proxy to the API server is not supported: remove it from the kubeconfig and the environment"
    );
    Ok(config)
}

/// Without the library's own repeats: they would send a write again after we have given it up (SM-71), and hide from us that a
/// server is busy.
fn client(config: &Config, metrics: &Metrics, limit: Option<LimitLayer>) -> anyhow::Result<Client> {
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let builder = connected(config)?.with_layer(&DeadlineLayer).with_layer(&metrics.count_requests(&host));
    match limit {
        Some(limit) => Ok(builder.with_layer(&limit).build()),
        None => Ok(builder.build()),
    }
}

fn identity(seed: u64) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    lease::identity(host.trim(), [seed, random()])
}

/// The only randomness of the process: names and jitter follow from it.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// What cannot be read counts as older.
fn is_since(version: (u32, u32), major: &str, minor: &str) -> bool {
    let number =
        |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>();
    matches!((number(major), number(minor)), (Ok(major), Ok(minor)) if (major, minor) >= version)
}

async fn stop_signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        result = tokio::signal::ctrl_c() => result?,
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    // A second signal does not wait for anything.
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(1);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use http::Request;
    use kruise_runtime::metrics::Metrics;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::{Flags, clients, is_since};

    fn kubeconfig(server: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let named = |what: &str, is: serde_json::Value| json!([{"name": "n", (what): is}]);
        let config = json!({
            "clusters": named("cluster", json!({"server": server})), "users": named("user", json!({})),
            "contexts": named("context", json!({"cluster": "n", "user": "n"})), "current-context": "n",
        });
        std::fs::write(file.path(), config.to_string()).unwrap();
        file
    }

    fn flags(kubeconfig: &tempfile::NamedTempFile, more: &[&str]) -> Flags {
        let path = kubeconfig.path().display().to_string();
        Flags::parse_from(["kruise-manager", "--kubeconfig", &path].iter().chain(more))
    }

    async fn answer(listener: &TcpListener, status: &str) {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    }

    /// SM-71: what a write without an answer may still do is known only if nobody sends it twice.
    #[tokio::test]
    async fn sm_71_busy_server_is_not_asked_again_behind_our_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let answering = async {
            for status in ["429 Too Many Requests", "200 OK"] {
                answer(&listener, status).await;
            }
        };
        let kubeconfig = kubeconfig(&server);
        let (client, _) = clients(&flags(&kubeconfig, &[]), &Metrics::default()).await.unwrap();

        let asked = client.request_text(Request::post("/").body(Vec::new()).unwrap());
        let told = tokio::select! {
            told = asked => told,
            () = answering => panic!("it was asked twice"),
        };

        assert!(matches!(told, Err(kube::Error::Api(status)) if status.code == 429));
    }

    /// LE-1: whoever limits the manager's requests does not limit how it keeps the lead.
    #[tokio::test]
    async fn le_1_lease_does_not_wait_behind_the_limit_on_requests() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let kubeconfig = kubeconfig(&format!("http://{}", listener.local_addr().unwrap()));
        let slow = ["--rest-config-qps=0.001", "--rest-config-burst=1"];
        let (client, elector) = clients(&flags(&kubeconfig, &slow), &Metrics::default()).await.unwrap();
        let ask = |by: &kube::Client| {
            let by = by.clone();
            async move { by.request_text(Request::get("/").body(Vec::new()).unwrap()).await }
        };
        let answering = async {
            loop {
                answer(&listener, "200 OK").await;
            }
        };
        let asking = async {
            assert!(ask(&client).await.is_ok(), "the burst");
            let waiting = tokio::spawn(ask(&client));
            for _ in 0..20 {
                assert!(ask(&elector).await.is_ok());
            }
            assert!(!waiting.is_finished(), "the limit holds for everything else");
        };

        tokio::select! {
            () = asking => {}
            () = answering => {}
        }
    }

    #[test]
    fn sm_36_resize_endpoint_from_1_32_on() {
        for (major, minor, expected) in
            [("1", "32", true), ("1", "31+", false), ("2", "0", true), ("x", "40", false)]
        {
            assert_eq!(is_since((1, 32), major, minor), expected, "{major}.{minor}");
        }
    }
}
