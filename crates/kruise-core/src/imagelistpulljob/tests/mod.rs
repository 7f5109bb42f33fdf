//! Rules of ImageListPullJob.

use serde_json::{Value, json};

use crate::admission::Request;
use crate::admission::fixtures::Surroundings;
use crate::fixtures::images::{Cluster, cluster, list, list_ref, reference};
use crate::gates::{Gate, Gates};
use crate::golden;
use crate::time;

fn settle(cluster: &mut Cluster) {
    for _ in 0..50 {
        if !cluster.has(&list_ref("l")) || cluster.apply(&cluster.plan_list("l")) == 0 {
            return;
        }
    }
    panic!("it never settles");
}

fn children(cluster: &Cluster) -> Vec<(String, String)> {
    let text = |one: &Value, at: &str| one.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut all: Vec<(String, String)> = cluster
        .all("ImagePullJob")
        .iter()
        .map(|one| (text(one, "/spec/image"), text(one, "/metadata/name")))
        .collect();
    all.sort();
    all
}

fn images(cluster: &Cluster) -> Vec<String> {
    children(cluster).into_iter().map(|(image, _)| image).collect()
}

/// Says what a job would say.
fn report(cluster: &mut Cluster, image: &str, status: Value) {
    let job = cluster.all("ImagePullJob").into_iter().find(|one| one["spec"]["image"] == image).unwrap();
    let job = reference(job);
    cluster.edit(&job, |one| {
        one["status"] = status;
        one["status"]["startTime"] = json!("2026-06-01T12:00:00Z");
    });
}

fn status(cluster: &Cluster) -> &Value {
    &cluster.get(&list_ref("l"))["status"]
}

#[test]
fn lj_2_lj_5_each_image_gets_a_job_of_the_template() {
    let mut one = list("l", &["nginx:1", "redis:2"]);
    one["spec"]["parallelism"] = json!(4);
    let mut cluster = cluster(&[]).with(&one);
    settle(&mut cluster);
    assert_eq!(images(&cluster), ["nginx:1", "redis:2"]);
    let label = cluster.get(&list_ref("l"))["metadata"]["labels"]["controller-revision-hash"].clone();
    for child in cluster.all("ImagePullJob") {
        assert_eq!(child["metadata"]["labels"]["controller-revision-hash"], label);
        assert_eq!(child["metadata"]["generateName"], "l-");
        let owner = &child["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["controller"]), (&json!("ImageListPullJob"), &json!(true)));
        assert_eq!((&child["spec"]["parallelism"], child["spec"].get("images")), (&json!(4), None));
    }
    let crate::chain::Pace::SlowStart(_) =
        Cluster::clone(&cluster_of_one()).plan_list("l").chains.last().unwrap().pace
    else {
        panic!("one, two, four");
    };
}

/// LJ-5: the bodies of one plan are bounded, however large the template; the next plans go on.
#[test]
fn lj_5_large_templates_are_created_a_few_at_a_time() {
    let names: Vec<String> = (0..40).map(|number| format!("nginx:{number}")).collect();
    let mut one = list("l", &names.iter().map(String::as_str).collect::<Vec<_>>());
    one["spec"]["pullSecrets"] = json!(["x".repeat(1 << 20)]);
    let mut cluster = cluster(&[]).with(&one);

    let bytes: usize = cluster.plan_list("l").writes().map(crate::chain::Write::created_bytes).sum();
    settle(&mut cluster);

    assert!(bytes < 20 << 20, "{bytes} bytes in one plan");
    assert_eq!(images(&cluster).len(), 40);
}

fn cluster_of_one() -> Cluster {
    cluster(&[]).with(&list("l", &["nginx:1"]))
}

#[test]
fn lj_3_finished_list_goes_at_its_time_to_live_and_makes_no_more_jobs() {
    let mut one = list("l", &["nginx:1"]);
    one["spec"]["completionPolicy"]["ttlSecondsAfterFinished"] = json!(20);
    one["status"] = json!({"completionTime": "2026-06-01T12:00:00Z"});
    let mut cluster = cluster(&[]).with(&one);
    settle(&mut cluster);
    assert_eq!(images(&cluster), Vec::<String>::new());
    assert_eq!(cluster.plan_list("l").revisit_at, Some(time::after(cluster.now, 20)));
    cluster.wait(20);
    settle(&mut cluster);
    assert!(!cluster.has(&list_ref("l")));
}

/// Scenarios 19 and 26: children of every release are current; a new template replaces each once; images come and go.
#[test]
fn lj_4_lj_5_outdated_children_are_replaced_once() {
    let mut cluster = cluster(&[]).with(&list("l", &["nginx:1", "redis:2"]));
    settle(&mut cluster);
    let before = children(&cluster);
    cluster.edit(&list_ref("l"), |one| one["spec"]["images"] = json!(["redis:2", "busybox:3"]));
    settle(&mut cluster);
    assert_eq!(images(&cluster), ["busybox:3", "redis:2"]);
    assert!(children(&cluster).contains(&before[1]), "the one that stays is not made anew");
    cluster.edit(&list_ref("l"), |one| one["spec"]["parallelism"] = json!(7));
    let plan = cluster.plan_list("l");
    cluster.apply(&plan);
    settle(&mut cluster);
    assert_eq!(images(&cluster), ["busybox:3", "redis:2"]);
    assert!(!children(&cluster).contains(&before[1]));
    assert!(cluster.all("ImagePullJob").iter().all(|one| one["spec"]["parallelism"] == 7));

    // A second one for the same image goes.
    let mut twin = cluster.all("ImagePullJob")[0].clone();
    twin["metadata"]["name"] = json!("l-zzzzz");
    twin["metadata"]["uid"] = json!("twin");
    cluster.put(&twin);
    settle(&mut cluster);
    assert_eq!(cluster.all("ImagePullJob").len(), 2);
    // One without a label is known by its template.
    let first = reference(cluster.all("ImagePullJob")[0]);
    cluster.edit(&first, |one| one["metadata"]["labels"] = json!({}));
    assert_eq!(cluster.plan_list("l").writes().count(), 0);
}

#[test]
fn lj_4_children_of_older_releases_are_current() {
    use super::template::{Package, of, read};
    let mut cluster = cluster_of_one();
    settle(&mut cluster);
    let older = of(&read(&cluster.get(&list_ref("l"))["spec"]).unwrap(), Package::V1alpha1);
    let child = reference(cluster.all("ImagePullJob")[0]);
    for object in [list_ref("l"), child] {
        cluster.edit(&object, |one| one["metadata"]["labels"]["controller-revision-hash"] = json!(older));
    }
    assert_eq!(cluster.plan_list("l").writes().count(), 0);
}

/// What OpenKruise left behind is continued as it is.
#[test]
fn lj_4_recorded_children_are_current() {
    let (_, recorded) = golden::folder("objects")
        .into_iter()
        .find(|(file, _)| file == "imagelistpulljob-v1alpha1-ilpj.json")
        .unwrap();
    let mut one = recorded["stored_v1beta1"].clone();
    one["metadata"]["namespace"] = json!("n");
    one["metadata"]["name"] = json!("l");
    one["metadata"]["uid"] = json!("l-uid");
    one["status"] = recorded["status"].clone();
    let mut cluster = cluster(&[]).with(&one);
    for child in recorded["children"].as_array().unwrap() {
        let mut child = child.clone();
        child["metadata"]["namespace"] = json!("n");
        child["metadata"]["ownerReferences"][0]["uid"] = json!("l-uid");
        child["status"] = json!({"active": 1, "desired": 6, "startTime": "2026-06-01T12:00:00Z"});
        cluster.put(&child);
    }
    assert_eq!(cluster.plan_list("l").writes().count(), 0);
}

/// Scenarios 10 and 11.
#[test]
fn lj_6_status_counts_images() {
    let mut cluster = cluster(&[]).with(&list("l", &["a:1", "b:1", "c:1"]));
    settle(&mut cluster);
    report(&mut cluster, "a:1", json!({"desired": 2, "succeeded": 2}));
    report(&mut cluster, "b:1", json!({"desired": 2, "active": 1, "failed": 1}));
    cluster.apply(&cluster.plan_list("l"));
    let found =
        ["desired", "active", "completed", "succeeded"].map(|one| status(&cluster)[one].as_i64().unwrap());
    assert_eq!(found, [3, 1, 1, 1], "one that has not started is neither");
    let failed = &status(&cluster)["failedImageStatuses"][0];
    let job = failed["imagePullJob"].as_str().unwrap();
    assert_eq!(failed["name"], "b:1");
    assert_eq!(
        failed["message"],
        format!("Please check for details which nodes failed by 'kubectl get ImagePullJob {job}'.")
    );
    assert_eq!(status(&cluster).get("completionTime"), None);

    report(&mut cluster, "b:1", json!({"desired": 2, "succeeded": 1, "failed": 1}));
    report(&mut cluster, "c:1", json!({"desired": 0}));
    let mut endless = cluster.clone();
    cluster.apply(&cluster.plan_list("l"));
    assert_eq!(status(&cluster)["completionTime"], "2026-06-01T12:00:00Z");
    assert_eq!((&status(&cluster)["completed"], &status(&cluster)["succeeded"]), (&json!(3), &json!(2)));

    let hash = {
        endless.edit(&list_ref("l"), |one| one["spec"]["completionPolicy"] = json!({"type": "Never"}));
        super::template::hash(&endless.get(&list_ref("l"))["spec"]).unwrap()
    };
    let all: Vec<_> = endless.all("ImagePullJob").into_iter().map(reference).collect();
    for child in all {
        endless.edit(&child, |one| one["metadata"]["labels"]["controller-revision-hash"] = json!(hash));
    }
    settle(&mut endless);
    assert_eq!((&status(&endless)["completed"], status(&endless).get("completionTime")), (&json!(3), None));
}

#[test]
fn lists_are_refused_by_their_images_too() {
    let around = Surroundings { gates: Gates::default().with(Gate::ImagePullJob), ..Surroundings::default() };
    for (images, field, words) in [
        (json!([]), "spec.images", "image can not be empty"),
        (json!(["a:1", "a:1"]), "spec.images[1]", "images cannot have duplicate values"),
        (json!(["a:1", "B:1"]), "spec.images[1]", "invalid image B:1"),
        (
            (0..256).map(|at| format!("a:{at}")).collect(),
            "spec.images",
            "the maximum number of images cannot > 255",
        ),
    ] {
        let mut one = list("l", &[]);
        one["spec"]["images"] = images;
        let answer = super::admission::validate(Request::create(one), &around.known());
        let text = answer.denial.map(|denial| denial.message).unwrap_or_default();
        assert!(text.contains(field) && text.contains(words), "{field}: {text}");
    }
}
