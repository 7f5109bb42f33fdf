//! What jobs write into the list of a node while others write, too.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::chain::{Act, Patch, Write};
use crate::fixtures::images::{Cluster, cluster, job, node_ref};

fn writes(cluster: &Cluster, job: &str) -> Vec<Write> {
    let plan = cluster.plan_job(job);
    plan.chains.iter().flat_map(|chain| chain.writes.clone()).collect()
}

fn owners(cluster: &Cluster, image: &str, tag: &str) -> Vec<String> {
    let tags = cluster.node("a")["spec"]["images"][image]["tags"].as_array().cloned().unwrap_or_default();
    let found = tags.iter().find(|one| one["tag"] == tag).map(|one| one["ownerReferences"].clone());
    let list = found.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// PJ-10, images/12, images/13, scenario 22: two jobs that looked at the same version of a NodeImage. Either both writes stand, or the second one is
/// refused and made again; nothing is lost.
#[test]
fn pj_10_concurrent_jobs_never_lose_a_tag_or_an_owner() {
    for (stored, first, second, collide) in [
        (json!({}), "nginx:1", "redis:1", true),
        (json!({"other": {"tags": []}}), "nginx:1", "redis:1", false),
        (json!({"nginx": {"tags": [{"tag": "2"}]}}), "nginx:1", "nginx:3", true),
        (json!({"nginx": {"tags": [{"tag": "2"}]}}), "nginx:1", "redis:1", false),
        (json!({"nginx": {"tags": [{"tag": "1"}]}}), "nginx:1", "nginx:1", true),
        (
            json!({"nginx": {"tags": [{"tag": "1", "version": 4, "ownerReferences": [{"name": "x"}]}]}}),
            "nginx:1",
            "nginx:1",
            true,
        ),
        (json!({}), "nginx:1", "nginx:1", true),
    ] {
        let mut cluster = cluster(&["a"]).with(&job("one", first)).with(&job("two", second));
        if stored.as_object().is_some_and(|all| !all.is_empty()) {
            cluster.edit(&node_ref("a"), |one| one["spec"]["images"] = stored.clone());
        }
        let (one, two) = (writes(&cluster, "one"), writes(&cluster, "two"));
        cluster.write(&one[0]).unwrap();
        assert_eq!(cluster.write(&two[0]).is_err(), collide, "{stored} {first} {second}");
        if collide {
            let again = writes(&cluster, "two");
            cluster.write(&again[0]).unwrap();
        }
        for (job, image) in [("one", first), ("two", second)] {
            let (name, tag) = image.split_once(':').unwrap();
            assert!(owners(&cluster, name, tag).contains(&job.to_owned()), "{stored}: {}", cluster.node("a"));
        }
    }
}

/// The agent writes the status all the time: that disturbs no job.
#[test]
fn images_12_writes_of_the_agent_disturb_no_job() {
    let mut cluster = cluster(&["a"]).with(&job("one", "nginx:1"));
    let write = writes(&cluster, "one");
    cluster.agent("a", "Succeeded");
    cluster.write(&write[0]).unwrap();
    let Act::Patch(Patch::Json(_)) = &write[0].act else { panic!() };
}

/// PJ-10: what a tag gets, new and joined.
#[test]
fn pj_10_tag_that_is_there_is_pulled_again_and_keeps_its_limits() {
    let mut sandboxed = job("two", "nginx:1");
    sandboxed["spec"]["sandboxConfig"] = json!({"labels": {"a": "b"}});
    sandboxed["spec"]["imagePullPolicy"] = json!("Always");
    sandboxed["spec"]["pullPolicy"]["timeoutSeconds"] = json!(5);
    let mut cluster = cluster(&["a"]).with(&job("one", "nginx:1")).with(&sandboxed);
    cluster.apply(&cluster.plan_job("one"));
    let first = cluster.node("a")["spec"]["images"]["nginx"]["tags"][0].clone();
    assert_eq!(first["ownerReferences"][0]["apiVersion"], "apps.kruise.io/v1beta1");
    assert_eq!((&first["version"], &first["createdAt"]), (&Value::Null, &json!("2026-06-01T12:00:00Z")));

    cluster.agent("a", "Succeeded");
    cluster.wait(10);
    cluster.apply(&cluster.plan_job("two"));
    let image = cluster.node("a")["spec"]["images"]["nginx"].clone();
    let tag = &image["tags"][0];
    assert_eq!(
        (&tag["version"], &tag["createdAt"], &tag["imagePullPolicy"]),
        (&json!(1), &json!("2026-06-01T12:00:10Z"), &json!("Always"))
    );
    assert_eq!(tag["pullPolicy"], first["pullPolicy"], "unchanged");
    assert_eq!(image["sandboxConfig"], json!({"labels": {"a": "b"}}));
    assert_eq!(owners(&cluster, "nginx", "1"), ["one", "two"]);

    // The last writer wins, also one without a sandbox; and a tag that was there before starts beyond its last version.
    cluster.put(&job("three", "nginx:1"));
    cluster.apply(&cluster.plan_job("three"));
    assert_eq!(cluster.node("a")["spec"]["images"]["nginx"].get("sandboxConfig"), None);
    cluster.agent("a", "Succeeded");
    cluster.edit(&node_ref("a"), |one| one["spec"] = json!({"images": {}}));
    cluster.apply(&cluster.plan_job("one"));
    assert_eq!(cluster.node("a")["spec"]["images"]["nginx"]["tags"][0]["version"], 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Many jobs, each planned from what some version of the NodeImage was: tags stay sorted and unique, and each job that succeeded in
    /// writing is an owner.
    #[test]
    fn pj_10_tags_stay_sorted_and_owned_in_any_order(images in prop::collection::vec((0..3_u8, 0..4_u8), 1..8), stale in prop::collection::vec(any::<bool>(), 8)) {
        let mut cluster = cluster(&["a"]);
        for (at, (name, tag)) in images.iter().enumerate() {
            cluster.put(&job(&format!("j{at}"), &format!("i{name}:{tag}")));
        }
        let early: Vec<Write> = (0..images.len()).flat_map(|at| writes(&cluster, &format!("j{at}"))).collect();
        for at in 0..images.len() {
            let written = stale[at] && cluster.write(&early[at]).is_ok();
            if !written {
                let fresh = writes(&cluster, &format!("j{at}"));
                prop_assert_eq!(fresh.len(), 1);
                cluster.write(&fresh[0]).unwrap();
            }
            for (before, (name, tag)) in images.iter().enumerate().take(at + 1) {
                let (name, job) = (format!("i{name}"), format!("j{before}"));
                let found = owners(&cluster, &name, &tag.to_string());
                prop_assert!(found.contains(&job), "{:?}", found);
            }
        }
        for (_, image) in cluster.node("a")["spec"]["images"].as_object().unwrap() {
            let tags: Vec<&str> = image["tags"].as_array().unwrap().iter().map(|one| one["tag"].as_str().unwrap()).collect();
            prop_assert!(tags.windows(2).all(|two| two[0] < two[1]), "{:?}", tags);
        }
    }
}
