//! Manager down is not cluster down: pods that nothing of ours concerns never wait for us, also where the original's
//! configuration, which asks about every pod, was found. In a cluster of its own.

use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Pod;
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::Api;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);
/// Four operations each.
const PODS: usize = 25;

struct World {
    cluster: Cluster,
    args: Vec<String>,
}

/// No simulated nodes: a pod that is not scheduled can be created, changed, evicted and deleted, too.
async fn world() -> World {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    let kubeconfig = manager::authorize(&cluster, "KruisePodReadinessGate=true").await.unwrap();
    let port = manager::free_port().unwrap();
    let mut args = manager::args_with_webhooks(&kubeconfig, port);
    args.extend([
        // A killed leader's successor should not be waited for long; a busy machine must not depose a leader that lives.
        "--leader-election-lease-duration=6s".to_owned(),
        "--leader-election-renew-deadline=5s".to_owned(),
        "--leader-election-retry-period=1s".to_owned(),
    ]);
    World { cluster, args }
}

impl World {
    fn start(&self, extra: &[&str]) {
        let args = self.args.iter().cloned().chain(extra.iter().map(|&arg| arg.to_owned())).collect();
        self.cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.cluster.client(), namespace)
    }

    async fn create(&self, namespace: &str, name: &str) -> Result<Pod, kube::Error> {
        let pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
        self.pods(namespace).create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await
    }

    /// The API server learns of a changed configuration with a delay: until it acts as it should.
    async fn until_created(&self, what: &str, ok: impl Fn(&Result<Pod, kube::Error>) -> bool) {
        let start = Instant::now();
        loop {
            let created = self.create("default", "probe").await;
            if created.is_ok() {
                self.pods("default").delete("probe", &DeleteParams::default().grace_period(0)).await.unwrap();
            }
            if ok(&created) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{what}: {created:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// As the original's chart leaves it: every pod outside of two namespaces, fail closed, noted in the annotation.
async fn install_the_originals_configuration(world: &World) {
    let entry = |name: &str, path: &str, rule: Value| {
        let service = json!({"name": "kruise-webhook-service", "namespace": "kruise-system", "path": path});
        let not =
            json!([{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]);
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "clientConfig": {"service": service, "caBundle": ""},
            "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 30,
            "namespaceSelector": {"matchExpressions": not}, "rules": [rule],
        })
    };
    let rule = |resource: &str, operations: &[&str]| json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": operations});
    let mutating = json!([entry("mpod.kb.io", "/mutate-pod", rule("pods", &["CREATE"]))]);
    let validating = json!([
        entry("vpod.kb.io", "/validate-pod", rule("pods", &["UPDATE", "DELETE"])),
        entry("vpodeviction.kb.io", "/validate-pod", rule("pods/eviction", &["CREATE"])),
    ]);
    let client = world.cluster.client();
    let object = |name: &str, entries: Value| {
        let template = entries.to_string();
        json!({"metadata": {"name": name, "annotations": {"template": template}}, "webhooks": entries})
    };
    let one = serde_json::from_value(object("kruise-mutating-webhook-configuration", mutating)).unwrap();
    Api::<MutatingWebhookConfiguration>::all(client.clone())
        .create(&PostParams::default(), &one)
        .await
        .unwrap();
    let two = serde_json::from_value(object("kruise-validating-webhook-configuration", validating)).unwrap();
    Api::<ValidatingWebhookConfiguration>::all(client).create(&PostParams::default(), &two).await.unwrap();
}

#[tokio::test]
async fn with_all_managers_killed_unrelated_pods_are_created_changed_evicted_and_deleted() {
    let world = world().await;
    install_the_originals_configuration(&world).await;
    // install/F5, install/T11, install/T15: this is what the original does to a cluster without its manager.
    let is_blocked = |created: &Result<Pod, kube::Error>| matches!(created, Err(kube::Error::Api(status)) if status.message.contains("failed calling webhook \"mpod.kb.io\""));
    world.until_created("the original's configuration blocks", is_blocked).await;

    world.start(&[]);
    until_narrow(&world).await;
    world.cluster.stop(manager::PART).unwrap();
    world.until_created("the API server knows the narrow configuration", Result::is_ok).await;

    let pods = world.pods("default");
    for i in 0..PODS {
        let name = format!("web-{i}");
        world.create("default", &name).await.unwrap();
        let label = Patch::Merge(json!({"metadata": {"labels": {"changed": "true"}}}));
        pods.patch(&name, &PatchParams::default(), &label).await.unwrap();
        pods.evict(&name, &EvictParams::default()).await.unwrap();
        let other = format!("other-{i}");
        world.create("default", &other).await.unwrap();
        pods.delete(&other, &DeleteParams::default()).await.unwrap();
    }
    selected_pods_depend_on_us_and_others_do_not(&world).await;
}

/// Both configurations, on every entry about pods, and no entry was lost: no pod at all, or only those that say themselves
/// that their containers have an order.
async fn until_narrow(world: &World) {
    let is_narrow = |entries: &Value, count: usize| {
        let all = entries.as_array().cloned().unwrap_or_default();
        let is_nobody = |entry: &Value| {
            let condition = entry["matchConditions"][0]["expression"].as_str().unwrap_or_default();
            condition == "false" || condition.contains("KRUISE_CONTAINER_PRIORITY")
        };
        all.iter().filter(|entry| entry["name"].as_str().unwrap_or_default().contains("pod")).all(is_nobody)
            && all.len() == count
    };
    let client = world.cluster.client();
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    wait::until(&mutating, "kruise-mutating-webhook-configuration", "no pod selected", |one| {
        is_narrow(&serde_json::to_value(&one.webhooks).unwrap(), 1)
    })
    .await
    .unwrap();
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client);
    wait::until(&validating, "kruise-validating-webhook-configuration", "no pod selected", |one| {
        is_narrow(&serde_json::to_value(&one.webhooks).unwrap(), 2)
    })
    .await
    .unwrap();
}

/// PW-2, HA-2: with the gate for everybody, all pods are asked about except where that could keep us from starting.
async fn selected_pods_depend_on_us_and_others_do_not(world: &World) {
    world.start(&["--feature-gates=KruisePodReadinessGate=true"]);
    let has_gate = |created: &Result<Pod, kube::Error>| {
        let gates = created.as_ref().ok().and_then(|pod| pod.spec.as_ref()?.readiness_gates.as_ref());
        gates.is_some_and(|gates| gates.iter().any(|gate| gate.condition_type == "KruisePodReady"))
    };
    world.until_created("pods get the gate", has_gate).await;
    world.cluster.stop(manager::PART).unwrap();

    assert!(world.create("default", "selected").await.is_err());
    for namespace in ["kube-system", "kruise-system"] {
        let created = world.create(namespace, "unselected").await;
        assert!(created.is_ok() && !has_gate(&created), "{namespace}: {created:?}");
    }
}
