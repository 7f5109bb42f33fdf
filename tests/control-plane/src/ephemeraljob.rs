//! Acceptance scenarios of EphemeralJob (section 8 of its specification) on the real control plane.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::{Scratch, scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Jobs {
    client: Client,
    namespace: String,
    pods: Api<Pod>,
}

impl Jobs {
    /// In a namespace of its own with so many pods of app `web`. Containers of image `ends:0` end well, those of `ends:1` fail.
    async fn new(name: &str, pods: usize) -> Self {
        Self::of(scratch(name).await.unwrap(), pods).await
    }

    /// Without pods, where the manager is asked about every object.
    async fn admitted(name: &str) -> Self {
        Self::of(scratch_with_all_gates(name).await.unwrap(), 0).await
    }

    async fn of(test: Scratch, pods: usize) -> Self {
        let jobs = Self {
            pods: Api::namespaced(test.client.clone(), &test.namespace),
            client: test.client,
            namespace: test.namespace,
        };
        for (image, exit_code) in [("ends:0", 0), ("ends:1", 1)] {
            let which = Which {
                namespace: Some(jobs.namespace.clone()),
                image: Some(image.to_owned()),
                ..Which::default()
            };
            test.shared.nodes.rule(which, Behaviour::Exits { exit_code, after: Duration::from_secs(1) });
        }
        for i in 0..pods {
            let pod = json!({
                "metadata": {"name": format!("p{i}"), "labels": {"app": "web"}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "nginx:1"}]},
            });
            jobs.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        }
        jobs.until_pods("all run", |all| {
            let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
            all.len() == pods && all.iter().all(|pod| phase(pod).as_deref() == Some("Running"))
        })
        .await;
        jobs
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "EphemeralJob");
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::from_gvk(&kind))
    }

    async fn create(&self, name: &str, spec: &Value) -> Result<DynamicObject, kube::Error> {
        let object = json!({
            "apiVersion": "apps.kruise.io/v1alpha1", "kind": "EphemeralJob", "metadata": {"name": name}, "spec": spec,
        });
        self.api().create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn until(&self, name: &str, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let one = ListParams::default().fields(&format!("metadata.name={name}"));
        let has = |jobs: &[DynamicObject]| jobs.iter().any(|job| ok(&job.data["status"]));
        let jobs = wait::until_all_within(&self.api(), &one, what, PATIENCE, has).await.unwrap();
        jobs[0].data["status"].clone()
    }

    async fn until_pods(&self, what: &str, ok: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        wait::until_all_within(&self.pods, &ListParams::default(), what, PATIENCE, ok).await.unwrap()
    }

    async fn until_gone(&self) {
        let gone = |all: &[DynamicObject]| all.is_empty();
        wait::until_all_within(&self.api(), &ListParams::default(), "no job", PATIENCE, gone).await.unwrap();
    }
}

fn job(container: &str, image: &str, more: &Value) -> Value {
    let containers = json!([{"name": container, "image": image, "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]);
    let mut spec =
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": {"ephemeralContainers": containers}});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

/// Names of the ephemeral containers of a pod.
fn names(pod: &Pod) -> Vec<&str> {
    let all = pod.spec.as_ref().and_then(|spec| spec.ephemeral_containers.as_deref()).unwrap_or_default();
    all.iter().map(|one| one.name.as_str()).collect()
}

fn main_id(pod: &Pod) -> Option<String> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.container_id.clone()
}

/// Scenarios 1, 7 and 10: four of five pods, one after the other; their main containers stay; then the job goes by itself.
#[tokio::test]
async fn ephemeraljob_scenarios_1_7_10_takes_so_many_pods_and_goes_when_its_time_is_over() {
    let jobs = Jobs::new("ej-runs", 5).await;
    let before: Vec<_> = jobs.until_pods("five", |all| all.len() == 5).await.iter().map(main_id).collect();
    let spec = job("dbg", "ends:0", &json!({"replicas": 4, "ttlSecondsAfterFinished": 5}));
    jobs.create("e", &spec).await.unwrap();

    let status = jobs.until("e", "its end", |status| status["phase"] == "Succeeded").await;
    assert_eq!(
        (&status["match"], &status["succeeded"], &status["failed"]),
        (&json!(4), &json!(4), &json!(0))
    );
    let job = jobs.api().get("e").await.unwrap();
    assert_eq!(job.metadata.finalizers.unwrap(), ["apps.kruise.io/ephemeralcontainers-cleanup"]);
    jobs.until_gone().await;
    let after = jobs.until_pods("five", |all| all.len() == 5).await;
    assert_eq!(after.iter().filter(|pod| names(pod) == ["dbg"]).count(), 4);
    assert_eq!(after.iter().map(main_id).collect::<Vec<_>>(), before, "no main container was restarted");
    let env =
        after.iter().find_map(|pod| pod.spec.as_ref()?.ephemeral_containers.as_ref()?.first()?.env.clone());
    assert_eq!(env.unwrap().last().unwrap().name, "KRUISE_EJOB_ID");
}

/// Scenarios 3, 4, 11 and 12: failures and a deadline end the job, also with more replicas than pods.
#[tokio::test]
async fn ephemeraljob_scenarios_3_4_11_12_failures_and_the_deadline_end_the_job() {
    let jobs = Jobs::new("ej-fails", 3).await;
    let spec = job("fails", "ends:1", &json!({"parallelism": 10, "replicas": 10}));
    jobs.create("fails", &spec).await.unwrap();
    let status = jobs.until("fails", "its end", |status| status["phase"] == "Failed").await;
    assert_eq!((&status["failed"], status["completionTime"].is_string()), (&json!(3), true));

    let late = job("late", "runs:1", &json!({"parallelism": 1, "activeDeadlineSeconds": 5}));
    jobs.create("late", &late).await.unwrap();
    let ended = jobs.until("late", "its end", |one| one["phase"] == "Failed").await;
    assert!(ended["conditions"].to_string().contains("DeadlineExceeded"));
    let pods = jobs.until_pods("three", |all| all.len() == 3).await;
    assert_eq!(pods.iter().filter(|pod| names(pod).contains(&"late")).count(), 1, "no more were begun");
}

/// Scenarios 5 and 6: another name is put beside, the same name is left alone.
#[tokio::test]
async fn ephemeraljob_scenarios_5_6_two_jobs_on_one_pod() {
    let jobs = Jobs::new("ej-two", 1).await;
    jobs.create("one", &job("one", "runs:1", &json!({}))).await.unwrap();
    jobs.until("one", "it runs", |status| status["running"] == 1).await;
    jobs.create("two", &job("two", "runs:1", &json!({}))).await.unwrap();
    jobs.until("two", "it runs", |status| status["running"] == 1).await;
    jobs.create("same", &job("one", "ends:0", &json!({}))).await.unwrap();
    let status = jobs.until("same", "no pod", |status| status["phase"] == "Waiting").await;
    assert_eq!(status["match"], 0);
    let pods = jobs.until_pods("one", |all| all.len() == 1).await;
    // The API server puts the newest first.
    let mut both = names(&pods[0]);
    both.sort_unstable();
    assert_eq!(both, ["one", "two"]);
    for name in ["one", "two", "same"] {
        jobs.api().delete(name, &DeleteParams::default()).await.unwrap();
    }
    jobs.until_gone().await;
}

/// Scenarios 14, 17 and 19: a pause, a pod that goes and another that comes; nobody is injected twice.
#[tokio::test]
async fn ephemeraljob_scenarios_14_17_19_pause_and_pods_that_come_and_go() {
    let jobs = Jobs::new("ej-pause", 2).await;
    jobs.create("e", &job("dbg", "runs:1", &json!({"replicas": 1}))).await.unwrap();
    let is_one = |status: &Value| status["running"] == 1 && status["match"] == 1;
    jobs.until("e", "one runs", is_one).await;
    let has = |pod: &Pod| names(pod) == ["dbg"];
    let pods = jobs.until_pods("two", |all| all.len() == 2).await;
    let first = pods.iter().find(|pod| has(pod)).unwrap().metadata.name.clone().unwrap();
    jobs.pods.delete(&first, &DeleteParams::default()).await.unwrap();
    jobs.until_pods("the other takes its place", |all| all.len() == 1 && all.iter().all(has)).await;
    let pause =
        |paused: bool| Patch::Merge(json!({"spec": {"paused": paused, "replicas": null, "parallelism": 5}}));
    jobs.api().patch("e", &PatchParams::default(), &pause(true)).await.unwrap();
    jobs.until("e", "the pause", |status| status["phase"] == "Paused").await;
    let pod = json!({"metadata": {"name": "new", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
    jobs.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    jobs.until("e", "it counts", |status| status["match"] == 2 && status["phase"] == "Paused").await;
    assert!(names(&jobs.pods.get("new").await.unwrap()).is_empty());
    jobs.api().patch("e", &PatchParams::default(), &pause(false)).await.unwrap();
    jobs.until("e", "both run", |status| status["running"] == 2).await;
    jobs.until_pods("each once", |all| all.len() == 2 && all.iter().all(has)).await;
}

/// Scenario 20: refusals name the field.
#[tokio::test]
async fn ephemeraljob_scenario_20_bad_jobs_are_refused() {
    let jobs = Jobs::admitted("ej-bad").await;
    let good = job("dbg", "ends:0", &json!({}));
    let mut no_policy = good.clone();
    no_policy["template"]["ephemeralContainers"][0]["imagePullPolicy"] = Value::Null;
    for (spec, field) in [
        (job("dbg", "ends:0", &json!({"selector": {}})), "selector"),
        (job("dbg", "ends:0", &json!({"template": {"ephemeralContainers": []}})), "ephemeralContainers"),
        (job("dbg", "ends:0", &json!({"replicas": -1})), "replicas"),
        (job("dbg", "ends:0", &json!({"parallelism": -1})), "parallelism"),
        (no_policy, "imagePullPolicy"),
    ] {
        let error = jobs.create("e", &spec).await.unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    jobs.create("e", &good).await.unwrap();
}
