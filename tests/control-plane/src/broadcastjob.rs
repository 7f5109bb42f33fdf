//! Acceptance scenarios of BroadcastJob (section 8 of its specification) on the real control plane.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::simnodes::SimNodes;
use kruise_testbed::{Scratch, scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Jobs {
    client: Client,
    namespace: String,
    pods: Api<Pod>,
    nodes: &'static SimNodes,
}

impl Jobs {
    /// In a namespace of its own. Pods of image `ends:0` end well, those of `ends:1` fail, all others run on.
    async fn new(name: &str) -> Self {
        Self::of(scratch(name).await.unwrap())
    }

    /// Where the manager is asked about every object.
    async fn admitted(name: &str) -> Self {
        Self::of(scratch_with_all_gates(name).await.unwrap())
    }

    fn of(test: Scratch) -> Self {
        let pods = Api::namespaced(test.client.clone(), &test.namespace);
        let jobs = Self { client: test.client, namespace: test.namespace, pods, nodes: &test.shared.nodes };
        for (image, exit_code) in [("ends:0", 0), ("ends:1", 1)] {
            let which = Which {
                namespace: Some(jobs.namespace.clone()),
                image: Some(image.to_owned()),
                ..Which::default()
            };
            jobs.nodes.rule(which, Behaviour::Exits { exit_code, after: Duration::from_secs(1) });
        }
        jobs
    }

    fn api(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, "BroadcastJob");
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::from_gvk(&kind))
    }

    /// On the first nodes of the cluster, so many.
    fn job(&self, image: &str, nodes: usize) -> Value {
        let names = &self.nodes.names()[..nodes];
        let field = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": names});
        let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [field]}]});
        json!({"template": {"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
            "containers": [{"name": "main", "image": image}],
        }}})
    }

    async fn create(&self, version: &str, spec: &Value) -> Result<DynamicObject, kube::Error> {
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "BroadcastJob", "metadata": {"name": "b"}, "spec": spec,
        });
        self.api(version).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn until(&self, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let has = |jobs: &[DynamicObject]| jobs.iter().any(|job| ok(&job.data["status"]));
        let api = self.api("v1beta1");
        let jobs = wait::until_all_within(&api, &ListParams::default(), what, PATIENCE, has).await.unwrap();
        jobs[0].data["status"].clone()
    }

    async fn until_pods(&self, what: &str, ok: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        wait::until_all_within(&self.pods, &ListParams::default(), what, PATIENCE, ok).await.unwrap()
    }

    async fn change(&self, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api("v1beta1").patch("b", &PatchParams::default(), &patch).await.unwrap();
    }
}

fn with(mut spec: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

/// Scenarios 1, 2, 3 and 14: every node once, never more than parallelism, created through v1alpha1; then the job goes by itself.
#[tokio::test]
async fn broadcastjob_scenarios_1_2_3_runs_once_on_every_node_and_goes_when_its_time_is_over() {
    let jobs = Jobs::new("bj-runs").await;
    let spec = with(
        jobs.job("ends:0", 4),
        &json!({"parallelism": 2, "completionPolicy": {"type": "Always", "ttlSecondsAfterFinished": 5}}),
    );
    jobs.create("v1alpha1", &spec).await.unwrap();

    let pods = jobs.until_pods("four pods", |pods| pods.len() == 4).await;
    let mut nodes: Vec<String> = pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
    nodes.sort();
    nodes.dedup();
    let status = jobs.until("its end", |status| status["phase"] == "completed").await;
    assert_eq!(
        (&status["desired"], &status["succeeded"], &status["active"]),
        (&json!(4), &json!(4), &json!(0))
    );
    assert_eq!(status["conditions"][0]["message"], "Job completed, 4 pods succeeded, 0 pods failed");
    let gone = |all: &[DynamicObject]| all.is_empty();
    wait::until_all_within(&jobs.api("v1beta1"), &ListParams::default(), "the job is gone", PATIENCE, gone)
        .await
        .unwrap();
    jobs.until_pods("its pods follow", <[Pod]>::is_empty).await;
}

/// Scenarios 4 and 6: a deadline with nothing else happening; FailFast.
#[tokio::test]
async fn broadcastjob_scenarios_4_6_deadline_and_failed_pods_end_the_job() {
    let jobs = Jobs::new("bj-deadline").await;
    let spec = with(jobs.job("runs:1", 2), &json!({"completionPolicy": {"activeDeadlineSeconds": 6}}));
    jobs.create("v1beta1", &spec).await.unwrap();
    jobs.until("two pods", |status| status["active"] == 2).await;
    let status = jobs.until("the deadline", |status| status["phase"] == "failed").await;
    assert!(status["conditions"][0]["message"].as_str().unwrap().contains("longer than specified deadline"));
    jobs.until_pods("no pod runs on", <[Pod]>::is_empty).await;
    jobs.api("v1beta1").delete("b", &DeleteParams::default()).await.unwrap();
    let gone = |all: &[DynamicObject]| all.is_empty();
    wait::until_all_within(&jobs.api("v1beta1"), &ListParams::default(), "it is gone", PATIENCE, gone)
        .await
        .unwrap();

    let failing = with(jobs.job("ends:1", 3), &json!({"parallelism": 1}));
    jobs.create("v1beta1", &failing).await.unwrap();
    let failed = jobs.until("the failure", |one| one["phase"] == "failed").await;
    assert_eq!((&failed["failed"], &failed["conditions"][0]["type"]), (&json!(1), &json!("Failed")));
    assert_eq!(
        jobs.pods.list(&ListParams::default()).await.unwrap().items.len(),
        1,
        "no further node was served"
    );
}

/// Scenario 7: one failed pod pauses the job, its deletion resumes it, other pods are not touched.
#[tokio::test]
async fn broadcastjob_scenario_7_pause_policy() {
    let jobs = Jobs::new("bj-pause").await;
    let spec = with(jobs.job("runs:1", 2), &json!({"failurePolicy": {"type": "Pause"}}));
    jobs.create("v1beta1", &spec).await.unwrap();
    let running =
        |pod: &Pod| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
    let pods =
        jobs.until_pods("two pods run", |pods| pods.iter().filter(|pod| running(pod)).count() == 2).await;
    let (failing, other) = (pods[0].name_any(), pods[1].uid().unwrap());
    let which =
        Which { namespace: Some(jobs.namespace.clone()), pod: Some(failing.clone()), ..Which::default() };
    jobs.nodes.rule(which, Behaviour::Crashes { exit_code: 1 });

    jobs.until("the pause", |status| status["phase"] == "paused" && status["failed"] == 1).await;
    let job = jobs.api("v1beta1").get("b").await.unwrap();
    assert_eq!(job.data["spec"]["paused"], true);
    jobs.pods.delete(&failing, &DeleteParams::default()).await.unwrap();
    jobs.until("it goes on", |status| status["phase"] == "running" && status["active"] == 2).await;
    let uids: Vec<String> = jobs
        .pods
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .iter()
        .filter_map(ResourceExt::uid)
        .collect();
    assert!(uids.contains(&other));
}

/// Scenarios 5 and 9: with Never a cordon takes nothing away and an uncordon runs nothing twice; a node that begins to match is served.
#[tokio::test]
async fn broadcastjob_scenarios_5_9_nodes_change_and_no_node_is_served_twice() {
    let jobs = Jobs::new("bj-nodes").await;
    let nodes: Api<Node> = Api::all(jobs.client.clone());
    let label = format!("bj-{}", jobs.namespace);
    let mark = |value: Value| Patch::Merge(json!({"metadata": {"labels": {label.clone(): value}}}));
    let names = jobs.nodes.names();
    nodes.patch(&names[0], &PatchParams::default(), &mark(json!("on"))).await.unwrap();
    let mut spec = with(jobs.job("ends:0", 1), &json!({"completionPolicy": {"type": "Never"}}));
    spec["template"]["spec"]["affinity"] = Value::Null;
    spec["template"]["spec"]["nodeSelector"] = json!({label.clone(): "on"});
    jobs.create("v1beta1", &spec).await.unwrap();
    jobs.until("one node", |status| status["succeeded"] == 1 && status["desired"] == 1).await;

    nodes.patch(&names[1], &PatchParams::default(), &mark(json!("on"))).await.unwrap();
    jobs.until("a node that matches later", |status| status["succeeded"] == 2 && status["desired"] == 2)
        .await;
    nodes.patch(&names[0], &PatchParams::default(), &mark(Value::Null)).await.unwrap();
    nodes.patch(&names[0], &PatchParams::default(), &mark(json!("on"))).await.unwrap();
    jobs.change(json!({"parallelism": 7})).await;
    jobs.until("it is as before", |status| status["succeeded"] == 2 && status["desired"] == 2).await;
    assert_eq!(
        jobs.pods.list(&ListParams::default()).await.unwrap().items.len(),
        2,
        "no node was served twice"
    );
    for name in &names[..2] {
        nodes.patch(name, &PatchParams::default(), &mark(Value::Null)).await.unwrap();
    }
}

/// Scenario 17: refusals name the field, in both versions.
#[tokio::test]
async fn broadcastjob_scenario_17_bad_jobs_are_refused() {
    let jobs = Jobs::admitted("bj-bad").await;
    let good = jobs.job("ends:0", 1);
    let mut always = good.clone();
    always["template"]["spec"]["restartPolicy"] = json!("Always");
    for version in ["v1alpha1", "v1beta1"] {
        for (spec, field) in [
            (
                with(
                    good.clone(),
                    &json!({"completionPolicy": {"type": "Never", "ttlSecondsAfterFinished": 3}}),
                ),
                "ttlSecondsAfterFinished",
            ),
            (always.clone(), "spec.template.spec.restartPolicy"),
            (with(good.clone(), &json!({"parallelism": "many"})), "parallelism"),
        ] {
            let error = jobs.create(version, &spec).await.unwrap_err().to_string();
            assert!(error.contains(field), "{version}: {error}");
        }
    }
}
