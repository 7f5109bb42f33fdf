//! A manager that dies. It is a process of the test's own, for one namespace.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::door::Door;
use kruise_testbed::{Scratch, manager, scratch_without_manager};

use super::web::image;
use super::{Kind, Sets, Web, is_active, restarts, runs, uids};

pub fn own<'a>(test: &'a Scratch, extra: &[&str]) -> manager::Own<'a> {
    manager::Own::of(&test.shared.cluster, &test.namespace, extra).unwrap()
}

/// A manager that dies after every single write still creates, updates and deletes exactly what one that lives would, with one
/// restart per container. The object has two replicas that are updated in place.
pub async fn dies_after_every_write(kind: Kind, name: &str, object: Web) {
    let test = scratch_without_manager(name).await.unwrap();
    let sets = Sets::new(kind, test.client.clone(), &test.namespace);
    let door = Door::open(&test.shared.cluster, &test.namespace).await.unwrap();
    let manager = own(&test, &[]).through(door.kubeconfig());
    let web = sets.create(object).await;
    let watcher = web.watching(|pods| at_most(pods, 2)).await;

    let mut lives = one_write_at_a_time(&door, &manager, web.until_available(2)).await;
    let before = web.pods_now().await;

    web.change(image("nginx:1.26")).await;
    lives += one_write_at_a_time(&door, &manager, web.until_updated(2)).await;
    let after = web.pods_now().await;
    assert_eq!(uids(&after), uids(&before));
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26") && restarts(pod, "main") == 1));

    web.scale(1).await;
    lives += one_write_at_a_time(&door, &manager, web.until_available(1)).await;
    assert!(uids(&web.pods_now().await).is_subset(&uids(&before)));
    watcher.verdict().await;
    assert!(lives > 15, "every write took a life: {lives}");
}

pub fn at_most(pods: &BTreeMap<String, Pod>, most: usize) -> Result<(), String> {
    let active = pods.values().filter(|pod| is_active(pod)).count();
    if active <= most { Ok(()) } else { Err(format!("{active} pods instead of {most}")) }
}

/// How the life of a manager ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Goal,
    OutOfWrites,
}

/// Runs the manager until the goal is reached or its writes are spent, then kills it.
pub async fn one_life<T>(door: &Door, manager: &manager::Own<'_>, goal: impl Future<Output = T>) -> End {
    manager.start().unwrap();
    let end = tokio::select! {
        _ = goal => End::Goal,
        () = door.until_spent() => End::OutOfWrites,
    };
    manager.kill().unwrap();
    end
}

/// Lets one write through, kills the manager, starts the next, until the goal is reached. Returns how many lives it took.
pub async fn one_write_at_a_time<T>(
    door: &Door,
    manager: &manager::Own<'_>,
    goal: impl Future<Output = T>,
) -> u32 {
    let mut goal = std::pin::pin!(goal);
    for lives in 1.. {
        door.allow_writes(1);
        if one_life(door, manager, &mut goal).await == End::Goal {
            return lives;
        }
    }
    unreachable!("the goal gives up by itself")
}
