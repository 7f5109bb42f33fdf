//! The manager under exactly the roles that the chart renders: everything it asks for is granted, and everything that is
//! granted is asked for. In a cluster of its own, whose audit log has every request of the manager's account.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};
use kruise_api::annotations::{PPS_AUTO_GENERATE, PPS_REQUIRED_TOPOLOGY};
use kruise_manager::gates::Gates;
use kruise_manager::permissions::{Names, Proof, When, uses};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::provisioner::{self, Provisioner};
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::cloneset::guarded::Budgets;
use crate::workload::{Kind, Live, Sets, cloneset as web};

const GATES: &str = "InPlaceWorkloadVerticalScaling=true,PreDownloadImageForInPlaceUpdate=true,StatefulSetAutoResizePVCGate=true,PodUnavailableBudgetUpdateGate=true,SidecarTerminator=true,ResourceDistributionGate=true";
const PATIENCE: Duration = Duration::from_mins(2);

/// A verb on a resource, `patch pods/status`.
type Asked = BTreeSet<String>;

struct World {
    cluster: Cluster,
    nodes: SimNodes,
    _provisioner: Provisioner,
}

async fn world() -> World {
    let program = manager::program().unwrap();
    let api_server_args = vec![
        // As servers before 1.32: caches are filled by lists.
        "--feature-gates=WatchList=false".to_owned(),
        // Owners may only be blocked by those who could finalize them.
        "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement".to_owned(),
    ];
    let options = Options { audit: true, api_server_args, ..Options::default() };
    let cluster = Cluster::start(options).await.unwrap();
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 3).await.unwrap();
    let provisioner =
        Provisioner::start(cluster.client_named(provisioner::USER_AGENT).await.unwrap()).await.unwrap();
    crds::install(&cluster.client()).await.unwrap();
    let kubeconfig = manager::authorize(&cluster, GATES).await.unwrap();
    let port = manager::free_port().unwrap();
    let mut args = manager::args_with_webhooks(&kubeconfig, port);
    args.push(format!("--feature-gates={GATES}"));
    cluster.spawn(manager::PART, program, args).unwrap();
    World { cluster, nodes, _provisioner: provisioner }
}

/// Install acceptance 13, rule 2.4: no request is forbidden, no verb is granted in vain.
#[tokio::test]
async fn install_f20_manager_uses_what_its_roles_grant_and_nothing_else() {
    let world = world().await;
    let here = Sets::new(Kind::CloneSet, world.cluster.client(), "default");

    works_on_claims_and_history(&here).await;
    updates_in_place_and_resizes(&here).await;
    hands_claims_over(&here).await;
    pulls_ahead(&here).await;
    remembers_places(&here).await;
    deletes_what_is_named(&here).await;
    launches_in_order(&world, &here).await;
    broadcasts(&world, &here).await;
    looks_into_pods(&here).await;
    restarts_containers(&here).await;
    ends_sidecars(&here).await;
    probes(&here).await;
    injects(&here).await;
    runs_agents_and_schedules(&here).await;
    pulls_images(&here).await;
    distributes(&here).await;
    heals_certificates(&here).await;

    let granted = granted();
    let expected: Asked =
        granted.iter().filter(|(_, proof)| *proof == Proof::Seen).map(|(asked, _)| asked.clone()).collect();
    let start = Instant::now();
    loop {
        let (asked, refused) = read(&world.cluster.audit_log());
        assert_eq!(refused, Asked::new(), "asked for and not granted");
        let missing: Vec<&String> = expected.difference(&asked).collect();
        if missing.is_empty() {
            let all: Asked = granted.into_iter().map(|(one, _)| one).collect();
            let strange: Vec<&String> = asked.difference(&all).collect();
            assert!(strange.is_empty(), "asked for and not in the table: {strange:?}");
            return;
        }
        assert!(start.elapsed() < PATIENCE, "granted and never asked for: {missing:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The table, with those gates on and all values of the chart at their defaults.
fn granted() -> Vec<(String, Proof)> {
    let gates = Gates::read(GATES).gates;
    let mut all = Vec::new();
    for one in uses() {
        let is_granted = match one.when {
            When::Always | When::Value(_) => true,
            When::Gate(gate) => gates.on(gate),
            When::Unless(gate) => !gates.on(gate),
        };
        assert!(is_granted, "a scenario for it belongs into this test: {one:?}");
        assert!(one.names != Names::Only(&[]), "{one:?}");
        let dot = if one.group.is_empty() { "" } else { "." };
        all.extend(
            one.verbs
                .iter()
                .map(|verb| (format!("{} {}{dot}{}", verb.name, one.resource, one.group), verb.proof)),
        );
    }
    all
}

/// Requests of the manager's account: answered, and forbidden.
fn read(log: &Path) -> (Asked, Asked) {
    let (mut asked, mut refused) = (Asked::new(), Asked::new());
    for line in std::fs::read_to_string(log).unwrap_or_default().lines() {
        // The last line may be half written.
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        if event["user"]["username"] != manager::USER || event["objectRef"].is_null() {
            continue;
        }
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let part = text("/objectRef/subresource");
        let slash = if part.is_empty() { "" } else { "/" };
        let group = text("/objectRef/apiGroup");
        let dot = if group.is_empty() { "" } else { "." };
        let name = format!("{} {}{slash}{part}{dot}{group}", text("/verb"), text("/objectRef/resource"));
        // Not granted, or refused by the check on owners that may be blocked.
        if event["responseStatus"]["code"] == 403 {
            refused.insert(name);
        } else {
            asked.insert(name);
        }
    }
    (asked, refused)
}

/// Claims come and go with their pods; revisions beyond the limit go, and one that is used again is numbered anew.
async fn works_on_claims_and_history(here: &Sets) {
    let object = web(2).named("stored").claims("1Gi").spec(json!({"revisionHistoryLimit": 0}));
    let live = here.create(object).await;
    live.until_available(2).await;
    for image in ["nginx:2", "nginx:3", "nginx:2"] {
        image_of(&live, image).await;
        live.until_updated(2).await;
    }
    live.scale(0).await;
    live.until("no pods", |status| status["replicas"] == 0).await;
}

async fn image_of(live: &Live, image: &str) {
    let container =
        json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]);
    let patch = Patch::Json::<()>(serde_json::from_value(container).unwrap());
    live.api.patch(&live.name, &PatchParams::default(), &patch).await.unwrap();
}

/// In place, with a budget asked and the image pulled before, and by the endpoint for resizes.
async fn updates_in_place_and_resizes(here: &Sets) {
    let live = here.create(web(3).named("placed").policy("InPlaceIfPossible")).await;
    let pods = live.until_available(3).await;
    Budgets::of(here).create("asked", 1).await;
    let guarded = json!({"metadata": {"annotations": {"pub.kruise.io/related-pub": "asked"}}});
    live.patch_pod(&pods[0].metadata.name.clone().unwrap(), guarded).await;
    image_of(&live, "nginx:2").await;
    live.until_updated(3).await;
    for (op, cpu) in [("add", "20m"), ("replace", "10m")] {
        let path = "/spec/template/spec/containers/0/resources";
        let resources = json!([{"op": op, "path": path, "value": {"requests": {"cpu": cpu}}}]);
        let patch = Patch::Json::<()>(serde_json::from_value(resources).unwrap());
        live.api.patch(&live.name, &PatchParams::default(), &patch).await.unwrap();
        live.until_updated(3).await;
    }
}

/// A pod that is held up in its deletion takes its claim with it, where claims are not to be used again.
async fn hands_claims_over(here: &Sets) {
    let object = web(1).named("held").claims("1Gi").spec(json!({"scaleStrategy": {"disablePVCReuse": true}}));
    let live = here.create(object).await;
    let pods = live.until_available(1).await;
    let pod = pods[0].metadata.name.clone().unwrap();
    live.patch_pod(&pod, json!({"metadata": {"finalizers": ["test.kruise.io/held"]}})).await;
    live.pods.delete(&pod, &DeleteParams::default()).await.unwrap();
    let is_handed_over = |all: &[PersistentVolumeClaim]| {
        let owners = all.iter().flat_map(|claim| claim.metadata.owner_references.iter().flatten());
        owners.into_iter().any(|owner| owner.kind == "Pod" && owner.name == pod)
    };
    wait::until_all(&live.claims, &ListParams::default(), "the claim follows its pod", is_handed_over)
        .await
        .unwrap();
    live.patch_pod(&pod, json!({"metadata": {"finalizers": null}})).await;
}

/// Images are pulled ahead while old pods remain, and not any longer.
async fn pulls_ahead(here: &Sets) {
    let strategy = json!({"partition": 1, "inPlaceUpdateStrategy": {"imagePreDownloadParallelism": 2}});
    let live = here.create(web(5).named("ahead").rolling(&strategy).policy("InPlaceIfPossible")).await;
    live.until_available(5).await;
    image_of(&live, "nginx:ahead").await;
    live.until("the partition", |status| status["updatedAvailableReplicas"] == 4).await;
    live.change(json!({"updateStrategy": {"rollingUpdate": {"partition": 0}}})).await;
    live.until_updated(5).await;
}

/// A StatefulSet asks by its annotations that the places of its pods are remembered, asks otherwise, and asks no more.
async fn remembers_places(here: &Sets) {
    let api = |kind: &str| {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", kind));
        Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &kind)
    };
    let (sets, states) = (api("StatefulSet"), api("PersistentPodState"));
    let asking = |keys: Value| json!({"metadata": {"annotations": {PPS_AUTO_GENERATE: "true", PPS_REQUIRED_TOPOLOGY: keys}}});
    let template = json!({"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
    let mut object = asking(json!("kubernetes.io/hostname"));
    object["apiVersion"] = json!("apps.kruise.io/v1beta1");
    object["kind"] = json!("StatefulSet");
    object["metadata"]["name"] = json!("db");
    object["spec"] = json!({"replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template});
    sets.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let is_recorded = |state: &DynamicObject| state.data["status"]["podStates"]["db-0"].is_object();
    wait::until(&states, "db", "the place of db-0 is recorded", is_recorded).await.unwrap();

    let other = Patch::Merge(asking(json!("kubernetes.io/os")));
    sets.patch("db", &PatchParams::default(), &other).await.unwrap();
    let follows = |state: &DynamicObject| state.data["spec"].to_string().contains("kubernetes.io/os");
    wait::until(&states, "db", "it follows the annotation", follows).await.unwrap();
    let none = Patch::Merge(asking(Value::Null));
    sets.patch("db", &PatchParams::default(), &none).await.unwrap();
    let off = Patch::Merge(json!({"metadata": {"annotations": {PPS_AUTO_GENERATE: null}}}));
    sets.patch("db", &PatchParams::default(), &off).await.unwrap();
    let one = ListParams::default().fields("metadata.name=db");
    wait::until_all(&states, &one, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
}

/// Named pods are deleted, and the list is cleared then.
async fn deletes_what_is_named(here: &Sets) {
    let live = here.create(web(2).named("named")).await;
    let pods: Vec<Pod> = live.until_available(2).await;
    let name = pods[0].metadata.name.clone().unwrap();
    live.change(json!({"replicas": 1, "scaleStrategy": {"podsToDelete": [name]}})).await;
    live.until_available(1).await;
    let one = ListParams::default().fields("metadata.name=named");
    let is_clear = |all: &[kube::api::DynamicObject]| {
        all.iter()
            .all(|set| set.data["spec"]["scaleStrategy"]["podsToDelete"].as_array().is_none_or(Vec::is_empty))
    };
    wait::until_all(&here.api, &one, "podsToDelete is cleared", is_clear).await.unwrap();
}

/// The lower container never gets ready, so that its barrier is opened and the pod stays interesting.
async fn launches_in_order(world: &World, here: &Sets) {
    let low = Which { container: Some("lower".to_owned()), ..Which::default() };
    world.nodes.rule(low, Behaviour::NeverReady);
    let high = json!({"name": "higher", "image": "nginx:1", "env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": "1"}]});
    let containers = json!([{"name": "lower", "image": "nginx:1"}, high]);
    let pod = json!({"metadata": {"name": "ordered"}, "spec": {"containers": containers}});
    let pods: Api<Pod> = Api::namespaced(here.client.clone(), "default");
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(here.client.clone(), "default");
    let both = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data.len() == 2);
    wait::until(&maps, "ordered-barrier", "both levels", both).await.unwrap();
}

/// A job whose pods fail is paused, and one that is over goes.
async fn broadcasts(world: &World, here: &Sets) {
    for (image, exit_code) in [("ends:0", 0), ("ends:1", 1)] {
        let which = Which { image: Some(image.to_owned()), ..Which::default() };
        world.nodes.rule(which, Behaviour::Exits { exit_code, after: Duration::ZERO });
    }
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "BroadcastJob"));
    let jobs = Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &kind);
    let create = |name: &str, image: &str, policy: Value| {
        let template =
            json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}});
        let mut spec = policy;
        spec["template"] = template;
        let object = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "BroadcastJob", "metadata": {"name": name}, "spec": spec});
        serde_json::from_value::<DynamicObject>(object).unwrap()
    };
    let expires = create("expires", "ends:0", json!({"completionPolicy": {"ttlSecondsAfterFinished": 0}}));
    jobs.create(&PostParams::default(), &expires).await.unwrap();
    let pauses = create("pauses", "ends:1", json!({"failurePolicy": {"type": "Pause"}}));
    jobs.create(&PostParams::default(), &pauses).await.unwrap();
    let is_paused = |job: &DynamicObject| job.data["spec"]["paused"] == true;
    wait::until(&jobs, "pauses", "a pause", is_paused).await.unwrap();
    let one = ListParams::default().fields("metadata.name=expires");
    wait::until_all(&jobs, &one, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
}

/// A container is put into a pod, and the job goes when it has ended. The image ends by the rule of [`broadcasts`].
async fn looks_into_pods(here: &Sets) {
    let pod = json!({"metadata": {"name": "looked-into", "labels": {"app": "looked-into"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
    let pods: Api<Pod> = Api::namespaced(here.client.clone(), "default");
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "EphemeralJob"));
    let jobs = Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &kind);
    let container = json!({"name": "dbg", "image": "ends:0", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"});
    let object = json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "EphemeralJob", "metadata": {"name": "looks"},
        "spec": {"selector": {"matchLabels": {"app": "looked-into"}}, "ttlSecondsAfterFinished": 0, "template": {"ephemeralContainers": [container]}},
    });
    jobs.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let one = ListParams::default().fields("metadata.name=looks");
    wait::until_all(&jobs, &one, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
    let looked_into = pods.get("looked-into").await.unwrap();
    assert!(looked_into.spec.unwrap().ephemeral_containers.is_some_and(|all| all.len() == 1));
}

/// A SidecarSet that selects no pod is reported on.
async fn injects(here: &Sets) {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "SidecarSet"));
    let sets = Api::<DynamicObject>::all_with(here.client.clone(), &kind);
    let object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "SidecarSet", "metadata": {"name": "injects"},
        "spec": {
            "selector": {"matchLabels": {"app": "injected"}}, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            "containers": [{"name": "side", "image": "side:1"}],
        },
    });
    sets.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let is_seen = |one: &DynamicObject| one.data["status"]["observedGeneration"] == 1;
    wait::until(&sets, "injects", "it is reported on", is_seen).await.unwrap();
}

/// A job that is done has its sidecar stopped.
async fn ends_sidecars(here: &Sets) {
    let env = json!([{"name": "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT", "value": "true"}]);
    let job = json!({
        "metadata": {"name": "ends"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "ends:0"}, {"name": "side", "image": "nginx:1", "env": env}]},
    });
    let pods: Api<Pod> = Api::namespaced(here.client.clone(), "default");
    let created = pods.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apps.kruise.io",
        "v1beta1",
        "ContainerRecreateRequest",
    ));
    let requests: Api<DynamicObject> = Api::namespaced_with(here.client.clone(), "default", &kind);
    let name = format!("sidecar-termination-{}", created.metadata.uid.unwrap());
    wait::until(&requests, &name, "the agent to be asked", |_: &DynamicObject| true).await.unwrap();
    pods.delete("ends", &DeleteParams::default()).await.unwrap();
}

/// A pod goes out of service for a request and back, and the request deletes itself. The agent's word is the test's.
async fn restarts_containers(here: &Sets) {
    let pod = json!({
        "metadata": {"name": "restarted"},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}], "readinessGates": [{"conditionType": "KruisePodReady"}]},
    });
    let pods: Api<Pod> = Api::namespaced(here.client.clone(), "default");
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let runs =
        |seen: &Pod| seen.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
    wait::until(&pods, "restarted", "it runs", runs).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apps.kruise.io",
        "v1beta1",
        "ContainerRecreateRequest",
    ));
    let requests = Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &kind);
    let object = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "ContainerRecreateRequest", "metadata": {"name": "restarts"},
        "spec": {
            "podName": "restarted", "containers": [{"name": "main"}], "ttlSecondsAfterFinished": 0,
            "strategy": {"unreadyGracePeriodSeconds": 1},
        },
    });
    requests.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let says = async |status| {
        let patch = Patch::Merge(json!({"status": status}));
        requests.patch_status("restarts", &PatchParams::default(), &patch).await.unwrap();
    };
    says(json!({"phase": "Recreating"})).await;
    let is_out = |one: &DynamicObject| one.data["status"]["conditions"].is_array();
    wait::until(&requests, "restarts", "the pod is out of service", is_out).await.unwrap();
    says(json!({"phase": "Completed", "completionTime": "2026-01-01T00:00:00Z"})).await;
    let one = ListParams::default().fields("metadata.name=restarts");
    wait::until_all(&requests, &one, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
}

/// A marker is told to the node of a pod, counts it, and goes.
async fn probes(here: &Sets) {
    let pods: Api<Pod> = Api::namespaced(here.client.clone(), "default");
    let pod = json!({
        "metadata": {"name": "probed", "labels": {"probe": "me"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "PodProbeMarker"));
    let markers = Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &kind);
    let probe = json!({
        "name": "idle", "containerName": "main", "podConditionType": "example.com/idle", "probe": {"exec": {"command": ["true"]}},
    });
    let object = json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "PodProbeMarker", "metadata": {"name": "probes"},
        "spec": {"selector": {"matchLabels": {"probe": "me"}}, "probes": [probe]},
    });
    markers.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let counted = |one: &DynamicObject| one.data["status"]["matchedPods"] == 1;
    wait::until(&markers, "probes", "it has its pod", counted).await.unwrap();
    let list = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "NodePodProbe"));
    let lists = Api::<DynamicObject>::all_with(here.client.clone(), &list);
    let is_told = |all: &[DynamicObject]| all.iter().any(|one| one.data["spec"]["podProbes"].is_array());
    wait::until_all(&lists, &ListParams::default(), "a node probes", is_told).await.unwrap();
    markers.delete("probes", &DeleteParams::default()).await.unwrap();
    let one = ListParams::default().fields("metadata.name=probes");
    wait::until_all(&markers, &one, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
}

/// A DaemonSet reports its nodes; schedules of each kind start runs and replace them. The image ends by the rule of [`broadcasts`].
async fn runs_agents_and_schedules(here: &Sets) {
    let api = |kind: &str| {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", kind));
        Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &kind)
    };
    let create = async |kind: &str, name: &str, spec: Value| {
        let object = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        let object = serde_json::from_value::<DynamicObject>(object).unwrap();
        api(kind).create(&PostParams::default(), &object).await.unwrap();
    };
    let agent = json!({"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
    let spec = json!({"selector": {"matchLabels": {"app": "agent"}}, "template": agent});
    create("DaemonSet", "agent", spec).await;
    let is_ready = |set: &DynamicObject| {
        let status = &set.data["status"];
        status["numberReady"].as_i64().is_some_and(|count| 0 < count)
            && status["numberReady"] == status["desiredNumberScheduled"]
    };
    wait::until(&api("DaemonSet"), "agent", "a pod on every node", is_ready).await.unwrap();

    let pod =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "nginx:1"}]}});
    let images = json!({"images": ["nginx:1"], "completionPolicy": {"type": "Always"}});
    for (name, template) in [
        ("jobs", json!({"jobTemplate": {"spec": {"template": pod}}})),
        ("broadcasts", json!({"broadcastJobTemplate": {"spec": {"template": pod}}})),
        ("images", json!({"imageListPullJobTemplate": {"spec": images}})),
    ] {
        let runs = json!({"schedule": "@every 1s", "concurrencyPolicy": "Replace", "template": template});
        create("AdvancedCronJob", name, runs).await;
        let crons = api("AdvancedCronJob");
        let active =
            |cron: &DynamicObject| cron.data["status"]["active"][0]["name"].as_str().map(str::to_owned);
        let first =
            wait::until(&crons, name, "a run", |cron: &DynamicObject| active(cron).is_some()).await.unwrap();
        let first = active(&first);
        wait::until(&crons, name, "another run", |cron: &DynamicObject| {
            active(cron).is_some() && active(cron) != first
        })
        .await
        .unwrap();
        let pause = Patch::Merge(json!({"spec": {"paused": true}}));
        crons.patch(name, &PatchParams::default(), &pause).await.unwrap();
    }
}

/// Two jobs share the copy of a secret; one expires, the other is deleted. A list is labelled and reported on; a NodeImage without a node goes.
async fn pulls_images(here: &Sets) {
    let resource =
        |kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", kind));
    let nodes = Api::<DynamicObject>::all_with(here.client.clone(), &resource("NodeImage"));
    let object = |kind: &str, name: &str, labels: Value, spec: Value| -> DynamicObject {
        let object = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec});
        serde_json::from_value(object).unwrap()
    };
    let fake = object("NodeImage", "fake", json!({"apps.kruise.io/fake-nodeimage": "true"}), json!({}));
    nodes.create(&PostParams::default(), &fake).await.unwrap();
    nodes.create(&PostParams::default(), &object("NodeImage", "lost", json!({}), json!({}))).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(here.client.clone(), "default");
    let secret = json!({"metadata": {"name": "reg"}, "stringData": {"a": "b"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let jobs =
        Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &resource("ImagePullJob"));
    let spec = |policy: Value| json!({"image": "nginx:1", "selector": {"names": ["fake"]}, "pullSecrets": ["reg"], "completionPolicy": policy});
    let always = json!({"type": "Always", "ttlSecondsAfterFinished": 0});
    for (name, policy) in [("expires", always), ("endless", json!({"type": "Never"}))] {
        let job = object("ImagePullJob", name, json!({}), spec(policy));
        jobs.create(&PostParams::default(), &job).await.unwrap();
        let is_active = |seen: &DynamicObject| seen.data["status"]["active"] == 1;
        wait::until(&jobs, name, "a node pulls", is_active).await.unwrap();
    }
    let said =
        json!([{"tag": "1", "version": 1, "phase": "Succeeded", "completionTime": "2099-01-01T00:00:00Z"}]);
    let status = Patch::Merge(json!({"status": {"desired": 1, "imageStatuses": {"nginx": {"tags": said}}}}));
    nodes.patch_status("fake", &PatchParams::default(), &status).await.unwrap();
    let one = ListParams::default().fields("metadata.name=expires");
    wait::until_all(&jobs, &one, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
    jobs.delete("endless", &DeleteParams::default()).await.unwrap();
    let lost = ListParams::default().fields("metadata.name=lost");
    wait::until_all(&nodes, &lost, "it is gone", <[DynamicObject]>::is_empty).await.unwrap();
    let lists =
        Api::<DynamicObject>::namespaced_with(here.client.clone(), "default", &resource("ImageListPullJob"));
    let images = json!({"images": ["redis:1"], "selector": {"names": ["fake"]}, "completionPolicy": {"type": "Never"}});
    lists
        .create(&PostParams::default(), &object("ImageListPullJob", "list", json!({}), images))
        .await
        .unwrap();
    let is_active = |list: &DynamicObject| list.data["status"]["active"] == 1;
    wait::until(&lists, "list", "an image is pulled", is_active).await.unwrap();
}

/// RD-B10, RD-B11: copies of both kinds come, are repaired after a read by name, and go.
async fn distributes(here: &Sets) {
    let distribution = GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "ResourceDistribution");
    let all = Api::<DynamicObject>::all_with(here.client.clone(), &ApiResource::from_gvk(&distribution));
    for (kind, plural) in [("Secret", "shared-s"), ("ConfigMap", "shared-c")] {
        let resource =
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": plural}, "data": {"k": "dg=="}});
        let list = json!({"list": [{"name": "default"}]});
        let object = json!({
            "apiVersion": "apps.kruise.io/v1beta1", "kind": "ResourceDistribution", "metadata": {"name": plural},
            "spec": {"resource": resource, "targets": {"includedNamespaces": list}},
        });
        all.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        let has = |count: i64| {
            move |one: &DynamicObject| {
                one.data["status"]["succeeded"].as_i64().unwrap_or(0) == count
                    && one.data["status"]["observedGeneration"] == one.metadata.generation.unwrap_or(0)
            }
        };
        wait::until(&all, plural, "a copy", has(1)).await.unwrap();
        let copies = Api::<DynamicObject>::namespaced_with(
            here.client.clone(),
            "default",
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind)),
        );
        let edit = Patch::Merge(json!({"data": {"k": "eA=="}}));
        copies.patch(plural, &PatchParams::default(), &edit).await.unwrap();
        wait::until(&copies, plural, "it is repaired", |one| one.data["data"]["k"] == "dg==").await.unwrap();
        let nowhere = Patch::Merge(json!({"spec": {"targets": {"includedNamespaces": null}}}));
        all.patch(plural, &PatchParams::default(), &nowhere).await.unwrap();
        wait::until(&all, plural, "no target", has(0)).await.unwrap();
        let one = ListParams::default().fields(&format!("metadata.name={plural}"));
        wait::until_all(&copies, &one, "no copy", <[DynamicObject]>::is_empty).await.unwrap();
    }
}

/// PL-B10: the roles allow to watch only these names, so that nothing else can be. The secret is deleted, then emptied; the configuration is deleted: each comes back, and the last goes with the role.
async fn heals_certificates(here: &Sets) {
    let secrets: Api<Secret> = Api::namespaced(here.client.clone(), "kruise-system");
    let name = "kruise-webhook-certs";
    let is_full = |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.contains_key("ca-cert.pem"));
    wait::until(&secrets, name, "certificates", is_full).await.unwrap();
    secrets.delete(name, &DeleteParams::default()).await.unwrap();
    wait::until(&secrets, name, "new certificates", is_full).await.unwrap();
    let corrupt = json!({"data": {"ca-cert.pem": "anVuaw==", "cert.pem": null}});
    secrets.patch(name, &PatchParams::default(), &Patch::Merge(corrupt)).await.unwrap();
    let is_whole = |secret: &Secret| {
        secret
            .data
            .as_ref()
            .is_some_and(|data| data.contains_key("cert.pem") && data["ca-cert.pem"].0 != b"junk")
    };
    wait::until(&secrets, name, "whole certificates", is_whole).await.unwrap();
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(here.client.clone());
    let mutating = "kruise-mutating-webhook-configuration";
    configurations.delete(mutating, &DeleteParams::default()).await.unwrap();
    // install/F6, PL-B3: it comes back by itself, and belongs to the release.
    let is_owned = |one: &MutatingWebhookConfiguration| {
        let owners = one.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.kind == "ClusterRole")
            && one.webhooks.as_ref().is_some_and(|all| all.len() > 1)
    };
    wait::until(&configurations, mutating, "a new configuration", is_owned).await.unwrap();
}
