//! The shared cluster, a namespace per test, and pods in one line.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kruise_testbed::{Cluster, Options, crds, daemon, manager, node, wait};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::OnceCell;

/// First pulls and starts on a busy machine of two cores.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// A namespace of its own on the shared cluster.
pub struct Bench {
    pub cluster: &'static Cluster,
    pub client: Client,
    pub namespace: &'static str,
}

/// True if real nodes can run here. Else says why on a line of its own, past the harness, which swallows the words of
/// passing tests; `make test` counts these lines.
pub fn can_run() -> bool {
    let Err(why) = node::preflight() else { return true };
    assert!(std::env::var("CI").as_deref() != Ok("true"), "real nodes must run in CI: {why}");
    writeln!(std::io::stdout(), "\nskipped: {why}").unwrap();
    false
}

/// The shared cluster with an empty namespace, or `None` where real nodes cannot run.
pub async fn bench(namespace: &'static str) -> Option<Bench> {
    static SHARED: OnceCell<Cluster> = OnceCell::const_new();
    if !can_run() {
        return None;
    }
    let cluster = SHARED.get_or_init(|| cluster(2)).await;
    Some(Bench::of(cluster, namespace).await)
}

/// As [`bench`], in another cluster, of one node, on which our manager works: in the first one a chart installs it.
pub async fn managed(namespace: &'static str) -> Option<Bench> {
    static SHARED: OnceCell<Cluster> = OnceCell::const_new();
    if !can_run() {
        return None;
    }
    let start = || async {
        let cluster = cluster(1).await;
        crds::install(&cluster.client()).await.unwrap();
        manager::start(&cluster, &manager::program().unwrap(), &[]).await.unwrap();
        cluster
    };
    Some(Bench::of(SHARED.get_or_init(start).await, namespace).await)
}

/// As [`managed`], in a third cluster, where the node agent works, too (elsewhere tests play it), and admission, which tells it
/// what requests mean.
pub async fn with_agent(namespace: &'static str) -> Option<Bench> {
    static SHARED: OnceCell<Cluster> = OnceCell::const_new();
    if !can_run() {
        return None;
    }
    let start = || async {
        let cluster = cluster(1).await;
        crds::install(&cluster.client()).await.unwrap();
        let gates = "--feature-gates=SidecarTerminator=true,ImagePullJobGate=true".to_owned();
        manager::start_called(&cluster, &manager::program().unwrap(), &[gates]).await.unwrap();
        daemon::start(&cluster, &cluster.real_nodes()[0]).await.unwrap();
        cluster
    };
    Some(Bench::of(SHARED.get_or_init(start).await, namespace).await)
}

async fn cluster(real_nodes: u8) -> Cluster {
    let started = Cluster::start(Options { real_nodes, ..Options::default() }).await;
    started.unwrap_or_else(|error| panic!("{error}"))
}

impl Bench {
    async fn of(cluster: &'static Cluster, namespace: &'static str) -> Self {
        // A client of its own: connections belong to the runtime of the test that made them.
        let client = cluster.client_named(namespace).await.unwrap();
        let object = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
        Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &object).await.unwrap();
        // Pods are refused until their namespace has its account.
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        wait::until(&accounts, "default", "the account of the namespace", |_| true).await.unwrap();
        Self { cluster, client, namespace }
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    /// The name of a node; nodes count from 1.
    pub fn node(&self, index: usize) -> &str {
        self.cluster.real_nodes()[index - 1].name()
    }

    /// Creates a pod with one container on one node.
    pub async fn run(&self, name: &str, image: &str, node: &str) -> Pod {
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 1,
                "containers": [{
                    "name": "main",
                    "image": image,
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": 80}, "periodSeconds": 1},
                }],
            },
        });
        self.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap()
    }

    /// Waits for a pod to be so; says what was seen last if it never is.
    pub async fn until(&self, name: &str, what: &str, ok: impl Fn(&Pod) -> bool) -> Pod {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let seen =
            wait::until_all_within(&self.pods(), &params, what, PATIENCE, |pods| pods.iter().any(&ok)).await;
        seen.unwrap_or_else(|error| panic!("{error}")).pop().unwrap()
    }

    pub async fn until_ready(&self, name: &str) -> Pod {
        self.until(name, &format!("pod {name} to be ready"), is_ready).await
    }
}

pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Asks until the answer contains a text, because rules and routes follow a change with a delay.
/// Returns that answer.
pub async fn until_answer(address: SocketAddr, target: &str, text: &str) -> String {
    let start = Instant::now();
    loop {
        let target_owned = target.to_owned();
        let answer = tokio::task::spawn_blocking(move || ask(address, &target_owned)).await.unwrap();
        if let Ok(answer) = &answer
            && answer.contains(text)
        {
            return answer.clone();
        }
        assert!(start.elapsed() < PATIENCE, "{address}{target} never answered {text}; last: {answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn ask(address: SocketAddr, target: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(15)))?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
