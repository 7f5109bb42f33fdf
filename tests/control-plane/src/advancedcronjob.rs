//! Acceptance scenarios of AdvancedCronJob (section 8 of its specification) on the real control plane.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Node;
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::{Scratch, scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Crons {
    client: Client,
    namespace: String,
    jobs: Api<Job>,
}

impl Crons {
    /// In a namespace of its own. Pods of image `ends:0` end well.
    async fn new(name: &str) -> Self {
        Self::of(scratch(name).await.unwrap())
    }

    fn of(test: Scratch) -> Self {
        let which = Which {
            namespace: Some(test.namespace.clone()),
            image: Some("ends:0".to_owned()),
            ..Which::default()
        };
        test.shared.nodes.rule(which, Behaviour::Exits { exit_code: 0, after: Duration::from_millis(200) });
        let jobs = Api::namespaced(test.client.clone(), &test.namespace);
        Self { client: test.client, namespace: test.namespace, jobs }
    }

    fn api(&self, version: &str, kind: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, kind);
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::from_gvk(&kind))
    }

    async fn create(&self, version: &str, spec: &Value) -> Result<DynamicObject, kube::Error> {
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "AdvancedCronJob", "metadata": {"name": "c"}, "spec": spec,
        });
        let api = self.api(version, "AdvancedCronJob");
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn change(&self, spec: Value) {
        let api = self.api("v1beta1", "AdvancedCronJob");
        api.patch("c", &PatchParams::default(), &Patch::Merge(json!({"spec": spec}))).await.unwrap();
    }

    async fn until(&self, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let has = |all: &[DynamicObject]| all.iter().any(|one| ok(&one.data["status"]));
        let api = self.api("v1beta1", "AdvancedCronJob");
        let all = wait::until_all_within(&api, &ListParams::default(), what, PATIENCE, has).await.unwrap();
        all[0].data["status"].clone()
    }
}

fn pod() -> Value {
    json!({"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "ends:0"}]}})
}

fn is_complete(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Complete" && one.status == "True")
}

/// Scenarios 1, 3 and 6, through v1alpha1: Jobs run and end, history is pruned, a pause stops them and a resume starts them.
#[tokio::test]
async fn advancedcronjob_scenarios_1_3_6_jobs_run_at_their_times_until_it_is_paused() {
    let crons = Crons::of(scratch_with_all_gates("acj-jobs").await.unwrap());
    let spec = json!({
        "schedule": "@every 2s", "successfulJobsHistoryLimit": 1,
        "template": {"jobTemplate": {"metadata": {"labels": {"run": "yes"}}, "spec": {"template": pod()}}},
    });
    crons.create("v1alpha1", &spec).await.unwrap();
    let has = |jobs: &[Job]| jobs.iter().any(is_complete);
    let jobs = wait::until_all_within(&crons.jobs, &ListParams::default(), "a Job that ended", PATIENCE, has)
        .await
        .unwrap();
    assert!(jobs.iter().all(|job| job.labels().get("run").is_some_and(|value| value == "yes")));
    assert_eq!(
        crons.until("its last time", |status| !status["lastScheduleTime"].is_null()).await["type"],
        "Job"
    );

    crons.change(json!({"paused": true})).await;
    let is_over = |left: &[Job]| left.len() == 1 && left.iter().all(is_complete);
    let kept = wait::until_all_within(&crons.jobs, &ListParams::default(), "one is kept", PATIENCE, is_over)
        .await
        .unwrap();
    crons.until("nothing runs", |status| status["active"].as_array().is_none_or(Vec::is_empty)).await;
    let last = kept[0].name_any();
    crons.change(json!({"paused": false})).await;
    let is_new = |now: &[Job]| now.iter().any(|job| job.name_any() > last);
    wait::until_all_within(&crons.jobs, &ListParams::default(), "it goes on", PATIENCE, is_new)
        .await
        .unwrap();
    crons.change(json!({"paused": true})).await;
}

/// Scenarios 2 and 4, advancedcronjob/B10: BroadcastJobs one after the other, with the annotations of their template; image lists are created.
#[tokio::test]
async fn advancedcronjob_scenarios_2_4_broadcast_jobs_and_image_lists() {
    let crons = Crons::new("acj-kinds").await;
    // On one node: the others belong to the tests beside this one, too.
    let nodes: Api<Node> = Api::all(crons.client.clone());
    let node = nodes.list(&ListParams::default().limit(1)).await.unwrap().items.remove(0);
    let mut template = pod();
    template["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": node.name_any()});
    let broadcast = json!({"broadcastJobTemplate": {"metadata": {"annotations": {"a": "b"}}, "spec": {"template": template}}});
    crons
        .create(
            "v1beta1",
            &json!({"schedule": "@every 2s", "concurrencyPolicy": "Forbid", "template": broadcast}),
        )
        .await
        .unwrap();
    let api = crons.api("v1beta1", "BroadcastJob");
    let has = |jobs: &[DynamicObject]| jobs.iter().any(|job| job.data["status"]["phase"] == "completed");
    let jobs =
        wait::until_all_within(&api, &ListParams::default(), "one ended", PATIENCE, has).await.unwrap();
    assert!(jobs.iter().all(|job| job.annotations().get("a").is_some()));
    assert!(jobs.iter().filter(|job| job.data["status"]["phase"] == "running").count() <= 1, "Forbid");
    crons.change(json!({"paused": true})).await;

    let lists = Crons::new("acj-images").await;
    let list = json!({"spec": {"images": ["nginx:1"], "completionPolicy": {"type": "Always"}}});
    let spec = json!({"schedule": "@every 1s", "concurrencyPolicy": "Forbid", "template": {"imageListPullJobTemplate": list}});
    lists.create("v1beta1", &spec).await.unwrap();
    let pulls = lists.api("v1beta1", "ImageListPullJob");
    wait::until_all_within(&pulls, &ListParams::default(), "a list", PATIENCE, |all| all.len() == 1)
        .await
        .unwrap();
    lists.until("it is active", |status| status["active"].as_array().is_some_and(|all| all.len() == 1)).await;
}

/// Scenario 19: refusals name the field, in both versions.
#[tokio::test]
async fn advancedcronjob_scenario_19_bad_objects_are_refused() {
    let crons = Crons::of(scratch_with_all_gates("acj-bad").await.unwrap());
    let with = |field: &str, value: Value| {
        let mut spec =
            json!({"schedule": "* * * * *", "template": {"jobTemplate": {"spec": {"template": pod()}}}});
        spec[field] = value;
        spec
    };
    for version in ["v1alpha1", "v1beta1"] {
        for (spec, field) in [
            (with("schedule", json!("* * *")), "schedule"),
            (with("timeZone", json!("Mars/Olympus")), "timeZone"),
            (with("template", json!({})), "template"),
        ] {
            let error = crons.create(version, &spec).await.unwrap_err().to_string();
            assert!(error.contains(field), "{version}: {error}");
        }
    }
}
