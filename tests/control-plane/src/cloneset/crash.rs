//! The manager dies, or sees the world late. It is a process of the test's own, for one namespace.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kruise_testbed::door::Door;
use kruise_testbed::{scratch_without_manager, wait};
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use super::{Budget, Kind, Sets, at_revision, hash, is_available, restarts, runs, uids, web};
use crate::workload::crash::{End, at_most, dies_after_every_write, one_life, own};
use crate::workload::web::image;

/// Pods of the big rollout, those kept at the old revision, and how often its manager is killed.
const PODS: usize = 200;
const KEPT: usize = 50;
const KILLS: usize = 10;
/// Pods between two kills, on average.
const STRIDE: usize = (PODS - KEPT) / KILLS;

/// CS-1, CS-3, CS-30, CS-31, CS-75: killed ten times at random points of a rollout, the manager ends with exactly the
/// right pods, and breaks no limit at any moment.
#[tokio::test]
async fn killed_ten_times_during_a_rollout_of_200_pods() {
    let test = scratch_without_manager("kill").await.unwrap();
    let sets = Sets::new(Kind::CloneSet, test.client.clone(), &test.namespace);
    let manager = own(&test, &[]);
    manager.start().unwrap();
    let settings = json!({"maxUnavailable": "5%", "maxSurge": 0, "partition": KEPT});
    let web = sets.create(web(u32::try_from(PODS).unwrap()).rolling(&settings)).await;
    let before = web.until_available(PODS).await;
    let old = hash(&before[0]).to_owned();
    let budget = Budget { replicas: PODS, max_unavailable: PODS / 20, max_surge: 0, partition: KEPT };
    let watcher = budget.watch(&web).await;
    let mut chance = Chance::new();

    web.change(image("nginx:1.26")).await;
    for kill in 0..KILLS {
        // Counted in pods that were given their new image, so that every kill falls into the rollout.
        let count = kill * STRIDE + chance.below(STRIDE);
        web.until_pods("the rollout to go on", |pods| changed(pods) >= count).await;
        manager.kill().unwrap();
        manager.start().unwrap();
    }

    let updated = PODS - KEPT;
    web.until("the partition", |status| status["updatedAvailableReplicas"] == updated).await;
    let after = web.until_available(PODS).await;
    watcher.verdict().await;
    assert_eq!(uids(&after), uids(&before));
    assert_eq!(at_revision(&after, &old), KEPT);
    for pod in &after {
        let expected = if hash(pod) == old { ("nginx:1.25", 0) } else { ("nginx:1.26", 1) };
        assert!(runs(pod, "main", expected.0) && restarts(pod, "main") == expected.1, "{pod:?}");
    }
    assert_eq!(web.revisions_now().await.len(), 2);
    manager.kill().unwrap();
}

fn changed(pods: &[Pod]) -> usize {
    pods.iter().filter(|pod| super::image_of(pod, "main") == "nginx:1.26").count()
}

/// Random numbers that can be repeated: `KRUISE_TEST_SEED` sets the start, which every run prints.
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let given = std::env::var("KRUISE_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one("seed"));
        println!("KRUISE_TEST_SEED={seed}");
        Self(seed | 1)
    }

    /// xorshift64.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }
}

/// CS-42, CS-60: wherever a creation with claims is cut off, before the answer is heard, the next manager ends with the
/// right pods and claims.
#[tokio::test]
async fn scenario_30_killed_after_each_write_of_a_creation() {
    let test = scratch_without_manager("scenario-30-create").await.unwrap();
    let sets = Sets::new(Kind::CloneSet, test.client.clone(), &test.namespace);
    let door = Door::open(&test.shared.cluster, &test.namespace).await.unwrap();
    let manager = own(&test, &[]).through(door.kubeconfig());

    for writes in 1.. {
        let web = sets.create(web(2).claims("1Gi")).await;
        let watcher = web.watching(|pods| at_most(pods, 2)).await;
        door.allow_writes(writes);
        let end = one_life(&door, &manager, web.until_available(2)).await;
        door.allow_all();
        manager.start().unwrap();
        web.until_available(2).await;
        let claims = |all: &[PersistentVolumeClaim]| all.iter().filter(|one| stays(one)).count() == 2;
        wait::until_all(&web.claims, &ListParams::default(), "two claims", claims).await.unwrap();
        watcher.verdict().await;
        web.api.delete("web", &DeleteParams::foreground()).await.unwrap();
        wait::until_all(&web.api, &ListParams::default(), "no CloneSet", <[_]>::is_empty).await.unwrap();
        manager.kill().unwrap();
        if end == End::Goal {
            assert!(writes > 8, "a revision, two claims, two pods, two refreshments, a status: {writes}");
            return;
        }
    }
}

fn stays(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.deletion_timestamp.is_none()
}

/// SM-27, SM-30 and scenario 21 of the shared machinery.
#[tokio::test]
async fn scenario_30_killed_after_each_single_write() {
    let object = web(2).rolling(&json!({"maxUnavailable": 1}));
    dies_after_every_write(Kind::CloneSet, "scenario-30", object).await;
}

/// CS-81, CS-82, B6, SM-71, SM-72: a cache that lags behind by more than the manager's patience leads to no pod too many
/// and none too few.
#[tokio::test]
async fn scenario_31_watches_that_lag_behind() {
    let test = scratch_without_manager("scenario-31").await.unwrap();
    let sets = Sets::new(Kind::CloneSet, test.client.clone(), &test.namespace);
    let door = Door::open(&test.shared.cluster, &test.namespace).await.unwrap();
    door.delay_watches(Duration::from_secs(8));
    let manager = own(&test, &[]).through(door.kubeconfig());
    manager.start().unwrap();
    let web =
        sets.create(web(3).policy("ReCreate").rolling(&json!({"maxUnavailable": 1, "maxSurge": 1}))).await;
    let creation = web.watching(|pods| at_most(pods, 3)).await;
    let before = web.until_available(3).await;
    creation.verdict().await;

    let rollout = Budget { replicas: 3, max_unavailable: 1, max_surge: 1, partition: 0 }.watch(&web).await;
    web.change(image("nginx:1.26")).await;
    let (_, after) = web.until_updated(3).await;
    rollout.verdict().await;
    assert!(uids(&after).is_disjoint(&uids(&before)));

    let scaling = web.watching(|pods| at_least(pods, 1)).await;
    web.scale(1).await;
    let left = web.until_available(1).await;
    assert!(uids(&left).is_subset(&uids(&after)));
    scaling.verdict().await;
    manager.kill().unwrap();
}

fn at_least(pods: &BTreeMap<String, Pod>, least: usize) -> Result<(), String> {
    let available = pods.values().filter(|pod| is_available(pod)).count();
    if least <= available { Ok(()) } else { Err(format!("{available} pods instead of {least}")) }
}
