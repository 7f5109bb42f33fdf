//! Acceptance scenarios of SidecarTerminator (section 8 of its specification) on the real control plane; no agent runs here, so the test
//! says what one would.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::{Scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(3);
const BY_AGENT: &str = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT";
const IGNORED: &str = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE";

/// In a namespace of its own. Containers of image `ends:0` end well, `ends:1` badly, others run.
async fn here(name: &str) -> Scratch {
    let test = scratch_with_all_gates(name).await.unwrap();
    for exit_code in [0, 1] {
        let which = Which {
            namespace: Some(test.namespace.clone()),
            image: Some(format!("ends:{exit_code}")),
            ..Which::default()
        };
        test.shared.nodes.rule(which, Behaviour::Exits { exit_code, after: Duration::from_secs(1) });
    }
    test
}

fn template(restart_policy: &str, main: &str, variables: &[&str]) -> Value {
    let env: Vec<Value> = variables.iter().map(|name| json!({"name": name, "value": "true"})).collect();
    json!({"spec": {
        "restartPolicy": restart_policy, "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": main}, {"name": "side", "image": "side:1", "env": env}],
    }})
}

fn api(test: &Scratch, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", kind));
    Api::namespaced_with(test.client.clone(), &test.namespace, &resource)
}

async fn run(test: &Scratch, template: Value) {
    let object = json!({"metadata": {"name": "job"}, "spec": {"backoffLimit": 0, "template": template}});
    let jobs: Api<Job> = Api::namespaced(test.client.clone(), &test.namespace);
    jobs.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

async fn ended(test: &Scratch) -> Job {
    let jobs: Api<Job> = Api::namespaced(test.client.clone(), &test.namespace);
    let is_over = |job: &Job| {
        let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions
            .into_iter()
            .flatten()
            .any(|one| ["Complete", "Failed"].contains(&one.type_.as_str()) && one.status == "True")
    };
    wait::until(&jobs, "job", "the job to end", is_over).await.unwrap()
}

/// Scenario 2: the sidecar never ends by itself and its exit code does not count.
#[tokio::test]
async fn st_16_job_completes_although_its_sidecar_runs_for_ever() {
    for (main, succeeded, failed) in [("ends:0", Some(1), None), ("ends:1", None, Some(1))] {
        let test = here("st-ignored").await;
        run(&test, template("Never", main, &[BY_AGENT, IGNORED])).await;
        let status = ended(&test).await.status.unwrap();
        assert_eq!((status.succeeded, status.failed), (succeeded, failed), "{main}");
    }
}

/// Scenarios 1, 4 and 16: one request for the agent, which names the sidecar only; when it has stopped it, the job completes.
#[tokio::test]
async fn st_14_agent_is_asked_once_and_then_the_job_completes() {
    let test = here("st-agent").await;
    run(&test, template("OnFailure", "ends:0", &[BY_AGENT])).await;
    let requests = api(&test, "ContainerRecreateRequest");
    let one = |all: &[DynamicObject]| all.len() == 1;
    let asked =
        wait::until_all_within(&requests, &ListParams::default(), "a request", PATIENCE, one).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(test.client.clone(), &test.namespace);
    let pod = pods.list(&ListParams::default()).await.unwrap().items.remove(0);
    assert_eq!(asked[0].name_any(), format!("sidecar-termination-{}", pod.uid().unwrap()));
    assert_eq!(asked[0].data["spec"]["containers"].as_array().unwrap().len(), 1);
    assert_eq!(asked[0].data["spec"]["containers"][0]["name"], "side");
    assert_eq!(
        asked[0].labels()["crr.apps.kruise.io/pod-uid"],
        pod.uid().unwrap(),
        "ST-15: admission let it in"
    );

    // What the kubelet reports of a container that the agent has stopped, and the agent of its request.
    let mut statuses = serde_json::to_value(pod.status.unwrap().container_statuses.unwrap()).unwrap();
    for status in statuses.as_array_mut().unwrap() {
        status["state"] = json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z", "startedAt": "2026-01-01T00:00:00Z"}});
    }
    let stopped = json!({"status": {"phase": "Succeeded", "containerStatuses": statuses}});
    pods.patch_status(&pod.metadata.name.unwrap(), &PatchParams::default(), &Patch::Merge(stopped))
        .await
        .unwrap();
    assert_eq!(ended(&test).await.status.unwrap().succeeded, Some(1));
    assert_eq!(requests.list(&ListParams::default()).await.unwrap().items.len(), 1, "and no second one");
}

/// Scenarios 5 and 18: pods of a BroadcastJob count as those of a Job; a pod that is restarted always is left alone.
#[tokio::test]
async fn st_4_owner_does_not_matter_and_pods_that_restart_are_left_alone() {
    let test = here("st-broadcast").await;
    let mut always = template("Always", "ends:0", &[BY_AGENT, IGNORED]);
    always["metadata"] = json!({"name": "always"});
    let pods: Api<Pod> = Api::namespaced(test.client.clone(), &test.namespace);
    pods.create(&PostParams::default(), &serde_json::from_value(always).unwrap()).await.unwrap();
    let mut pod = template("Never", "ends:0", &[BY_AGENT, IGNORED]);
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": test.shared.nodes.names()[0]});
    let object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "BroadcastJob", "metadata": {"name": "b"},
        "spec": {"completionPolicy": {"type": "Always"}, "template": pod},
    });
    let jobs = api(&test, "BroadcastJob");
    jobs.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let completed = |job: &DynamicObject| job.data["status"]["phase"] == "completed";
    wait::until(&jobs, "b", "the broadcast to complete", completed).await.unwrap();
    let left = pods.get("always").await.unwrap();
    assert!(left.status.unwrap().phase.is_some_and(|phase| phase == "Running"));
}
