use proptest::prelude::*;
use serde_json::{Value, json};

use super::{asked, numbers, settle, status, with};
use crate::fixtures::images::{cluster, job, job_ref, list, list_ref, node_image, node_ref};
use crate::fixtures::pod;
use crate::time;

/// Deleted and completed jobs release what they hold and are let go; the latter go at their time to live.
#[test]
fn pj_2_pj_3_jobs_that_are_over_are_let_go_and_expire() {
    let mut deleted = cluster(&[]).with(&job("j", "nginx:1"));
    deleted.delete(&job_ref("j"));
    settle(&mut deleted);
    assert!(!deleted.has(&job_ref("j")));

    let mut over = cluster(&[])
        .with(&with(&json!({"completionPolicy": {"type": "Always", "ttlSecondsAfterFinished": 20}})));
    settle(&mut over);
    assert_eq!(status(&over)["message"], "job has completed", "without nodes it is done at once");
    assert_eq!(over.job("j")["metadata"]["finalizers"], json!([]));
    assert_eq!(over.plan_job("j").revisit_at, Some(time::after(over.now, 20)));
    over.wait(20);
    settle(&mut over);
    assert!(!over.has(&job_ref("j")));

    let mut kept = cluster(&[]).with(&job("j", "nginx:1"));
    settle(&mut kept);
    kept.put(&node_image("late"));
    kept.wait(100_000);
    assert_eq!(kept.plan_job("j").writes().count(), 0, "a completed job never runs again");
}

#[test]
fn pj_4_finalizer_comes_before_everything_else() {
    let mut bare = job("j", "nginx:1");
    bare["metadata"]["finalizers"] = json!(["mine"]);
    let mut cluster = cluster(&["a"]).with(&bare);
    let plan = cluster.plan_job("j");
    assert_eq!(plan.writes().count(), 1);
    cluster.apply(&plan);
    assert_eq!(
        cluster.job("j")["metadata"]["finalizers"],
        json!(["mine", "apps.kruise.io/deletion-protection"])
    );
    assert!(asked(&cluster).is_empty());
    settle(&mut cluster);
    assert_eq!(asked(&cluster), ["a"]);
}

/// With images/6: a selector without anything in it is no selector.
#[test]
fn pj_5_nodes_are_selected_by_name_by_label_by_pod_or_all() {
    let on = |name: &str, node: &str, more: fn(crate::fixtures::Pod) -> crate::fixtures::Pod| {
        let mut one = more(pod(name).label("app", "x").node(node).running()).0;
        one["kind"] = json!("Pod");
        one["metadata"]["namespace"] = json!("n");
        one
    };
    let mut elsewhere = on("e", "a", |pod| pod);
    elsewhere["metadata"]["namespace"] = json!("other");
    let base = cluster(&["a", "b", "c"])
        .with(&on("p", "c", |pod| pod))
        .with(&on("q", "c", |pod| pod))
        .with(&on("without", "nowhere", |pod| pod))
        .with(&on("done", "b", |pod| pod.phase("Succeeded")))
        .with(&on("going", "b", |pod| pod.deleted("2026-06-01T12:00:00Z")))
        .with(&elsewhere);
    for (selection, nodes) in [
        (json!({}), vec!["a", "b", "c"]),
        (json!({"selector": {}}), vec!["a", "b", "c"]),
        (json!({"selector": {"names": ["c", "zzz"]}}), vec!["c"]),
        (json!({"selector": {"matchLabels": {"host": "b"}}}), vec!["b"]),
        (
            json!({"selector": {"matchExpressions": [{"key": "host", "operator": "NotIn", "values": ["a"]}]}}),
            vec!["b", "c"],
        ),
        (json!({"podSelector": {"matchLabels": {"app": "x"}}}), vec!["c"]),
    ] {
        let mut spec = selection.clone();
        spec["parallelism"] = json!(10);
        let mut cluster = base.clone().with(&with(&spec));
        let plan = cluster.plan_job("j");
        cluster.apply(&plan);
        assert_eq!(asked(&cluster), nodes, "{selection}");
        assert_eq!(status(&cluster)["desired"], nodes.len(), "{selection}");
        for missing in ["zzz", "nowhere"] {
            let reason = plan.reason_of(missing).map(ToString::to_string).unwrap_or_default();
            assert!(reason.is_empty() || reason.starts_with("no NodeImage yet"), "{reason}");
        }
    }
}

#[test]
fn pj_8_a_node_counts_by_what_it_says_about_this_version() {
    let mut cluster = cluster(&["a", "b", "c", "d"]).with(&with(&json!({"parallelism": 3})));
    settle(&mut cluster);
    assert_eq!(numbers(&cluster), json!([4, 3, 0, 0]));
    assert_eq!(status(&cluster)["message"], "job is running, progress 0.0%");
    cluster.agent("a", "Succeeded");
    cluster.agent("b", "Failed");
    cluster.apply(&cluster.plan_job("j"));
    assert_eq!(numbers(&cluster), json!([4, 2, 1, 1]), "with the one that is asked now");
    assert_eq!(status(&cluster)["failedNodes"], json!(["b"]));
    assert_eq!(status(&cluster)["message"], "job is running, progress 50.0%");
    // Another version says nothing about this one.
    cluster.edit(&node_ref("a"), |one| one["spec"]["images"]["nginx"]["tags"][0]["version"] = json!(1));
    cluster.apply(&cluster.plan_job("j"));
    assert_eq!(numbers(&cluster), json!([4, 3, 0, 1]));
    // One that lost the job as owner has to be asked again.
    cluster.edit(&node_ref("c"), |one| {
        one["spec"]["images"]["nginx"]["tags"][0]["ownerReferences"] = json!([{"uid": "x"}]);
    });
    let plan = cluster.plan_job("j");
    cluster.apply(&plan);
    assert_eq!(cluster.node("c")["spec"]["images"]["nginx"]["tags"][0]["version"], 1);
}

/// Scenario 17: with the failures that the NodeImage controller reports.
#[test]
fn pj_9_job_ends_when_all_are_over_or_at_its_deadline() {
    let mut done = cluster(&["a", "b", "c"]).with(&with(&json!({"parallelism": 3})));
    settle(&mut done);
    for (node, phase) in [("a", "Succeeded"), ("b", "Failed"), ("c", "Succeeded")] {
        done.agent(node, phase);
    }
    done.apply(&done.plan_job("j"));
    assert_eq!(numbers(&done), json!([3, 0, 2, 1]));
    assert_eq!(status(&done)["completionTime"], "2026-06-01T12:00:00Z");

    let deadline =
        json!({"parallelism": 2, "completionPolicy": {"type": "Always", "activeDeadlineSeconds": 700}});
    let mut late = cluster(&["d", "c", "b", "a"]).with(&with(&deadline));
    settle(&mut late);
    late.agent("a", "Succeeded");
    assert_eq!(late.plan_job("j").revisit_at, Some(time::after(late.now, 700)));
    late.wait(700);
    let plan = late.plan_job("j");
    assert!(plan.chains.is_empty(), "nothing more is asked");
    late.apply(&plan);
    assert_eq!(numbers(&late), json!([4, 0, 1, 3]));
    assert_eq!(status(&late)["message"], "job exceeds activeDeadlineSeconds");
    assert_eq!(status(&late)["failedNodes"], json!(["b", "c", "d"]), "each once (images/5), sorted");

    let mut never = cluster(&["a"]).with(&with(&json!({"completionPolicy": {"type": "Never"}})));
    settle(&mut never);
    never.agent("a", "Succeeded");
    settle(&mut never);
    assert_eq!((numbers(&never), status(&never).get("completionTime")), (json!([1, 0, 1, 0]), None));
}

/// Scenario 14: parallelism is exact, 0 pauses, a text is a number.
#[test]
fn pj_10_no_more_nodes_pull_than_parallelism_says() {
    let reasons = |parallelism: Value| {
        let mut cluster = cluster(&["a", "b", "c"]).with(&with(&json!({"parallelism": parallelism})));
        let plan = cluster.plan_job("j");
        cluster.apply(&plan);
        (asked(&cluster).len(), plan.reason_of("c").map(ToString::to_string))
    };
    let slot = |text: &str| Some(text.to_owned());
    assert_eq!(reasons(json!(0)), (0, slot("paused: parallelism is 0")));
    assert_eq!(reasons(Value::Null), (1, slot("waiting for a slot: parallelism 1 of 1 in use")));
    assert_eq!(reasons(json!(2)), (2, slot("waiting for a slot: parallelism 2 of 2 in use")));
    assert_eq!(reasons(json!("3")), (3, None));
}

#[test]
fn pj_10_limits_of_a_tag_follow_from_the_job() {
    let limits = |spec: Value| {
        let mut cluster = cluster(&["a"]).with(&with(&spec));
        cluster.apply(&cluster.plan_job("j"));
        let policy = cluster.node("a")["spec"]["images"]["nginx"]["tags"][0]["pullPolicy"].clone();
        assert_eq!((&policy["timeoutSeconds"], &policy["backoffLimit"]), (&json!(600), &json!(3)));
        (policy["ttlSecondsAfterFinished"].as_i64().unwrap(), policy["activeDeadlineSeconds"].clone())
    };
    let always = |more: Value| {
        let mut policy = more;
        policy["type"] = json!("Always");
        json!({"completionPolicy": policy})
    };
    for (spec, from, deadline) in [
        (always(json!({})), 1_800, Value::Null),
        (always(json!({"activeDeadlineSeconds": 900})), 900, json!(900)),
        (always(json!({"activeDeadlineSeconds": 900, "ttlSecondsAfterFinished": 20})), 20, json!(900)),
    ] {
        let (ttl, found) = limits(spec);
        assert!((from + 300..from + 600).contains(&ttl), "{ttl}");
        assert_eq!(found, deadline);
    }
    let (ttl, deadline) = limits(json!({"completionPolicy": {"type": "Never"}}));
    assert!((85_800..87_000).contains(&ttl), "{ttl}");
    assert_eq!(deadline, 1_800);
}

#[test]
fn pj_15_status_is_written_only_where_it_differs() {
    let mut cluster = cluster(&["a", "b"]).with(&with(&json!({"parallelism": 2})));
    settle(&mut cluster);
    assert_eq!(cluster.plan_job("j").writes().count(), 0);
    cluster.wait(60);
    assert_eq!(cluster.plan_job("j").writes().count(), 0, "time alone changes nothing");
    cluster.agent("a", "Succeeded");
    let plan = cluster.plan_job("j");
    let crate::chain::Act::Patch(crate::chain::Patch::Merge(body)) = &plan.status.unwrap().act else {
        panic!()
    };
    assert_eq!(
        body["status"],
        json!({"active": 1, "succeeded": 1, "message": "job is running, progress 50.0%"})
    );
}

/// images/11: a finished job of a list stays until the list is over.
#[test]
fn images_11_job_of_a_list_outlives_its_time_to_live() {
    let mut child = with(&json!({"completionPolicy": {"type": "Always", "ttlSecondsAfterFinished": 0}}));
    child["metadata"]["ownerReferences"] = json!([{"uid": "list-uid", "controller": true}]);
    let mut owner = list("l", &["nginx:1"]);
    owner["metadata"]["uid"] = json!("list-uid");
    let mut cluster = cluster(&[]).with(&child).with(&owner);
    settle(&mut cluster);
    assert!(cluster.has(&job_ref("j")), "the list has not counted it");
    assert!(cluster.plan_job("j").reason_of("j").unwrap().to_string().contains("still runs"));
    cluster.edit(&list_ref("l"), |one| one["status"]["completionTime"] = json!("2026-06-01T12:00:00Z"));
    settle(&mut cluster);
    assert!(!cluster.has(&job_ref("j")));
}

/// Scenario 18: nodes come and go while a job runs.
#[test]
fn desired_follows_the_nodes() {
    let mut cluster =
        cluster(&["a", "b"]).with(&with(&json!({"parallelism": 1, "completionPolicy": {"type": "Never"}})));
    settle(&mut cluster);
    cluster.put(&node_image("c"));
    cluster.delete(&node_ref("a"));
    settle(&mut cluster);
    assert_eq!(numbers(&cluster), json!([2, 1, 0, 0]), "the slot of a node that is gone is free");
}

/// PJ-1, PJ-6, PJ-7, images/15: there are no expectations; a spec that cannot be read touches nothing.
#[test]
fn pj_1_pj_6_pj_7_unreadable_job_touches_nothing_and_says_so() {
    for spec in [
        json!({"image": "Not An Image"}),
        json!({"parallelism": "10%"}),
        json!({"completionPolicy": {"type": "Sometimes"}}),
    ] {
        let plan = cluster(&["a"]).with(&with(&spec)).plan_job("j");
        assert_eq!((plan.writes().count(), plan.events.len()), (0, 1), "{spec}");
        assert!(plan.events[0].message.contains("spec."), "{:?}", plan.events);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever agents do in whatever order: never more nodes pull than parallelism says, every node has a reason or a chain, and the
    /// job ends with every node counted once.
    #[test]
    fn pj_9_pj_10_every_job_ends_within_its_parallelism(nodes in 0..7_usize, parallelism in 1..4_usize, ends in prop::collection::vec((0..7_usize, any::<bool>()), 0..12)) {
        let names: Vec<String> = (0..nodes).map(|at| format!("n{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut cluster = cluster(&names).with(&with(&json!({"parallelism": parallelism})));
        let all = ends.iter().copied().chain((0..7).cycle().take(49).map(|at| (at, true)));
        for (at, is_well) in all {
            let plan = cluster.plan_job("j");
            if status(&cluster)["completionTime"].is_null() {
                for name in &names {
                    prop_assert!(plan.acts_on(crate::object::ObjectRef::new(crate::object::resource::NODES, "", *name)) || plan.reason_of(name).is_some());
                }
            }
            cluster.apply(&plan);
            let pulls = |name: &&&str| {
                let tag = cluster.node(name).pointer("/spec/images/nginx/tags/0").is_some();
                tag && cluster.node(name).pointer("/status/imageStatuses/nginx/tags/0/completionTime").is_none()
            };
            prop_assert!(names.iter().filter(pulls).count() <= parallelism);
            if let Some(name) = names.get(at) {
                cluster.agent(name, if is_well { "Succeeded" } else { "Failed" });
            }
        }
        let status = status(&cluster);
        prop_assert_eq!(&status["message"], "job has completed");
        let over = status["succeeded"].as_u64().unwrap() + status["failed"].as_u64().unwrap();
        prop_assert_eq!(over, u64::try_from(nodes).unwrap());
    }
}
