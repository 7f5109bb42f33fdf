//! AS-91 … AS-93: images are pulled ahead of an in-place update.

use super::*;
use kruise_api::Kind;
use kruise_api::apps::imagepulljob::ImagePullJob;
use kruise_api::resource::REVISIONS;

fn downloading(replicas: u32) -> Fixture {
    let pods = (0..replicas).map(|_| old());
    parallel().in_place().replicas(replicas).pods(pods).gate(Gate::PreDownloadImageForInPlaceUpdate)
}

fn jobs(plan: &Plan) -> Vec<Value> {
    let writes = plan.writes().filter(|write| write.object.resource == ImagePullJob::RESOURCE);
    writes.map(|write| write.created().unwrap()).collect()
}

/// What the update revision is labelled with.
fn label(plan: &Plan) -> Option<&'static str> {
    let text = format!("{:?}", plan.writes().find(|write| write.object.resource == REVISIONS)?.act);
    ["pre-predownload-created", "image-predownload-ignored"].into_iter().find(|label| text.contains(label))
}

#[test]
fn as_92_pd_1_one_job_per_changed_image_with_settings_from_annotations() {
    let fixture = downloading(4).and(|view| {
        view.annotations.insert("apps.kruise.io/image-predownload-parallelism".to_owned(), "50%".to_owned());
        view.annotations
            .insert("apps.kruise.io/image-predownload-timeout-seconds".to_owned(), "60".to_owned());
    });
    let plan = fixture.plan();

    let all = jobs(&plan);
    assert_eq!(all.len(), 1);
    let (name, spec) = (fixture.new_name(), &all[0]["spec"]);
    let hash = name.strip_prefix("web-").unwrap();
    assert_eq!(all[0]["metadata"]["name"], format!("{name}-main"));
    assert_eq!(all[0]["metadata"]["ownerReferences"][0]["kind"], "StatefulSet");
    assert_eq!((&spec["image"], &spec["parallelism"]), (&json!("nginx:2"), &json!("50%")));
    assert_eq!(spec["pullPolicy"], json!({"backoffLimit": 1, "timeoutSeconds": 60}));
    assert_eq!(spec["completionPolicy"], json!({"type": "Always", "ttlSecondsAfterFinished": 600}));
    let outdated = &spec["podSelector"]["matchExpressions"][0];
    assert_eq!((&outdated["operator"], &outdated["values"]), (&json!("NotIn"), &json!([name, hash])));
    assert_eq!(label(&plan), Some("pre-predownload-created"));

    let plain = downloading(4).plan();
    assert_eq!(jobs(&plain)[0]["spec"]["parallelism"], 1);
    assert_eq!(jobs(&plain)[0]["spec"]["pullPolicy"]["timeoutSeconds"], 300);
}

#[test]
fn as_91_pointless_downloads_are_ignored_once() {
    let env = json!([{"name": "A", "value": "b"}]);
    let mut other_env = downloading(4);
    other_env.object["spec"]["template"]["spec"]["containers"][0]["env"] = env;
    let rows = [
        downloading(3),
        downloading(4).rolling("podUpdatePolicy", json!("ReCreate")),
        downloading(4).rolling("maxUnavailable", json!("100%")),
        downloading(4).set("/updateStrategy", json!({"type": "OnDelete"})),
        other_env,
    ];
    for fixture in rows {
        let plan = fixture.plan();
        assert_eq!(
            (jobs(&plan).len(), label(&plan)),
            (0, Some("image-predownload-ignored")),
            "{}",
            fixture.object
        );
    }
    let partitioned = downloading(4).rolling("maxUnavailable", json!("100%")).rolling("partition", json!(1));
    assert_eq!(jobs(&partitioned.plan()).len(), 1, "not all at once");
    let off = downloading(4).and(|view| view.gates = Gates::default()).plan();
    assert_eq!((jobs(&off).len(), label(&off)), (0, None));
}

#[test]
fn as_91_jobs_wait_for_updated_pods_of_this_very_revision() {
    let waiting = |ready: u32, revision: &str, wanted: &'static str| {
        let mut fixture = downloading(4);
        let revision = if revision == "new" { fixture.new_name() } else { revision.to_owned() };
        fixture.object["metadata"]["annotations"] =
            json!({"apps.kruise.io/image-predownload-min-updated-ready-pods": wanted});
        fixture.object["status"] = json!({"updateRevision": revision, "updatedReadyReplicas": ready});
        jobs(&fixture.plan()).len()
    };
    assert_eq!(waiting(1, "new", "2"), 0);
    assert_eq!(waiting(2, "new", "2"), 1);
    assert_eq!(waiting(2, "web-other", "2"), 0, "counts of another revision");
    assert_eq!(waiting(1, "new", "30%"), 0, "two of four, rounded up");
    assert_eq!(waiting(2, "new", "30%"), 1);
}

#[test]
fn as_93_pd_2_jobs_go_when_the_rollout_is_over_or_was_rolled_back() {
    let with_job = |view: &mut View| {
        let job = json!({"metadata": {"namespace": "ns", "name": "web-x-main", "uid": "uid-job"}});
        view.base.pull_jobs.push(Arc::new(serde_json::from_value(job).unwrap()));
    };
    let plan = parallel()
        .settled()
        .pods([new(), new(), new()])
        .gate(Gate::PreDownloadImageForInPlaceUpdate)
        .and(with_job)
        .plan();

    let deleted: Vec<&str> = plan
        .writes()
        .filter(|write| {
            write.object.resource == ImagePullJob::RESOURCE && matches!(write.act, Act::Delete { .. })
        })
        .map(|write| write.object.name())
        .collect();
    assert_eq!(deleted, ["web-x-main"]);
}
