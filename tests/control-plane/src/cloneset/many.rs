//! Many CloneSets at once, in a cluster of its own whose audit log has every write.
//!
//! The specification's size (100 of 500 pods) takes this kind of machine the better part of an hour, because its API server makes
//! about 150 writes a second; here it is a five-hundredth of that, since other tests run beside it. `make bench WORKLOADS=100 REPLICAS=500` measures the rest.

use futures::future::join_all;
use kruise_testbed::bench::audit::Log;
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Kind, Live, Sets, web};
use crate::workload::web::image;

const SETS: usize = 10;
const PODS: u32 = 10;
const RECONCILES: &str = "controller_runtime_reconcile_time_seconds";

/// Scenario 33: writes per updated pod are three and a bounded number of status writes; one reconcile never takes long.
#[tokio::test]
async fn scenario_33_many_clonesets_roll_out_side_by_side() {
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await.unwrap();
    let client = cluster.client_named(simnodes::USER_AGENT).await.unwrap();
    let _nodes = SimNodes::start(client, 20).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    let port = manager::free_port().unwrap();
    let kubeconfig = manager::authorize(&cluster, "").await.unwrap();
    let mut args = manager::args(&kubeconfig);
    args.retain(|arg| !arg.starts_with("--metrics-addr"));
    args.push(format!("--metrics-addr=127.0.0.1:{port}"));
    cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
    let sets = Sets::new(Kind::CloneSet, cluster.client(), "default");
    let all: Vec<Live> = join_all((0..SETS).map(|number| {
        let name = format!("web-{number}");
        sets.create(web(PODS).named(&name).labelled(&name).rolling(&json!({"maxUnavailable": "20%"})))
    }))
    .await;
    join_all(all.iter().map(|set| set.until_available(PODS as usize))).await;
    let log = Log::at(Some(cluster.audit_log()));
    let mark = log.mark().unwrap();

    join_all(all.iter().map(|set| set.change(image("nginx:1.26")))).await;
    join_all(all.iter().map(|set| set.until_updated(PODS as usize))).await;

    let writes = log.since(mark).unwrap().remove("kruise-manager").unwrap_or_default();
    let count = |what: &str| -> u64 {
        writes.iter().filter(|(name, _)| name.contains(what)).map(|(_, count)| count).sum()
    };
    let pods = SETS as u64 * u64::from(PODS);
    assert!((3 * pods..=3 * pods + pods / 10).contains(&count(" pods")), "{writes:?}");
    // A fifth of the pods at a time: five batches, and in each a pod goes down, is changed, comes back.
    let batches = 5 * SETS as u64;
    assert!(count("clonesets/status") <= 4 * batches, "a few for each batch: {writes:?}");
    let slow = slower_than(&scrape(port).await, "2.5");
    assert!(slow <= 0.01, "{slow} of all reconciles took longer than 2.5 s");
}

/// Share of the CloneSet controller's reconciles above that bound.
fn slower_than(page: &str, bound: &str) -> f64 {
    let value = |line: &str| -> f64 {
        let found = page.lines().find(|one| one.starts_with(line));
        found.and_then(|one| one.rsplit(' ').next()).and_then(|number| number.parse().ok()).unwrap()
    };
    let label = r#"controller="cloneset-controller""#;
    let all = value(&format!("{RECONCILES}_count{{{label}}}"));
    let fast = value(&format!("{RECONCILES}_bucket{{{label},le=\"{bound}\"}}"));
    assert!(all > 0.0);
    1.0 - fast / all
}

async fn scrape(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    page
}
