//! Acceptance scenarios of PodProbeMarker (section 8 of its specification) on the real control plane. The nodes are simulated, so the tests
//! say in the status of NodePodProbes what node agents say; other tests use the same nodes.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kruise_testbed::{Scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Probes {
    test: Scratch,
    pods: Api<Pod>,
    markers: Api<DynamicObject>,
    lists: Api<DynamicObject>,
}

fn of_kind(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", kind))
}

impl Probes {
    async fn new(name: &str) -> Self {
        let test = scratch_with_all_gates(name).await.unwrap();
        let client = test.client.clone();
        Self {
            pods: Api::namespaced(client.clone(), &test.namespace),
            markers: Api::namespaced_with(client.clone(), &test.namespace, &of_kind("PodProbeMarker")),
            lists: Api::all_with(client, &of_kind("NodePodProbe")),
            test,
        }
    }

    async fn pod(&self, name: &str, more: Value) -> Pod {
        let mut spec = json!({
            "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "nginx:1"}],
        });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec});
        self.pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap()
    }

    async fn marker(&self, name: &str, probes: &[Value]) -> Result<DynamicObject, kube::Error> {
        let object = json!({
            "apiVersion": "apps.kruise.io/v1alpha1", "kind": "PodProbeMarker", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "probes": probes},
        });
        self.markers.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    /// Waits until the probes of this namespace are these, as `pod marker#probe`; entries name the pods that are there.
    async fn until_probed(&self, wanted: &[&str]) {
        let is_so = |all: &[DynamicObject]| probed(all, &self.test.namespace) == wanted;
        let what = format!("nodes probe {wanted:?}");
        wait::until_all_within(&self.lists, &ListParams::default(), &what, PATIENCE, is_so).await.unwrap();
    }

    async fn until_pod(&self, name: &str, what: &str, ok: impl Fn(&Pod) -> bool) -> Pod {
        let one = ListParams::default().fields(&format!("metadata.name={name}"));
        let has = |all: &[Pod]| all.iter().any(&ok);
        wait::until_all_within(&self.pods, &one, what, PATIENCE, has).await.unwrap().remove(0)
    }

    /// What the agent of the pod's node says.
    async fn says(&self, pod: &str, states: &[(&str, &str, &str)]) {
        let pod = self.pods.get(pod).await.unwrap();
        let (uid, node) = (pod.uid().unwrap(), pod.spec.unwrap().node_name.unwrap());
        let at = "2026-01-01T00:00:00Z";
        let state = |(name, state, message): &(&str, &str, &str)| json!({"name": name, "state": state, "message": message, "lastProbeTime": at, "lastTransitionTime": at});
        let states: Vec<Value> = states.iter().map(state).collect();
        let entry = json!({"name": pod.metadata.name, "namespace": self.test.namespace, "uid": uid, "probeStates": states});
        loop {
            let mut list = self.lists.get(&node).await.unwrap();
            let stored = list.data.pointer("/status/podProbeStatuses").and_then(Value::as_array);
            let mut all: Vec<Value> = stored.cloned().unwrap_or_default();
            all.retain(|one| one["uid"] != uid);
            all.push(entry.clone());
            list.data["status"] = json!({"podProbeStatuses": all});
            // Another test may play the agent of the same node.
            match self.lists.replace_status(&node, &PostParams::default(), &list).await {
                Ok(_) => return,
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn until_gone(&self, marker: &str) {
        let one = ListParams::default().fields(&format!("metadata.name={marker}"));
        let gone = |all: &[DynamicObject]| all.is_empty();
        wait::until_all_within(&self.markers, &one, "it is gone", PATIENCE, gone).await.unwrap();
    }
}

fn probed(lists: &[DynamicObject], namespace: &str) -> Vec<String> {
    let mut all = Vec::new();
    for list in lists {
        let pods = list.data.pointer("/spec/podProbes").and_then(Value::as_array).into_iter().flatten();
        for pod in pods.filter(|pod| pod["namespace"] == namespace) {
            for probe in pod["probes"].as_array().into_iter().flatten() {
                all.push(format!("{} {}", pod["name"].as_str().unwrap(), probe["name"].as_str().unwrap()));
            }
        }
    }
    all.sort();
    all
}

fn probe(name: &str) -> Value {
    json!({
        "name": name, "containerName": "main", "podConditionType": format!("example.com/{name}"),
        "probe": {"exec": {"command": ["true"]}},
    })
}

/// Status and message of a condition.
fn shown(pod: &Pod, kind: &str) -> Option<(String, String)> {
    let all = pod.status.as_ref()?.conditions.as_ref()?;
    let one = all.iter().find(|one| one.type_ == kind)?;
    Some((one.status.clone(), one.message.clone().unwrap_or_default()))
}

fn shows(pod: &Pod, kind: &str, status: &str, message: &str) -> bool {
    shown(pod, kind) == Some((status.to_owned(), message.to_owned()))
}

/// Scenarios 1, 2 and 5: results become conditions and marks; messages alone count; dead pods leave; deletion leaves nothing.
#[tokio::test]
async fn podprobemarker_scenarios_1_2_5_results_become_conditions_and_marks() {
    let here = Probes::new("ppm-marks").await;
    let a = here.pod("a", json!({})).await;
    here.pod("b", json!({})).await;
    let mut idle = probe("idle");
    idle["markerPolicy"] = json!([{"state": "Succeeded", "labels": {"idle": "yes"}}]);
    let mut role = probe("role");
    let cost = |cost: &str| json!({"controller.kubernetes.io/pod-deletion-cost": cost});
    role["markerPolicy"] = json!([{"state": "Succeeded", "annotations": cost("1")}, {"state": "Failed", "annotations": cost("2")}]);
    here.marker("first", &[idle]).await.unwrap();
    here.marker("second", &[role]).await.unwrap();
    here.until_probed(&["a first#idle", "a second#role", "b first#idle", "b second#role"]).await;

    here.says("a", &[("first#idle", "Succeeded", "data"), ("second#role", "Succeeded", "")]).await;
    let good = here
        .until_pod("a", "it is good", |pod| {
            shows(pod, "example.com/idle", "True", "data") && shows(pod, "example.com/role", "True", "")
        })
        .await;
    assert_eq!((good.labels()["idle"].as_str(), good.uid()), ("yes", a.uid()));
    assert_eq!(good.annotations()["controller.kubernetes.io/pod-deletion-cost"], "1");

    here.says("a", &[("first#idle", "Failed", "gate"), ("second#role", "Failed", "")]).await;
    let bad = here
        .until_pod("a", "it is bad", |pod| {
            shows(pod, "example.com/idle", "False", "gate") && shows(pod, "example.com/role", "False", "")
        })
        .await;
    assert!(!bad.labels().contains_key("idle"));
    assert_eq!(bad.annotations()["controller.kubernetes.io/pod-deletion-cost"], "2");
    assert_eq!(shown(&bad, "Initialized").unwrap().0, "True", "other conditions are not touched");

    here.pods.delete("b", &DeleteParams::default()).await.unwrap();
    here.until_probed(&["a first#idle", "a second#role"]).await;
    let made = here.markers.get("first").await.unwrap();
    assert_eq!(made.metadata.finalizers.unwrap(), ["kruise.io/node-pod-probe-cleanup"]);
    for name in ["first", "second"] {
        here.markers.delete(name, &DeleteParams::default()).await.unwrap();
    }
    here.until_probed(&[]).await;
    here.until_gone("first").await;
    here.until_gone("second").await;
    let left = here.pods.get("a").await.unwrap();
    assert!(shown(&left, "example.com/idle").is_some(), "21: what was written stays");
}

/// Scenarios 6, 7, 12 and 20: namesakes, removed probes, pods that leave and return, named ports.
#[tokio::test]
async fn podprobemarker_scenarios_6_7_12_what_is_not_wanted_leaves() {
    let here = Probes::new("ppm-leaves").await;
    let ports =
        json!([{"name": "main", "image": "nginx:1", "ports": [{"name": "http", "containerPort": 8080}]}]);
    here.pod("x", json!({"containers": ports})).await;
    let mut port = probe("port");
    port["probe"] = json!({"tcpSocket": {"port": "http"}});
    here.marker("a", &[probe("p"), port]).await.unwrap();
    let mut other = probe("p");
    other["podConditionType"] = json!("example.com/other");
    here.marker("aa", &[other]).await.unwrap();
    here.until_probed(&["x a#p", "x a#port", "x aa#p"]).await;
    let node = here.pods.get("x").await.unwrap().spec.unwrap().node_name.unwrap();
    let list = here.lists.get(&node).await.unwrap().data.to_string();
    assert!(list.contains(r#""port":8080"#), "{list}");

    let fewer = Patch::Merge(json!({"spec": {"probes": [probe("p")]}}));
    here.markers.patch("a", &PatchParams::default(), &fewer).await.unwrap();
    here.until_probed(&["x a#p", "x aa#p"]).await;
    here.markers.delete("a", &DeleteParams::default()).await.unwrap();
    here.until_gone("a").await;
    here.until_probed(&["x aa#p"]).await;

    let label = |app: &str| Patch::Merge(json!({"metadata": {"labels": {"app": app}}}));
    here.pods.patch("x", &PatchParams::default(), &label("db")).await.unwrap();
    here.until_probed(&[]).await;
    let counted =
        |all: &[DynamicObject]| all.iter().all(|one| one.data["status"].get("matchedPods").is_none());
    wait::until_all_within(&here.markers, &ListParams::default(), "no pod counts", PATIENCE, counted)
        .await
        .unwrap();
    here.pods.patch("x", &PatchParams::default(), &label("web")).await.unwrap();
    here.until_probed(&["x aa#p"]).await;
}

async fn node(here: &Probes, name: &str, labels: Value) {
    let nodes: Api<Node> = Api::all(here.test.client.clone());
    // No pod of another test is to come here.
    let taints = json!([{"key": "example.com/mine", "effect": "NoExecute"}]);
    let object = json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints, "unschedulable": true}});
    nodes.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let now = jiff::Timestamp::now().to_string();
    let ready =
        json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}]);
    let patch = Patch::Merge(json!({"status": {"conditions": ready}}));
    nodes.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Scenarios 8, 20 and 21: lists come and go with real nodes; pods of virtual ones are told by annotations and marked by conditions.
#[tokio::test]
async fn podprobemarker_scenarios_8_20_21_nodes_and_serverless_pods() {
    let here = Probes::new("ppm-nodes").await;
    let names = ["real", "virtual"].map(|name| format!("{name}-{}", here.test.namespace));
    let nodes: Api<Node> = Api::all(here.test.client.clone());
    let mut idle = probe("idle");
    idle["markerPolicy"] = json!([{"state": "Succeeded", "labels": {"idle": "yes"}}]);
    here.marker("m", &[idle]).await.unwrap();
    node(&here, &names[0], json!({})).await;
    node(&here, &names[1], json!({"type": "virtual-kubelet"})).await;

    let stays = json!([{"operator": "Exists"}]);
    let pod = here.pod("a", json!({"nodeName": names[1], "tolerations": stays})).await;
    assert_eq!(
        pod.annotations()["kruise.io/podprobe"],
        r#"[{"name":"idle","containerName":"main","probe":{"exec":{"command":["true"]}},"podConditionType":"example.com/idle"}]"#
    );
    assert_eq!(pod.annotations()["kruise.io/podprobemarker-list"], "m");
    // The simulated kubelet looks after this node, too.
    here.until_pod("a", "it runs", |one| shown(one, "Ready").is_some_and(|(status, _)| status == "True"))
        .await;
    let now = jiff::Timestamp::now().to_string();
    let found = json!({"type": "example.com/idle", "status": "True", "lastTransitionTime": now});
    let says = Patch::Strategic(json!({"status": {"conditions": [found]}}));
    here.pods.patch_status("a", &PatchParams::default(), &says).await.unwrap();
    here.until_pod("a", "it is marked", |one| one.labels().get("idle").is_some_and(|text| text == "yes"))
        .await;

    let of = |name: &str| ListParams::default().fields(&format!("metadata.name={name}"));
    let exists = |all: &[DynamicObject]| all.len() == 1;
    wait::until_all_within(&here.lists, &of(&names[0]), "it has a list", PATIENCE, exists).await.unwrap();
    assert!(here.lists.get_opt(&names[1]).await.unwrap().is_none(), "a virtual node has no agent");
    for name in &names {
        nodes.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let gone = |all: &[DynamicObject]| all.is_empty();
    wait::until_all_within(&here.lists, &of(&names[0]), "its list is gone", PATIENCE, gone).await.unwrap();
}

/// Scenario 16 and section 6: refusals name what is wrong.
#[tokio::test]
async fn podprobemarker_scenario_16_refusals_name_the_field() {
    let here = Probes::new("ppm-refused").await;
    let with = |field: &str, value: Value| {
        let mut one = probe("idle");
        one[field] = value;
        one
    };
    for (bad, says) in [
        (with("podConditionType", json!("Ready")), "podConditionType"),
        (with("name", json!("a#b")), "name"),
        (with("probe", json!({"httpGet": {"port": 80, "path": "/"}})), "scheme"),
        (with("probe", json!({"httpGet": {"port": 80, "path": "/%zz", "scheme": "HTTP"}})), "httpGet.path"),
        (
            with("markerPolicy", json!([{"state": "Failed", "labels": {"a": "b c"}}])),
            "markerPolicy[0].labels",
        ),
    ] {
        let error = here.marker("m", &[bad]).await.unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    here.marker("m", &[probe("idle")]).await.unwrap();
    let selector = Patch::Merge(json!({"spec": {"selector": {"matchLabels": {"app": "db"}}}}));
    let error = here.markers.patch("m", &PatchParams::default(), &selector).await.unwrap_err().to_string();
    assert!(error.contains("selector"), "{error}");
}
