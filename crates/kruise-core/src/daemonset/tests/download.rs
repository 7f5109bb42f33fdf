//! DS-48, DS-49.

use super::*;

fn rolling(nodes: usize) -> Set {
    let pods: Vec<Pod> = (1..=nodes).map(|place| old(&format!("n{place}"))).collect();
    set(nodes).gate(Gate::PreDownloadImageForDaemonSetUpdate).rolling("paused", json!(true)).pods(pods)
}

fn pulls(plan: &Plan) -> Vec<Value> {
    created(plan, "ImagePullJob")
}

fn marks(plan: &Plan) -> String {
    let chains = plan.chains.iter().filter(|chain| chain.purpose == Purpose::PreDownload);
    format!("{:?}", chains.map(|chain| &chain.writes).collect::<Vec<_>>())
}

#[test]
fn ds_48_nothing_is_pulled_without_the_gate_and_jobs_go_when_all_nodes_are_updated() {
    let mut off = rolling(3);
    off.gates = Gates::default();
    assert!(pulls(&off.plan()).is_empty());
    let owner = json!([{"uid": "uid-web", "controller": true}]);
    let job =
        json!({"metadata": {"name": "web-x-main", "namespace": "ns", "uid": "j", "ownerReferences": owner}});
    let done =
        set(1).gate(Gate::PreDownloadImageForDaemonSetUpdate).pods([new("n1")]).job(job.clone()).plan();
    assert_eq!(count(&done, Purpose::PreDownload), 1);
    assert!(!marks(&rolling(3).job(job).plan()).contains("Delete"));
}

/// B8: nodes that are updated do not pull again.
#[test]
fn ds_49_daemonset_b8_each_changed_image_gets_one_job() {
    let set = rolling(3)
        .annotated("apps.kruise.io/image-predownload-parallelism", "4")
        .annotated("apps.kruise.io/image-predownload-timeout-seconds", "60");
    let plan = set.plan();
    let wanted = hash(&template("nginx:2"));
    let job = &pulls(&plan)[0];
    assert_eq!(job["metadata"]["name"], format!("web-{wanted}-main"));
    assert_eq!(job["metadata"]["labels"]["controller.kubernetes.io/hash"], wanted);
    assert_eq!(job["spec"]["image"], "nginx:2");
    assert_eq!(job["spec"]["parallelism"], 4);
    assert_eq!(job["spec"]["pullPolicy"], json!({"backoffLimit": 1, "timeoutSeconds": 60}));
    assert_eq!(job["spec"]["completionPolicy"]["ttlSecondsAfterFinished"], 600);
    let outdated = &job["spec"]["podSelector"]["matchExpressions"][0];
    assert_eq!(outdated["operator"], "NotIn");
    assert!(outdated["values"].as_array().unwrap().contains(&json!(wanted)));
    assert!(marks(&plan).contains("pre-predownload-created"));

    let mut created = rolling(3);
    created.revisions[1]["metadata"]["labels"]["apps.kruise.io/pre-predownload-created"] = json!("true");
    assert_eq!(count(&created.plan(), Purpose::PreDownload), 0, "once per revision");
}

/// B10: what was pointless may make sense later, and a first revision has nothing before it.
#[test]
fn ds_49_daemonset_b10_pulling_ahead_of_everything_at_once_is_pointless_until_it_is_not() {
    let at_once = || rolling(3).max_unavailable(json!("100%"));
    let plan = at_once().plan();
    assert!(pulls(&plan).is_empty() && marks(&plan).contains("image-predownload-ignored"));
    let mut ignored = at_once();
    ignored.revisions[1]["metadata"]["labels"]["apps.kruise.io/image-predownload-ignored"] = json!("true");
    assert_eq!(count(&ignored.plan(), Purpose::PreDownload), 0);
    assert_eq!(pulls(&ignored.rolling("partition", json!(1)).plan()).len(), 1, "the partition changed");

    let mut first = set(3).gate(Gate::PreDownloadImageForDaemonSetUpdate).rolling("partition", json!(2));
    first.revisions.remove(0);
    assert_eq!(count(&first.plan(), Purpose::PreDownload), 0);
}

/// B7, acceptance 13.
#[test]
fn daemonset_b7_on_delete_without_rolling_update_pulls_ahead() {
    assert_eq!(pulls(&rolling(3).spec("updateStrategy", json!({"type": "OnDelete"})).plan()).len(), 1);
}

/// B9.
#[test]
fn daemonset_b9_pulling_waits_for_so_many_updated_and_ready_pods() {
    let waiting = || rolling(3).annotated("apps.kruise.io/image-predownload-min-updated-ready-pods", "1");
    assert!(pulls(&waiting().plan()).is_empty());
    let mut one = waiting();
    one.pods[2] = new("n3").0;
    assert_eq!(pulls(&one.plan()).len(), 1);
}
