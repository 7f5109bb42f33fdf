use serde_json::{Value, json};

use crate::chain::{Act, Patch};
use crate::fixtures::images::{Cluster, SECRETS_IN, cluster, job, node, node_image, node_ref};
use crate::plan::Plan;
use crate::time;

const READY: &str = "2026-06-01T11:59:00Z";

fn reason(plan: &Plan) -> String {
    plan.reason_of("a").map(ToString::to_string).unwrap_or_default()
}

/// A NodeImage whose image `nginx` has these tags.
#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
fn with_tags(tags: Value) -> Value {
    let mut object = node_image("a");
    object["spec"] = json!({"images": {"nginx": {"tags": tags}}});
    object
}

fn tag(name: &str) -> Value {
    json!({"tag": name, "createdAt": "2026-06-01T12:00:00Z", "pullPolicy": {"ttlSecondsAfterFinished": 60}})
}

fn owned(name: &str, jobs: &[(&str, &str)]) -> Value {
    let owner = |(job, uid): &(&str, &str)| json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "ImagePullJob", "namespace": "n", "name": job, "uid": uid});
    let mut tag = tag(name);
    tag["ownerReferences"] = jobs.iter().map(owner).collect();
    tag
}

/// After all plans of the node have been carried out.
fn settled(mut cluster: Cluster) -> Cluster {
    while cluster.apply(&cluster.plan_node("a")) > 0 {}
    cluster
}

fn tags(cluster: &Cluster) -> Vec<&str> {
    let all = cluster.node("a").pointer("/spec/images/nginx/tags").and_then(Value::as_array);
    all.into_iter().flatten().map(|one| one["tag"].as_str().unwrap()).collect()
}

#[test]
fn ni_1_virtual_node_gets_no_node_image() {
    let mut virtual_node = node("a", READY);
    virtual_node["metadata"]["labels"]["type"] = json!("virtual-kubelet");
    let plan = cluster(&[]).with(&virtual_node).plan_node("a");
    assert_eq!(plan.writes().count(), 0);
    assert_eq!(reason(&plan), "no NodeImage yet: it is a virtual node, which has no node agent");
}

#[test]
fn ni_2_node_gets_a_node_image_when_it_has_been_ready_for_the_delay() {
    let mut waiting = node("a", READY);
    waiting["status"]["conditions"][0]["status"] = json!("False");
    let plan = cluster(&[]).with(&waiting).plan_node("a");
    assert_eq!((plan.writes().count(), plan.revisit_at), (0, None));
    assert_eq!(reason(&plan), "no NodeImage yet: the node is not ready");

    let mut young = cluster(&[]).with(&node("a", "2026-06-01T11:59:40Z"));
    let early = young.plan_node("a");
    assert_eq!((early.writes().count(), early.revisit_at), (0, Some(time::after(young.now, 10))));
    assert_eq!(
        reason(&early),
        "no NodeImage yet: the node must be ready for 30 s, which is at 2026-06-01T12:00:10Z"
    );
    young.wait(10);
    young.apply(&young.plan_node("a"));
    assert_eq!(young.node("a")["spec"], json!({}));
    assert_eq!(young.node("a")["metadata"]["labels"], json!({"host": "a"}));
    assert_eq!(young.plan_node("a").writes().count(), 0, "one write is enough");
}

#[test]
fn ni_3_node_image_goes_with_its_node_unless_it_is_fake() {
    let gone = settled(cluster(&["a"]));
    assert!(!gone.has(&node_ref("a")));
    let mut leaving = node("a", READY);
    leaving["metadata"]["deletionTimestamp"] = json!("2026-06-01T12:00:00Z");
    assert!(!settled(cluster(&["a"]).with(&leaving)).has(&node_ref("a")));

    let mut fake = node_image("a");
    fake["metadata"]["labels"]["apps.kruise.io/fake-nodeimage"] = json!("true");
    assert_eq!(cluster(&[]).with(&fake).plan_node("a").writes().count(), 0);
}

#[test]
fn ni_4_labels_are_exactly_those_of_the_node() {
    let mut object = node_image("a");
    object["metadata"]["labels"] = json!({"host": "b", "mine": "x"});
    let cluster = settled(cluster(&[]).with(&object).with(&node("a", READY)));
    assert_eq!(cluster.node("a")["metadata"]["labels"], json!({"host": "a"}));
}

#[test]
fn ni_5_tags_leave_when_nobody_wants_them_or_their_time_is_over() {
    let mut undated = tag("undated");
    undated.as_object_mut().unwrap().shift_remove("createdAt");
    let mut foreign = owned("foreign", &[("j", "x")]);
    foreign["ownerReferences"][0]["kind"] = json!("Other");
    let object = with_tags(json!([
        tag("free"),
        foreign,
        owned("half", &[("gone", "g"), ("j", "j-uid")]),
        owned("lost", &[("gone", "g")]),
        owned("successor", &[("j", "another-uid")]),
        tag("over"),
        tag("running"),
        undated,
    ]));
    let mut wanted = job("j", "nginx:half");
    wanted["metadata"]["uid"] = json!("j-uid");
    let mut cluster = cluster(&[]).with(&object).with(&node("a", READY)).with(&wanted);
    let end = |tag: &str, version: i64| json!({"tag": tag, "version": version, "phase": "Succeeded", "completionTime": "2026-06-01T12:00:00Z"});
    // A report of another version does not end a tag.
    let said = json!([end("over", 0), end("running", 7)]);
    cluster.edit(&node_ref("a"), |one| one["status"] = json!({"imageStatuses": {"nginx": {"tags": said}}}));
    cluster.wait(60);

    let cluster = settled(cluster);
    let mut left = tags(&cluster);
    left.sort_unstable();
    assert_eq!(left, ["foreign", "free", "half", "running"]);
    let half = cluster.node("a")["spec"]["images"]["nginx"]["tags"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["tag"] == "half");
    let owners = half.unwrap()["ownerReferences"].as_array().unwrap();
    assert_eq!((owners.len(), &owners[0]["uid"]), (1, &json!("j-uid")));
}

/// With images/8: references to copies that are gone leave with the next write.
#[test]
fn ni_6_images_without_tags_and_secrets_that_are_gone_leave() {
    let lost =
        settled(cluster(&[]).with(&with_tags(json!([owned("1", &[("gone", "g")])]))).with(&node("a", READY)));
    assert_eq!(lost.node("a")["spec"]["images"], json!({}));

    let mut object = with_tags(json!([tag("1")]));
    let batch = json!({"namespace": SECRETS_IN, "name": "b", "mode": "batch"});
    let legacy = json!({"namespace": SECRETS_IN, "name": "l"});
    let elsewhere = json!({"namespace": "x", "name": "l"});
    object["spec"]["images"]["nginx"]["pullSecrets"] = json!([legacy, batch, elsewhere]);
    let mut cluster = settled(cluster(&[]).with(&object).with(&node("a", READY)));
    assert_eq!(cluster.node("a")["spec"]["images"]["nginx"]["pullSecrets"], json!([batch, elsewhere]));
    let mut relabelled = node("a", READY);
    relabelled["metadata"]["labels"]["new"] = json!("x");
    cluster.put(&relabelled);
    let cluster = settled(cluster);
    assert_eq!(cluster.node("a")["spec"]["images"]["nginx"]["pullSecrets"], json!([elsewhere]));
}

#[test]
fn ni_7_status_waits_for_the_spec() {
    let object = with_tags(json!([owned("lost", &[("gone", "g")]), tag("silent")]));
    let mut cluster = cluster(&[]).with(&object).with(&node("a", READY));
    cluster.wait(3_600);
    let plan = cluster.plan_node("a");
    assert_eq!(plan.writes().count(), 1);
    cluster.apply(&plan);
    assert_eq!((tags(&cluster), &cluster.node("a")["status"]), (vec!["silent"], &Value::Null));
    cluster.apply(&cluster.plan_node("a"));
    assert_eq!(cluster.node("a")["status"]["failed"], 1);
}

#[test]
fn ni_8_ni_9_ni_10_tags_that_no_agent_answers_for_fail() {
    let mut slow = tag("slow");
    slow["pullPolicy"]["activeDeadlineSeconds"] = json!(100);
    slow["version"] = json!(2);
    let object = with_tags(json!([tag("new"), tag("patient"), tag("silent"), slow, tag("stale")]));
    let mut cluster = cluster(&[]).with(&object).with(&node("a", READY));
    cluster.edit(&node_ref("a"), |one| {
        for at in [0, 2] {
            one["spec"]["images"]["nginx"]["tags"][at]["pullPolicy"]["ttlSecondsAfterFinished"] = json!(9_999);
        }
        one["spec"]["images"]["nginx"]["tags"][0]["createdAt"] = json!("2026-06-01T12:05:00Z");
        one["spec"]["images"]["nginx"]["tags"][4]["version"] = json!(1);
        one["status"] = json!({"desired": 9, "waiting": 4, "pulling": 3, "imageStatuses": {
            "gone": {"tags": [{"tag": "1", "phase": "Succeeded"}]},
            "nginx": {"tags": [
                {"tag": "old", "phase": "Failed"}, {"tag": "patient", "phase": "Pulling", "startTime": "2026-06-01T12:00:00Z"},
                {"tag": "slow", "version": 2, "phase": "Pulling", "progress": 7}, {"tag": "stale", "phase": "Succeeded", "completionTime": "2026-06-01T12:00:00Z"},
            ]},
        }});
    });
    cluster.wait(599);
    assert_eq!(cluster.plan_node("a").writes().count(), 0, "one second before");
    cluster.wait(1);
    let plan = cluster.plan_node("a");
    let told: Vec<&str> = plan.events.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "Failed to pull image nginx:silent on node a for node has not responded for a long time",
            "Failed to pull image nginx:stale on node a for node has not responded for a long time",
        ]
    );
    cluster.apply(&plan);
    let status = cluster.node("a")["status"].clone();
    let said = status["imageStatuses"]["nginx"]["tags"].as_array().unwrap();
    let names: Vec<&str> = said.iter().map(|one| one["tag"].as_str().unwrap()).collect();
    assert_eq!(names, ["patient", "slow", "stale", "silent"]);
    assert_eq!(
        said[2],
        json!({"tag": "stale", "phase": "Failed", "completionTime": "2026-06-01T12:10:00Z", "version": 1, "message": "node has not responded for a long time"})
    );
    assert_eq!(said[3]["message"], "node has not responded for a long time");
    assert!(status["imageStatuses"].get("gone").is_none());
    assert_eq!(
        ["desired", "waiting", "pulling", "failed"].map(|one| status[one].as_i64()),
        [Some(5), Some(4), Some(2), Some(2)]
    );
    assert!(status.get("succeeded").is_none());

    cluster.wait(100);
    let cluster = settled(cluster);
    let later = cluster.node("a")["status"]["imageStatuses"]["nginx"]["tags"].as_array().unwrap();
    let late = later.iter().find(|one| one["tag"] == "slow").unwrap();
    assert_eq!(
        (&late["phase"], &late["message"], &late["progress"]),
        (&json!("Failed"), &json!("pulling exceeds the activeDeadlineSeconds"), &json!(7))
    );
    assert_eq!(cluster.node("a")["status"]["pulling"], 1, "one without a deadline goes on");
}

/// A NodeImage that no agent has ever written to has no status at all.
#[test]
fn ni_8_first_status_may_be_the_managers() {
    let mut cluster = cluster(&[]).with(&with_tags(json!([tag("1")]))).with(&node("a", READY));
    cluster.wait(600);
    cluster.apply(&cluster.plan_node("a"));
    let status = &cluster.node("a")["status"];
    assert_eq!((&status["desired"], &status["failed"]), (&json!(1), &json!(1)));
    assert_eq!(status["imageStatuses"]["nginx"]["tags"][0]["phase"], "Failed");
}

#[test]
fn ni_11_it_comes_back_when_the_next_tag_is_over_but_not_for_each_of_many() {
    let mut cluster = cluster(&[]).with(&with_tags(json!([tag("1")]))).with(&node("a", READY));
    assert_eq!(cluster.plan_node("a").revisit_at, Some(time::after(cluster.now, 600)));
    cluster.agent("a", "Succeeded");
    assert_eq!(cluster.plan_node("a").revisit_at, Some(time::after(cluster.now, 60)));
    cluster.wait(59);
    assert_eq!(cluster.plan_node("a").revisit_at, Some(time::after(cluster.now, 3)));
}

/// Positions in lists hold only for the version that was seen.
#[test]
fn every_patch_of_the_planner_names_the_version_that_was_seen() {
    let mut cluster = cluster(&[])
        .with(&with_tags(json!([tag("1"), owned("2", &[("gone", "g")])])))
        .with(&node("a", READY));
    let plan = cluster.plan_node("a");
    let Act::Patch(Patch::Json(_)) = &plan.chains[0].writes[0].act else { panic!("{plan:?}") };
    cluster.edit(&node_ref("a"), |one| {
        one["spec"]["images"]["nginx"]["tags"] = json!([owned("2", &[("gone", "g")]), tag("3")]);
    });
    assert_eq!(cluster.apply(&plan), 0, "somebody else has written");
}
