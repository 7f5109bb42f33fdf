//! Acceptance scenarios of image pre-download (section 8 of its specification) on the real control plane. The tests say in the status of
//! NodeImages what a node agent says; each has NodeImages of its own, without nodes.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use kruise_testbed::{Scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::workload::{Kind, Sets, cloneset as web};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Images {
    test: Scratch,
    nodes: Api<DynamicObject>,
    copies: Api<Secret>,
}

impl Images {
    /// With NodeImages of these names, which begin with the namespace.
    async fn new(name: &str, nodes: &[&str]) -> Self {
        let test = scratch_with_all_gates(name).await.unwrap();
        let kind = GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "NodeImage");
        let here = Self {
            nodes: Api::all_with(test.client.clone(), &ApiResource::from_gvk(&kind)),
            copies: Api::namespaced(test.client.clone(), "kruise-daemon-config"),
            test,
        };
        for node in nodes {
            let labels = json!({"apps.kruise.io/fake-nodeimage": "true", "of": here.test.namespace});
            let object = json!({
                "apiVersion": "apps.kruise.io/v1beta1", "kind": "NodeImage",
                "metadata": {"name": here.node(node), "labels": labels}, "spec": {},
            });
            let object = serde_json::from_value(object).unwrap();
            here.nodes.create(&PostParams::default(), &object).await.unwrap();
        }
        if !nodes.is_empty() {
            here.until_seen(nodes.len()).await;
        }
        here
    }

    /// NodeImages and jobs are watched apart, and a job that finds no node is over at once: one that never ends tells what the manager has seen.
    async fn until_seen(&self, nodes: usize) {
        let spec = json!({"image": "seen:1", "completionPolicy": {"type": "Never"}});
        self.create("v1beta1", "ImagePullJob", "seen", spec).await.unwrap();
        self.until("ImagePullJob", "seen", "the nodes are seen", |status| status["desired"] == nodes).await;
        self.api("v1beta1", "ImagePullJob").delete("seen", &DeleteParams::default()).await.unwrap();
        self.until_gone("ImagePullJob").await;
    }

    fn node(&self, name: &str) -> String {
        format!("{}-{name}", self.test.namespace)
    }

    fn api(&self, version: &str, kind: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, kind);
        Api::namespaced_with(self.test.client.clone(), &self.test.namespace, &ApiResource::from_gvk(&kind))
    }

    /// On the NodeImages of this test.
    async fn create(
        &self,
        version: &str,
        kind: &str,
        name: &str,
        more: Value,
    ) -> Result<DynamicObject, kube::Error> {
        let mut spec = json!({"selector": {"matchLabels": {"of": self.test.namespace}}, "completionPolicy": {"type": "Always"}});
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": kind, "metadata": {"name": name}, "spec": spec,
        });
        self.api(version, kind).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn secret(&self, password: &str) {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "reg"}, "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": format!("{{\"auths\":{{\"r\":{{\"auth\":\"{password}\"}}}}}}")},
        });
        let api: Api<Secret> = Api::namespaced(self.test.client.clone(), &self.test.namespace);
        let params = PatchParams::apply("test").force();
        api.patch("reg", &params, &Patch::Apply(object)).await.unwrap();
    }

    /// The agent of a node says that a tag has ended.
    async fn says(&self, node: &str, image: &str, (tag, version): (&str, i64), phase: &str) {
        let name = self.node(node);
        let is_asked = |one: &DynamicObject| number(one, image, tag) == Some(version);
        self.until_node(node, &format!("{image}:{tag} version {version} is asked"), is_asked).await;
        let end = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let said = json!([{"tag": tag, "version": version, "phase": phase, "completionTime": end}]);
        let patch = Patch::Merge(json!({"status": {"desired": 1, "imageStatuses": {image: {"tags": said}}}}));
        self.nodes.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn until_node(&self, node: &str, what: &str, ok: impl Fn(&DynamicObject) -> bool) {
        let one = ListParams::default().fields(&format!("metadata.name={}", self.node(node)));
        let has = |all: &[DynamicObject]| all.iter().any(&ok);
        wait::until_all_within(&self.nodes, &one, what, PATIENCE, has).await.unwrap();
    }

    async fn until(&self, kind: &str, name: &str, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let one = ListParams::default().fields(&format!("metadata.name={name}"));
        let has = |all: &[DynamicObject]| all.iter().any(|object| ok(&object.data["status"]));
        let api = self.api("v1beta1", kind);
        wait::until_all_within(&api, &one, what, PATIENCE, has).await.unwrap().remove(0).data["status"]
            .clone()
    }

    async fn until_gone(&self, kind: &str) {
        let gone = |all: &[DynamicObject]| all.is_empty();
        let api = self.api("v1beta1", kind);
        let what = format!("no {kind} is left");
        wait::until_all_within(&api, &ListParams::default(), &what, PATIENCE, gone).await.unwrap();
    }

    /// Of the secret of this test.
    async fn until_copies(&self, what: &str, ok: impl Fn(&[&Secret]) -> bool) {
        let source = format!("{}/reg", self.test.namespace);
        let is_its = |one: &&Secret| {
            let notes = one.metadata.annotations.as_ref();
            notes.is_some_and(|all| all.get("imagepulljobs.kruise.io/source-key") == Some(&source))
        };
        let has = |all: &[Secret]| ok(&all.iter().filter(is_its).collect::<Vec<_>>());
        wait::until_all_within(&self.copies, &ListParams::default(), what, PATIENCE, has).await.unwrap();
    }
}

/// The version of a tag in the list of a node.
fn number(node: &DynamicObject, image: &str, tag: &str) -> Option<i64> {
    let tags = node.data["spec"]["images"][image]["tags"].as_array()?;
    tags.iter().find(|one| one["tag"] == tag).map(|one| one["version"].as_i64().unwrap_or(0))
}

fn holds(copy: &Secret, password: &str) -> bool {
    let data: &ByteString = &copy.data.as_ref().unwrap()[".dockerconfigjson"];
    String::from_utf8_lossy(&data.0).contains(password)
}

/// Scenarios 1, 4, 5, 14: one node after the other, with a copy of the secret that goes at the end, and the job at its time to live.
#[tokio::test]
async fn images_scenarios_1_4_5_14_job_pulls_on_one_node_after_the_other() {
    let here = Images::new("ipj-pulls", &["a", "b"]).await;
    here.secret("one").await;
    let policy = json!({"type": "Always", "activeDeadlineSeconds": 1200, "ttlSecondsAfterFinished": 1});
    let spec = json!({"image": "docker.io/library/nginx:1", "pullSecrets": ["reg"], "parallelism": "1", "completionPolicy": policy});
    let made = here.create("v1alpha1", "ImagePullJob", "j", spec).await.unwrap();
    assert_eq!(made.data["spec"]["pullPolicy"], json!({"timeoutSeconds": 600, "backoffLimit": 3}));
    assert_eq!(made.metadata.finalizers.unwrap(), ["apps.kruise.io/deletion-protection"]);
    here.until("ImagePullJob", "j", "one node pulls", |status| {
        status["desired"] == 2 && status["active"] == 1
    })
    .await;
    here.until_copies("one copy of equal data", |all| all.len() == 1 && holds(all[0], "one")).await;
    here.says("a", "nginx", ("1", 0), "Succeeded").await;
    here.says("b", "nginx", ("1", 0), "Failed").await;
    let ended =
        here.until("ImagePullJob", "j", "its end", |status| !status["completionTime"].is_null()).await;
    assert_eq!(
        (&ended["succeeded"], &ended["failed"], &ended["message"]),
        (&json!(1), &json!(1), &json!("job has completed"))
    );
    assert_eq!(ended["failedNodes"], json!([here.node("b")]));
    here.until_gone("ImagePullJob").await;
    here.until_copies("no copy", |all| all.is_empty()).await;
    here.until_node("a", "no tag of a job that is gone", |one| number(one, "nginx", "1").is_none()).await;
}

/// Scenarios 3 and 7: a second job makes the node pull again; the copy follows its source, and goes with the last job.
#[tokio::test]
async fn images_scenarios_3_7_jobs_without_end_share_tag_and_secret() {
    let here = Images::new("ipj-never", &["a"]).await;
    here.secret("one").await;
    let spec = || json!({"image": "nginx:1", "pullSecrets": ["reg"], "completionPolicy": {"type": "Never"}});
    here.create("v1beta1", "ImagePullJob", "j", spec()).await.unwrap();
    here.says("a", "nginx", ("1", 0), "Succeeded").await;
    here.until("ImagePullJob", "j", "it has the image", |status| status["succeeded"] == 1).await;
    here.secret("two").await;
    here.create("v1beta1", "ImagePullJob", "k", spec()).await.unwrap();
    here.says("a", "nginx", ("1", 1), "Succeeded").await;
    for job in ["j", "k"] {
        here.until("ImagePullJob", job, "it has the image", |status| status["succeeded"] == 1).await;
    }
    here.until_copies("the copy follows", |all| all.len() == 1 && holds(all[0], "two")).await;
    for job in ["j", "k"] {
        here.api("v1beta1", "ImagePullJob").delete(job, &DeleteParams::default()).await.unwrap();
    }
    here.until_gone("ImagePullJob").await;
    here.until_copies("no copy", |all| all.is_empty()).await;
    here.until_node("a", "no tag", |one| number(one, "nginx", "1").is_none()).await;
}

/// Scenarios 8, 10 and 26: a list is edited while it runs, ends with its failures, and goes with its jobs.
#[tokio::test]
async fn images_scenarios_8_10_26_list_is_pulled_and_goes() {
    let here = Images::new("ilpj-pulls", &["a"]).await;
    let policy = json!({"type": "Always", "ttlSecondsAfterFinished": 2});
    let spec = json!({"images": ["nginx:1", "redis:1"], "completionPolicy": policy});
    here.create("v1alpha1", "ImageListPullJob", "l", spec).await.unwrap();
    here.until("ImageListPullJob", "l", "both are active", |status| status["active"] == 2).await;
    let edit = Patch::Merge(json!({"spec": {"images": ["nginx:1", "busybox:1"]}}));
    here.api("v1beta1", "ImageListPullJob").patch("l", &PatchParams::default(), &edit).await.unwrap();
    here.says("a", "nginx", ("1", 0), "Succeeded").await;
    here.says("a", "busybox", ("1", 0), "Failed").await;
    let ended =
        here.until("ImageListPullJob", "l", "its end", |status| !status["completionTime"].is_null()).await;
    assert_eq!(
        (&ended["desired"], &ended["completed"], &ended["succeeded"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(ended["failedImageStatuses"][0]["name"], "busybox:1");
    here.until_gone("ImageListPullJob").await;
    here.until_gone("ImagePullJob").await;
}

/// Scenario 12: the image of a CloneSet is pulled ahead on the nodes of its old pods, and the job ends when the node has it.
#[tokio::test]
async fn images_scenario_12_image_of_a_cloneset_is_pulled_ahead() {
    let here = Images::new("ipj-ahead", &[]).await;
    let count =
        Api::<Node>::all(here.test.client.clone()).list(&ListParams::default()).await.unwrap().items.len();
    let is_fake = |one: &&DynamicObject| one.labels().contains_key("apps.kruise.io/fake-nodeimage");
    let has = |all: &[DynamicObject]| count <= all.len() - all.iter().filter(is_fake).count();
    let what = "every node has a NodeImage";
    wait::until_all_within(&here.nodes, &ListParams::default(), what, PATIENCE, has).await.unwrap();
    let sets = Sets::new(Kind::CloneSet, here.test.client.clone(), &here.test.namespace);
    let strategy = json!({"partition": 5, "inPlaceUpdateStrategy": {"imagePreDownloadParallelism": 2}});
    let live = sets.create(web(5).named("ahead").rolling(&strategy).policy("InPlaceIfPossible")).await;
    live.until_available(5).await;
    let image = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:ahead-of-all"}]);
    let patch = Patch::Json::<()>(serde_json::from_value(image).unwrap());
    live.api.patch("ahead", &PatchParams::default(), &patch).await.unwrap();
    let is_made =
        |all: &[DynamicObject]| all.iter().any(|job| job.data["spec"]["image"] == "nginx:ahead-of-all");
    let jobs = here.api("v1beta1", "ImagePullJob");
    let job = wait::until_all_within(&jobs, &ListParams::default(), "a job", PATIENCE, is_made)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(job.data["spec"]["parallelism"], 2);
    let uid = job.metadata.uid.unwrap();
    let asked = |one: &DynamicObject| {
        let owners = one.data["spec"]["images"]["nginx"]["tags"].as_array().into_iter().flatten();
        owners
            .flat_map(|tag| tag["ownerReferences"].as_array().into_iter().flatten())
            .any(|owner| owner["uid"] == uid.as_str())
    };
    let is_asked = |all: &[DynamicObject]| all.iter().any(asked);
    let nodes =
        wait::until_all_within(&here.nodes, &ListParams::default(), "a node is asked", PATIENCE, is_asked)
            .await
            .unwrap();
    assert!(nodes.iter().filter(|one| asked(one)).count() <= 2, "parallelism");
}

/// Scenarios 13 and 14, section 6: refusals name the field and what is allowed, in both versions.
#[tokio::test]
async fn images_scenarios_13_14_bad_objects_are_refused() {
    let here = Images::new("ipj-refused", &["a"]).await;
    let refusal = |answer: Result<DynamicObject, kube::Error>| match answer {
        Err(kube::Error::Api(status)) => status.message,
        other => panic!("{other:?}"),
    };
    for version in ["v1alpha1", "v1beta1"] {
        for (more, word) in [
            (json!({"image": "NOT AN IMAGE"}), "spec.image"),
            (json!({"image": "nginx", "parallelism": "10%"}), "parallelism"),
            (json!({"image": "nginx", "podSelector": {}}), "podSelector"),
        ] {
            let message = refusal(here.create(version, "ImagePullJob", "bad", more).await);
            assert!(message.contains(word), "{message}");
        }
        let twice = json!({"images": ["nginx:1", "nginx:1"]});
        let message = refusal(here.create(version, "ImageListPullJob", "bad", twice).await);
        assert!(message.contains("images"), "{message}");
    }
    let digest = format!("registry:5000/a/b:1@sha256:{}", "a".repeat(64));
    here.create("v1beta1", "ImagePullJob", "j", json!({"image": digest})).await.unwrap();
    let tag = format!("sha256:{}", "a".repeat(64));
    here.until_node("a", "the digest is asked", |one| number(one, "registry:5000/a/b", &tag) == Some(0))
        .await;
    let change = Patch::Merge(json!({"spec": {"pullSecrets": ["other"]}}));
    let message =
        refusal(here.api("v1beta1", "ImagePullJob").patch("j", &PatchParams::default(), &change).await);
    assert!(message.contains("pullSecrets"), "{message}");
}
