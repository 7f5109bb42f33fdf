//! The chart on real nodes, from installation to removal: two replicas, webhooks through the Service, a CloneSet updated in
//! place, the leader killed, an upgrade, an uninstallation that is refused and one that is not. What ran before runs on, which
//! is our answer to UN-6: with the definitions kept, no pod goes with the release.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use kruise_testbed::chart::Chart;
use kruise_testbed::images::shipped;
use kruise_testbed::wait;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::fixtures::{Bench, PATIENCE, bench, is_ready};

const SYSTEM: &str = "kruise-system";
const MANAGER: &str = "kruise-controller-manager";

struct World {
    bench: Bench,
    chart: Chart,
}

#[tokio::test]
async fn chart_is_installed_used_upgraded_and_removed_while_workloads_run() {
    let Some(bench) = bench("install").await else { return };
    let chart = Chart::find().await.unwrap();
    let registry = bench.cluster.registry().unwrap();
    for tag in ["first", "second"] {
        let image = tokio::task::spawn_blocking(move || shipped::manager(tag, shipped::FOR_TESTS))
            .await
            .unwrap()
            .unwrap();
        registry.add(&image).unwrap();
    }
    let world = World { bench, chart };
    world.bench.run("bystander", "nginx:1.22", world.bench.node(2)).await;
    world.bench.until_ready("bystander").await;

    world.installs().await;
    let two = world.rolls_out_in_place().await;
    world.survives_its_leader().await;
    let three = world.until_running(&two).await;
    world.upgrades().await;
    // Which of the three has gone is nobody's business here.
    let left = world.running().await;
    assert!(left.iter().all(|(name, uid)| three.get(name) == Some(uid)), "{three:?} and then {left:?}");
    world.is_not_removed_by_accident().await;
    world.is_removed().await;

    world.until_running(&left).await;
}

impl World {
    fn client(&self) -> Client {
        self.bench.client.clone()
    }

    fn clonesets(&self, version: &str) -> Api<DynamicObject> {
        clonesets(self.client(), self.bench.namespace, version)
    }

    async fn helm(&self, args: &[&str]) -> String {
        self.chart.helm(self.bench.cluster, args).await.unwrap()
    }

    /// Until these pods, and not others of their names, are ready: on a busy machine a probe may be late now and then.
    async fn until_running(&self, pods: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let start = Instant::now();
        loop {
            let now = self.running().await;
            if pods.iter().all(|(name, uid)| now.get(name) == Some(uid)) {
                return now;
            }
            assert!(start.elapsed() < PATIENCE, "the same pods, running: {pods:?} and then {now:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Uids of all ready pods that are not on their way out.
    async fn running(&self) -> BTreeMap<String, String> {
        let pods = self.bench.pods().list(&ListParams::default()).await.unwrap();
        let stays = |pod: &Pod| is_ready(pod) && pod.metadata.deletion_timestamp.is_none();
        let ready = pods.items.into_iter().filter(stays).map(|pod| pod.metadata);
        ready.map(|meta| (meta.name.unwrap(), meta.uid.unwrap())).collect()
    }

    /// IN-1, HA-1, install/T6, install/T17, install/T48: one command, two replicas, endpoints behind the Service.
    async fn installs(&self) {
        let dir = self.chart.dir.display().to_string();
        self.helm(&["install", "kruise", &dir, "--set=manager.image.tag=first", "--wait", "--timeout=3m"])
            .await;

        let deployments: Api<Deployment> = Api::namespaced(self.client(), SYSTEM);
        let status = deployments.get(MANAGER).await.unwrap().status.unwrap();
        assert_eq!((status.ready_replicas, status.updated_replicas), (Some(2), Some(2)));
        let services: Api<Service> = Api::namespaced(self.client(), SYSTEM);
        let address = services.get("kruise-webhook-service").await.unwrap().spec.unwrap().cluster_ip;
        assert!(address.is_some());
    }

    /// install/T10, install/T11, install/T14, install/T45: defaults, conversion and refusals come through the Service, whose CA the
    /// API server trusts. install/F10, install/T32: the update keeps the pods.
    async fn rolls_out_in_place(&self) -> BTreeMap<String, String> {
        let bad = json!({"containerPort": 70_000});
        let mut refused = web("refused", 1);
        refused["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([bad]);
        let error = self.create(&refused, &PostParams::default()).await.unwrap_err().to_string();
        assert!(error.contains("vcloneset.kb.io") && error.contains("denied the request"), "{error}");
        self.create(&web("web", 2), &PostParams::default()).await.unwrap();
        self.until_updated(2).await;
        let before = self.running().await;

        let change = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:1.15.1"}]);
        let patch = Patch::Json::<()>(serde_json::from_value(change).unwrap());
        self.clonesets("v1alpha1").patch("web", &PatchParams::default(), &patch).await.unwrap();
        self.until_updated(2).await;

        assert_eq!(self.running().await, before, "the same pods");
        let pods = self.bench.pods().list(&ListParams::default().labels("app=web")).await.unwrap();
        for pod in pods {
            let status = &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
            assert!(status.image.ends_with("nginx:1.15.1") && status.restart_count == 1, "{status:?}");
        }
        before
    }

    async fn create(&self, object: &Value, params: &PostParams) -> Result<DynamicObject, kube::Error> {
        self.clonesets("v1alpha1").create(params, &serde_json::from_value(object.clone()).unwrap()).await
    }

    async fn until_updated(&self, count: usize) {
        let one = ListParams::default().fields("metadata.name=web");
        let is_so = |object: &DynamicObject| {
            let status = &object.data["status"];
            let same = ["replicas", "updatedReadyReplicas", "readyReplicas"]
                .iter()
                .all(|field| status[*field] == count);
            status["observedGeneration"].as_i64() == object.metadata.generation && same
        };
        let what = format!("{count} updated and ready pods");
        let found = wait::until_all_within(&self.clonesets("v1beta1"), &one, &what, PATIENCE, |all| {
            all.iter().any(is_so)
        })
        .await;
        found.unwrap();
    }

    async fn leader(&self) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(self.client(), SYSTEM);
        leases.get("kruise-manager").await.unwrap().spec.unwrap().holder_identity
    }

    /// Platform acceptance 8, LE-1: the other one leads, and the CloneSet is worked on.
    async fn survives_its_leader(&self) {
        let first = self.leader().await.unwrap();
        let (pod, _) = first.rsplit_once('_').unwrap();
        let pods: Api<Pod> = Api::namespaced(self.client(), SYSTEM);
        pods.delete(pod, &DeleteParams::default().grace_period(0)).await.unwrap();

        self.scale(3).await;
        self.until_updated(3).await;
        assert_ne!(self.leader().await, Some(first));
        let deployments: Api<Deployment> = Api::namespaced(self.client(), SYSTEM);
        let is_whole =
            |one: &Deployment| one.status.as_ref().is_some_and(|status| status.available_replicas == Some(2));
        wait::until(&deployments, MANAGER, "two replicas again", is_whole).await.unwrap();
    }

    async fn scale(&self, replicas: u32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.clonesets("v1beta1").patch("web", &PatchParams::default(), &patch).await.unwrap();
    }

    /// IN-2, IN-3, PL-B4, PL-B6: admission is asked all the time while both replicas are replaced, and always answers.
    async fn upgrades(&self) {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let asking = tokio::spawn(ask_until(
            self.client(),
            self.bench.namespace,
            Arc::clone(&stop),
            Arc::clone(&asked),
        ));
        let dir = self.chart.dir.display().to_string();
        self.helm(&["upgrade", "kruise", &dir, "--set=manager.image.tag=second", "--wait", "--timeout=3m"])
            .await;
        stop.store(true, Ordering::SeqCst);

        let failures = asking.await.unwrap();
        assert!(failures.is_empty(), "of {} questions: {failures:#?}", asked.load(Ordering::SeqCst));
        let pods: Api<Pod> = Api::namespaced(self.client(), SYSTEM);
        let second = |all: &[Pod]| {
            all.len() == 2 && all.iter().all(|pod| image(pod).ends_with(":second") && is_ready(pod))
        };
        let ours = ListParams::default().labels("control-plane=controller-manager");
        wait::until_all_within(&pods, &ours, "two pods of the second image", PATIENCE, second).await.unwrap();
        self.scale(2).await;
        self.until_updated(2).await;
    }

    /// UN-1, UN-3, UN-4, UN-7, install/F1: refused while a CloneSet exists, with the original's words; nothing is deleted.
    async fn is_not_removed_by_accident(&self) {
        let output =
            self.chart.try_helm(self.bench.cluster, &["uninstall", "kruise", "--timeout=2m"]).await.unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && error.contains("job kruise-finalizer failed: BackoffLimitExceeded"),
            "{error}"
        );
        let pods: Api<Pod> = Api::namespaced(self.client(), SYSTEM);
        let hook = pods.list(&ListParams::default().labels("kruise=helm-finalizer")).await.unwrap();
        let name = hook.items[0].metadata.name.clone().unwrap();
        let log = pods.logs(&name, &kube::api::LogParams::default()).await.unwrap();
        assert!(log.contains("there still exists some clonesets in the cluster: install/web"), "{log}");
        let deployments: Api<Deployment> = Api::namespaced(self.client(), SYSTEM);
        assert_eq!(deployments.get(MANAGER).await.unwrap().status.unwrap().ready_replicas, Some(2));
    }

    /// UN-7, install/F3: without the hook everything goes but the definitions and what users made; nothing is blocked then.
    async fn is_removed(&self) {
        self.helm(&["uninstall", "kruise", "--no-hooks", "--wait", "--timeout=3m"]).await;

        let namespaces: Api<Namespace> = Api::all(self.client());
        let gone = ListParams::default().fields("metadata.name=kruise-system");
        wait::until_all_within(
            &namespaces,
            &gone,
            "the namespace is gone",
            PATIENCE,
            <[Namespace]>::is_empty,
        )
        .await
        .unwrap();
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client());
        let ours = ListParams::default().fields("metadata.name=kruise-validating-webhook-configuration");
        let none = <[ValidatingWebhookConfiguration]>::is_empty;
        wait::until_all_within(&configurations, &ours, "no configuration is left", PATIENCE, none)
            .await
            .unwrap();
        assert_eq!(self.clonesets("v1beta1").get("web").await.unwrap().data["spec"]["replicas"], 2);
        // The API server forgets a configuration with a delay.
        let start = Instant::now();
        while let Err(error) = self.clonesets("v1beta1").patch("web", &PatchParams::default(), &note()).await
        {
            assert!(start.elapsed() < PATIENCE, "{error}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        self.bench.run("newcomer", "nginx:1.22", self.bench.node(1)).await;
        self.bench.until_ready("newcomer").await;
    }
}

fn note() -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {"note": "nobody is asked"}}}))
}

fn image(pod: &Pod) -> &str {
    pod.spec.as_ref().unwrap().containers[0].image.as_deref().unwrap_or_default()
}

fn clonesets(client: Client, namespace: &str, version: &str) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", version, "CloneSet"));
    Api::namespaced_with(client, namespace, &kind)
}

/// v1alpha1 on purpose: it has to be converted to be stored.
fn web(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": "InPlaceIfPossible", "maxUnavailable": 1},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{
                        "name": "main", "image": "nginx:1.14.2",
                        "readinessProbe": {"httpGet": {"path": "/ready", "port": 80}, "periodSeconds": 1},
                    }],
                },
            },
        },
    })
}

/// Asks admission and conversion, without storing anything; what went wrong.
async fn ask_until(
    client: Client,
    namespace: &str,
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
) -> Vec<String> {
    let api = clonesets(client, namespace, "v1alpha1");
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let mut failures = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let object = serde_json::from_value(web("asked", 0)).unwrap();
        if let Err(error) = api.create(&dry_run, &object).await {
            failures.push(error.to_string());
        }
        asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    failures
}
