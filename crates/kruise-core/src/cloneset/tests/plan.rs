//! The order of steps and the revisions around it: CS-1, CS-3, CS-10 … CS-12, SM-5, SM-80 … SM-83.

use super::*;
use crate::chain::{Op, Patch};
use kruise_api::Kind;
use kruise_api::apps::imagepulljob::ImagePullJob;
use kruise_api::resource::REVISIONS;

#[test]
fn cs_10_and_sm_4_a_missing_revision_is_stored_before_anything_else() {
    let none: fn(&mut View) = |view| {
        view.revisions.clear();
        view.annotations.insert("note".to_owned(), "copied".to_owned());
    };
    let fixture = cloneset().replicas(3).pods([old()]).and(none);

    let plan = fixture.plan();

    assert_eq!(plan.chains.len(), 1);
    let write = &plan.chains[0].writes[0];
    let body = write.created().unwrap();
    assert_eq!(write.object.name(), fixture.new_name());
    assert_eq!(body["revision"], 1);
    let hash = fixture.new_name().rsplit('-').next().unwrap().to_owned();
    assert_eq!(body["metadata"]["labels"], json!({"app": "web", "controller.kubernetes.io/hash": hash}));
    assert_eq!(
        body["metadata"]["annotations"],
        json!({"note": "copied", "kruise.io/cloneset-volumeclaimtemplate-hash": ""})
    );
    let spec = fixture.view().spec.unwrap();
    assert_eq!(
        crate::revision::gojson::in_order(&body["data"]),
        spec.template.text(),
        "the stored bytes are the hashed ones"
    );
    assert_eq!(reason(&plan, "web-00"), &Reason::RevisionFirst);
}

#[test]
fn sm_5_after_a_collision_the_next_name_is_tried() {
    let none: fn(&mut View) = |view| view.revisions.clear();
    let mut fixture = cloneset().and(none);
    let Act::Patch(Patch::Merge(body)) = fixture.view().workload().collided().act else { panic!() };
    fixture.object["status"]["collisionCount"] = body["status"]["collisionCount"].clone();

    let write = fixture.plan().chains[0].writes[0].clone();

    assert_ne!(write.object.name(), fixture.new_name());
    let created = write.created().unwrap();
    let first = fixture.new_name().rsplit('-').next().unwrap().to_owned();
    assert_eq!(
        created["metadata"]["labels"]["controller.kubernetes.io/hash"], first,
        "the label keeps the first hash"
    );
}

#[test]
fn cs_11_a_rollback_reuses_the_old_revision_under_a_new_number() {
    let mut fixture = cloneset().replicas(1).max_unavailable(json!(1));
    let newer: fn(&mut View) = |view| {
        let wanted = view.revisions.remove(1);
        Arc::make_mut(&mut view.revisions[0]).number = 5;
        view.revisions.insert(0, wanted);
    };
    fixture = fixture.and(newer).pods([new()]);

    let plan = fixture.plan();

    let write = &plan.chains[0].writes[0];
    assert_eq!((write.object.resource, write.object.name()), (REVISIONS, fixture.new_name().as_str()));
    let Act::Patch(Patch::Json(ops)) = &write.act else { panic!() };
    assert_eq!(ops[1], Op::Replace { path: "/revision".to_owned(), value: json!(6) });
    assert_eq!(count(&plan, Purpose::UpdateInPlace), 0, "the pod is at it already");
}

#[test]
fn cs_12_without_a_stored_current_revision_the_update_revision_is_current() {
    let mut fixture = cloneset().replicas(1).partition(json!(1));
    fixture.object["status"]["currentRevision"] = json!("web-gone");

    let body = fixture.plan().chains[0].writes[0].created().unwrap();

    assert_eq!(body["metadata"]["labels"]["controller-revision-hash"], fixture.new_name());
}

#[test]
fn cs_3_cs_1_scaling_and_updating_never_share_a_plan() {
    let plan = cloneset().replicas(3).max_unavailable(json!(3)).pods([old(), old()]).plan();

    assert_eq!(count(&plan, Purpose::Create), 1);
    assert_eq!(reason(&plan, "web-00"), &Reason::ScalingFirst);
}

#[test]
fn sm_11_history_beyond_the_limit_is_deleted() {
    let plan = cloneset().settled().set("/revisionHistoryLimit", json!(0)).pods([new()]).plan();
    assert_eq!(count(&plan, Purpose::History), 1);

    let live =
        cloneset().set("/revisionHistoryLimit", json!(0)).paused().replicas(2).pods([new(), old()]).plan();
    assert_eq!(count(&live, Purpose::History), 0, "it is the current one");
    let used = cloneset().settled().set("/revisionHistoryLimit", json!(0)).paused().replicas(2);
    assert_eq!(count(&used.pods([new(), old()]).plan(), Purpose::History), 0, "a pod is at it");

    let dead: fn(&mut View) = |view| {
        for number in 1..=12 {
            let mut older = view.revisions[0].as_ref().clone();
            older.number = -number;
            older.name = crate::ids::RevisionName::new(format!("web-dead{number}").as_str());
            view.revisions.insert(0, Arc::new(older));
        }
    };
    let many = cloneset().settled().pods([new()]).and(dead).plan();
    let gone: Vec<&str> =
        many.writes().map(|write| write.object.name()).filter(|name| name.starts_with("web-dead")).collect();
    assert_eq!(
        gone,
        ["web-dead12", "web-dead11", "web-dead10"],
        "ten of thirteen stay where no limit is given"
    );
}

fn downloading(replicas: u32) -> Fixture {
    let pods = vec![old(); usize::try_from(replicas).unwrap()];
    let labelled: fn(&mut View) =
        |view| view.gates = view.gates.clone().with(Gate::PreDownloadImageForInPlaceUpdate);
    cloneset().replicas(replicas).partition(json!(1)).max_unavailable(json!(0)).pods(pods).and(labelled)
}

fn marks(plan: &Plan) -> Vec<String> {
    let writes = plan
        .chains
        .iter()
        .filter(|chain| chain.purpose == Purpose::PreDownload)
        .flat_map(|chain| &chain.writes);
    let patches = writes.filter_map(|write| match &write.act {
        Act::Patch(Patch::Json(ops)) => Some(format!("{:?}", ops[1])),
        Act::Create(_) | Act::Patch(_) | Act::Delete { .. } => None,
    });
    patches.collect()
}

#[test]
fn sm_83_one_job_per_changed_image_and_the_revision_says_so() {
    let fixture = downloading(5).rolling("inPlaceUpdateStrategy", json!({"imagePreDownloadParallelism": 2}));

    let plan = fixture.plan();

    let job = plan.writes().find(|write| write.object.resource == ImagePullJob::RESOURCE).unwrap();
    assert_eq!(job.object.name(), format!("{}-main", fixture.new_name()));
    let body = job.created().unwrap();
    assert_eq!(body["apiVersion"], "apps.kruise.io/v1beta1", "the version under which the runtime writes it");
    assert_eq!(body["metadata"]["ownerReferences"][0]["uid"], "uid-web");
    assert_eq!(body["metadata"]["ownerReferences"][0]["controller"], true);
    let name = fixture.new_name();
    let hash = name.rsplit('-').next().unwrap();
    let labels = json!({"app": "web", "controller.kubernetes.io/hash": hash});
    assert_eq!(body["metadata"]["labels"], labels);
    let outdated = json!({"key": "controller-revision-hash", "operator": "NotIn", "values": [name, hash]});
    let spec = json!({
        "image": "nginx:2",
        "pullSecrets": [],
        "podSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [outdated]},
        "parallelism": 2,
        "pullPolicy": {"backoffLimit": 1, "timeoutSeconds": 300},
        "completionPolicy": {"type": "Always", "ttlSecondsAfterFinished": 600},
        "sandboxConfig": {"labels": labels, "annotations": {}},
    });
    assert_eq!(body["spec"], spec);
    assert!(marks(&plan)[0].contains("pre-predownload-created"));
}

/// SM-83: one job for each changed image, none for what stays; what the template says about pulling goes along, and the mark
/// does not depend on the jobs.
#[test]
fn sm_83_secrets_and_annotations_of_the_template_go_along() {
    let mut fixture = downloading(5);
    let containers = |first: &str, second: &str| json!([{"name": "main", "image": first}, {"name": "side", "image": second}, {"name": "same", "image": "same:1"}]);
    let template = &mut fixture.object["spec"]["template"];
    template["metadata"]["annotations"] = json!({"note": "x"});
    template["spec"]["imagePullSecrets"] = json!([{"name": "one"}, {"name": "two"}]);
    fixture.old = template.clone();
    template["spec"]["containers"] = containers("nginx:2", "side:2");
    fixture.old["spec"]["containers"] = containers("nginx:1", "side:1");

    let plan = fixture.plan();

    let jobs: Vec<_> = plan.writes().filter(|one| one.object.resource == ImagePullJob::RESOURCE).collect();
    let names: Vec<&str> = jobs.iter().map(|job| job.object.name()).collect();
    let revision = fixture.new_name();
    assert_eq!(names, [format!("{revision}-main"), format!("{revision}-side")]);
    for job in jobs {
        let spec = &job.created().unwrap()["spec"];
        assert_eq!(spec["pullSecrets"], json!(["one", "two"]));
        assert_eq!(spec["sandboxConfig"]["annotations"], json!({"note": "x"}));
        assert_eq!(spec["parallelism"], 1);
    }
    let chains: Vec<_> = plan.chains.iter().filter(|chain| chain.purpose == Purpose::PreDownload).collect();
    assert_eq!(chains.len(), 3, "a job that cannot be made does not keep the revision from being marked");
}

#[test]
fn sm_82_pointless_downloads_are_ignored_once() {
    let ignored =
        |fixture: Fixture| marks(&fixture.plan()).iter().any(|mark| mark.contains("predownload-ignored"));

    assert!(ignored(downloading(3)), "replicas 3");
    assert!(!ignored(downloading(4)), "replicas 4");
    assert!(ignored(downloading(4).policy("ReCreate")));
    assert!(ignored(downloading(4).partition(json!(0)).max_unavailable(json!("100%"))), "all in one batch");
    let mut impossible = downloading(4);
    impossible.object["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["sh"]);
    assert!(ignored(impossible));
    let marked: fn(&mut View) = |view| {
        Arc::make_mut(&mut view.revisions[1])
            .labels
            .insert("apps.kruise.io/image-predownload-ignored".to_owned(), "true".to_owned());
    };
    assert!(marks(&downloading(3).and(marked).plan()).is_empty(), "not again");
}

#[test]
fn sm_80_sm_81_jobs_wait_for_updated_ready_pods_and_go_when_the_rollout_is_over() {
    let waiting =
        downloading(5).rolling("inPlaceUpdateStrategy", json!({"imagePreDownloadMinUpdatedReadyPods": 1}));
    assert!(marks(&waiting.plan()).is_empty());

    let job: fn(&mut View) = |view| {
        let job = json!({"metadata": {"namespace": "ns", "name": "web-x-main", "uid": "u"}});
        view.base.pull_jobs = vec![Arc::new(serde_json::from_value(job).unwrap())];
    };
    let over = cloneset().settled().pods([new()]).gate(Gate::PreDownloadImageForInPlaceUpdate).and(job);
    assert_eq!(count(&over.plan(), Purpose::PreDownload), 1);
    let off = cloneset().settled().pods([new()]).and(job);
    assert_eq!(count(&off.plan(), Purpose::PreDownload), 0, "the gate is off");
}
