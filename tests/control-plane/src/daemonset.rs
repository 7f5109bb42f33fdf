//! Acceptance scenarios of DaemonSet (section 8 of its specification) on the real control plane.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kruise_testbed::simnodes::SimNodes;
use kruise_testbed::{Scratch, scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);
const HASH: &str = "controller-revision-hash";
const STATE: &str = "lifecycle.apps.kruise.io/state";

struct Agents {
    client: Client,
    namespace: String,
    pods: Api<Pod>,
    nodes: &'static SimNodes,
}

impl Agents {
    async fn new(name: &str) -> Self {
        Self::of(scratch(name).await.unwrap())
    }

    /// Where the manager is asked about every object.
    async fn admitted(name: &str) -> Self {
        Self::of(scratch_with_all_gates(name).await.unwrap())
    }

    fn of(test: Scratch) -> Self {
        let pods = Api::namespaced(test.client.clone(), &test.namespace);
        Self { client: test.client, namespace: test.namespace, pods, nodes: &test.shared.nodes }
    }

    fn api(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, "DaemonSet");
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::from_gvk(&kind))
    }

    /// On the first nodes of the cluster, so many.
    fn spec(&self, nodes: usize, rolling: &Value) -> Value {
        let names = &self.nodes.names()[..nodes];
        let field = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": names});
        let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [field]}]});
        json!({
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
                    "containers": [{"name": "main", "image": "nginx:1"}],
                },
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        })
    }

    async fn create(&self, version: &str, spec: &Value) -> Result<DynamicObject, kube::Error> {
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec,
        });
        self.api(version).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn change(&self, patch: Value) {
        let patch = Patch::Merge(patch);
        self.api("v1beta1").patch("agent", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn image(&self, image: &str) {
        let containers = json!([{"name": "main", "image": image}]);
        self.change(json!({"spec": {"template": {"spec": {"containers": containers}}}})).await;
    }

    async fn until(&self, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let has = |all: &[DynamicObject]| {
            all.iter().any(|one| {
                let status = &one.data["status"];
                let is_seen = status["observedGeneration"].as_i64() == one.metadata.generation;
                is_seen && ok(status)
            })
        };
        let api = self.api("v1beta1");
        let all = wait::until_all_within(&api, &ListParams::default(), what, PATIENCE, has).await.unwrap();
        all[0].data["status"].clone()
    }

    /// So many nodes, all of them at the newest template and available.
    async fn settled(&self, nodes: usize) -> Vec<Pod> {
        self.until("every node has its pod", |status| {
            let is = |field: &str| status[field] == json!(nodes);
            ["desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable", "currentNumberScheduled"]
                .iter()
                .all(|field| is(field))
        })
        .await;
        self.until_pods("no pod too many", |pods| pods.len() == nodes).await
    }

    async fn until_pods(&self, what: &str, ok: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        wait::until_all_within(&self.pods, &ListParams::default(), what, PATIENCE, ok).await.unwrap()
    }
}

fn on_nodes(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect()
}

fn uids(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().filter_map(ResourceExt::uid).collect()
}

fn image_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.containers[0].image.as_deref()).unwrap_or_default()
}

/// Scenarios 1, 3, 12 and 15, through v1alpha1: a pod on every node, back after its deletion and after its failure; NoExecute drives it off.
#[tokio::test]
async fn daemonset_scenarios_1_3_15_one_pod_on_every_node_whatever_happens_to_it() {
    let agents = Agents::admitted("ds-runs").await;
    agents.create("v1alpha1", &agents.spec(3, &json!({"rollingUpdateType": "Standard"}))).await.unwrap();
    let pods = agents.settled(3).await;
    assert_eq!(on_nodes(&pods).len(), 3);

    let deleted = pods[0].name_any();
    agents.pods.delete(&deleted, &DeleteParams::default()).await.unwrap();
    agents
        .until_pods("another pod", |all| all.len() == 3 && all.iter().all(|pod| pod.name_any() != deleted))
        .await;

    let failing = pods[1].name_any();
    let status = json!({"status": {"phase": "Failed", "reason": "Evicted"}});
    agents.pods.patch_status(&failing, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    agents
        .until_pods("a failed pod is replaced", |all| {
            all.len() == 3 && all.iter().all(|pod| pod.name_any() != failing)
        })
        .await;
    let after = agents.settled(3).await;
    assert_eq!(on_nodes(&after).len(), 3);
}

/// Scenario 2: labels of nodes decide, and a template that asks for other ones.
#[tokio::test]
async fn daemonset_scenario_2_pods_follow_the_labels_of_nodes() {
    let agents = Agents::new("ds-labels").await;
    let nodes: Api<Node> = Api::all(agents.client.clone());
    let label = format!("color-{}", agents.namespace);
    let name = agents.nodes.names()[0].clone();
    let paint = |value: Value| Patch::Merge(json!({"metadata": {"labels": {label.clone(): value}}}));
    let mut spec = agents.spec(1, &json!({}));
    spec["template"]["spec"]["affinity"] = Value::Null;
    spec["template"]["spec"]["nodeSelector"] = json!({label.clone(): "blue"});
    agents.create("v1beta1", &spec).await.unwrap();
    agents.until("no node", |status| status["desiredNumberScheduled"] == 0).await;

    nodes.patch(&name, &PatchParams::default(), &paint(json!("blue"))).await.unwrap();
    assert_eq!(on_nodes(&agents.settled(1).await), BTreeSet::from([name.clone()]));
    nodes.patch(&name, &PatchParams::default(), &paint(json!("green"))).await.unwrap();
    agents.until_pods("its pod goes", <[Pod]>::is_empty).await;
    agents.change(json!({"spec": {"template": {"spec": {"nodeSelector": {label.clone(): "green"}}}}})).await;
    agents.settled(1).await;
    nodes.patch(&name, &PatchParams::default(), &paint(Value::Null)).await.unwrap();
    agents.until_pods("its pod goes again", <[Pod]>::is_empty).await;
}

/// Scenarios 4, 5 and 10: an image changes in place, an environment does not; the partition holds nodes back.
#[tokio::test]
async fn daemonset_scenarios_4_5_10_images_change_in_place_and_partitions_hold() {
    let agents = Agents::new("ds-inplace").await;
    let rolling = json!({"rollingUpdateType": "InPlaceIfPossible", "maxUnavailable": 5, "partition": 1});
    agents.create("v1beta1", &agents.spec(3, &rolling)).await.unwrap();
    let before = agents.settled(3).await;
    let gates =
        |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.readiness_gates.clone()).unwrap_or_default();
    assert!(
        before.iter().all(|pod| gates(pod).iter().any(|gate| gate.condition_type == "InPlaceUpdateReady"))
    );

    agents.image("nginx:2").await;
    agents
        .until("two of three", |status| {
            status["updatedNumberScheduled"] == 2 && status["numberAvailable"] == 3
        })
        .await;
    agents.change(json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})).await;
    let after = agents.settled(3).await;
    assert_eq!(uids(&before), uids(&after), "the same pods");
    assert!(after.iter().all(|pod| image_of(pod) == "nginx:2" && !pod.labels().contains_key(STATE)));

    let containers = json!([{"name": "main", "image": "nginx:2", "env": [{"name": "A", "value": "b"}]}]);
    agents.change(json!({"spec": {"template": {"spec": {"containers": containers}}}})).await;
    let anew = agents.settled(3).await;
    assert!(uids(&anew).is_disjoint(&uids(&after)));
}

/// Scenario 6: exactly one pod waits for its hook, and only that one is replaced when it is let go.
#[tokio::test]
async fn daemonset_scenario_6_one_pod_waits_for_its_pre_delete_hook() {
    let agents = Agents::new("ds-hook").await;
    let mut spec = agents.spec(3, &json!({"rollingUpdateType": "InPlaceIfPossible", "maxUnavailable": 1}));
    spec["lifecycle"] = json!({"preDelete": {"labelsHandler": {"hold": "true"}}});
    spec["template"]["metadata"]["labels"]["hold"] = json!("true");
    agents.create("v1beta1", &spec).await.unwrap();
    let before = agents.settled(3).await;
    let containers = json!([{"name": "main", "image": "nginx:1", "env": [{"name": "A", "value": "b"}]}]);
    agents.change(json!({"spec": {"template": {"spec": {"containers": containers}}}})).await;
    let is_held = |pod: &&Pod| pod.labels().get(STATE).is_some_and(|state| state == "PreparingDelete");
    let pods = agents.until_pods("one is held", |pods| pods.iter().filter(is_held).count() == 1).await;
    assert_eq!(uids(&pods), uids(&before), "none is deleted");

    let held = pods.iter().find(is_held).unwrap().name_any();
    let release = Patch::Merge(json!({"metadata": {"labels": {"hold": null}}}));
    agents.pods.patch(&held, &PatchParams::default(), &release).await.unwrap();
    let hash =
        agents.until("the next one", |status| status["updatedNumberScheduled"] == 1).await["updateRevision"]
            .clone();
    let next = agents
        .until_pods("the next is held", |all| all.len() == 3 && all.iter().filter(is_held).count() == 1)
        .await;
    assert!(next.iter().all(|pod| pod.name_any() != held));
    assert_eq!(next.iter().filter(|pod| json!(pod.labels()[HASH]) == hash).count(), 1);
}

/// Scenario 7: with maxSurge the new pods run beside the old ones until they have been ready for long enough.
#[tokio::test]
async fn daemonset_scenario_7_with_surge_the_new_pod_comes_first() {
    let agents = Agents::new("ds-surge").await;
    let mut spec = agents.spec(2, &json!({"maxSurge": "100%", "maxUnavailable": 0}));
    spec["minReadySeconds"] = json!(3);
    agents.create("v1beta1", &spec).await.unwrap();
    let before = agents.settled(2).await;
    agents.image("nginx:2").await;
    let both = agents.until_pods("two pods on each node", |pods| pods.len() == 4).await;
    assert_eq!(on_nodes(&both).len(), 2);
    let after = agents.settled(2).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
}

/// Scenario 24: refusals name the field, in both versions.
#[tokio::test]
async fn daemonset_scenario_24_bad_objects_are_refused() {
    let agents = Agents::admitted("ds-bad").await;
    let good = agents.spec(1, &json!({}));
    let with = |path: &str, value: Value| {
        let mut spec = good.clone();
        *spec.pointer_mut(path).unwrap() = value;
        spec
    };
    for version in ["v1alpha1", "v1beta1"] {
        for (spec, field) in [
            (with("/updateStrategy/rollingUpdate", json!({"maxUnavailable": 1, "maxSurge": 1})), "maxSurge"),
            (with("/updateStrategy/rollingUpdate", json!({"partition": "200%"})), "partition"),
            (with("/template/metadata/labels", json!({"app": "other"})), "spec.template.metadata.labels"),
            (
                with(
                    "/template/spec/containers",
                    json!([{"name": "main", "image": "a", "ports": [{"containerPort": 0}]}]),
                ),
                "containerPort",
            ),
        ] {
            let error = agents.create(version, &spec).await.unwrap_err().to_string();
            assert!(error.contains(field), "{version}: {error}");
        }
    }
    let stored = agents.create("v1beta1", &good).await.unwrap();
    assert_eq!(stored.data["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], 1);
}
