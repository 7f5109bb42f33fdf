//! Two managers and one lease: one leads, the other waits with warm caches.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kruise_testbed::{Scratch, manager, scratch_without_manager, wait};
use kube::Api;

use crate::cloneset::{Kind, Sets, web};

fn part(test: &Scratch, name: &str) -> String {
    format!("{}-{}-{name}", manager::PART, test.namespace)
}

/// A machine that also builds is slow.
const PATIENCE: Duration = Duration::from_mins(2);

/// Starts a candidate for the lease in the test's namespace, on which alone it acts. Returns its process id.
fn candidate(test: &Scratch, name: &str) -> u32 {
    let cluster = &test.shared.cluster;
    let mut args = manager::args(cluster.kubeconfig());
    args.push(format!("--namespace={}", test.namespace));
    args.push(format!("--leader-election-namespace={}", test.namespace));
    cluster.spawn(&part(test, name), manager::program().unwrap(), args).unwrap()
}

/// Its caches are warm and only the lease is missing.
async fn until_stands_by(test: &Scratch, name: &str) {
    let log = test.shared.cluster.log_dir().join(format!("{}.log", part(test, name)));
    let start = Instant::now();
    while !std::fs::read_to_string(&log).unwrap_or_default().contains("waiting for the lease") {
        assert!(start.elapsed() < PATIENCE, "{} never says that it waits for the lease", log.display());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// As Kubernetes stops a container.
fn terminate(process: u32) {
    let status = std::process::Command::new("kill").args(["-TERM", &process.to_string()]).status();
    assert!(status.unwrap().success());
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn times(spec: &LeaseSpec) -> (Timestamp, Timestamp) {
    (spec.acquire_time.as_ref().unwrap().0, spec.renew_time.as_ref().unwrap().0)
}

/// LE-1, LE-3, HA-4 (managers without webhooks compete for the lead all the same): after a clean stop of the leader the standby leads within two seconds and goes on with the work.
#[tokio::test]
async fn standby_leads_within_two_seconds_of_a_clean_stop() {
    let test = scratch_without_manager("lease").await.unwrap();
    let leases: Api<Lease> = test.api();
    let sets = Sets::new(Kind::CloneSet, test.client.clone(), &test.namespace);
    let first = candidate(&test, "first");
    let held = wait::until(&leases, "kruise-manager", "a leader", |lease| !holder(lease).is_empty()).await;
    let leader = holder(&held.unwrap()).to_owned();
    let web = sets.create(web(2)).await;
    web.until_available(2).await;
    let second = candidate(&test, "second");
    until_stands_by(&test, "second").await;

    terminate(first);
    let released = wait::until(&leases, "kruise-manager", "a release", |lease| holder(lease) != leader);
    let released = released.await.unwrap();
    let taken = wait::until(&leases, "kruise-manager", "a new leader", |lease| {
        holder(lease) != leader && !holder(lease).is_empty()
    });
    let taken = taken.await.unwrap();
    web.change(serde_json::json!({"replicas": 3})).await;

    web.until_available(3).await;
    // The first writes the end of its lead as its last renewal; both stamps come from the clock of this machine.
    let (_, ended) = times(released.spec.as_ref().unwrap());
    let (began, _) = times(taken.spec.as_ref().unwrap());
    let gap = began.duration_since(ended);
    assert!(gap <= SignedDuration::from_secs(2), "{gap} without a leader");
    terminate(second);
}
