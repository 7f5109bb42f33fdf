//! Acceptance scenarios of ResourceDistribution (section 8 of its specification) on the real control plane. Each test selects its own
//! namespaces by a label of its own.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kruise_testbed::{Scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(3);

struct Here {
    test: Scratch,
}

impl Here {
    async fn new(name: &str) -> Self {
        Self { test: scratch_with_all_gates(name).await.unwrap() }
    }

    fn api(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apps.kruise.io", version, "ResourceDistribution");
        Api::all_with(self.test.client.clone(), &ApiResource::from_gvk(&kind))
    }

    /// Also the name of the distribution and of what it distributes.
    fn name(&self) -> &str {
        &self.test.namespace
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.name())
    }

    /// One that the selector matches.
    async fn add(&self, name: &str) -> String {
        self.add_with(name, json!({"of": self.name()})).await
    }

    async fn add_with(&self, name: &str, labels: Value) -> String {
        let name = self.namespace(name);
        let object = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
        self.namespaces().create(&PostParams::default(), &object).await.unwrap();
        name
    }

    fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.test.client.clone())
    }

    fn selector(&self) -> Value {
        json!({"matchLabels": {"of": self.name()}})
    }

    async fn create(
        &self,
        version: &str,
        name: &str,
        resource: Value,
        targets: Value,
    ) -> Result<DynamicObject, kube::Error> {
        let mut resource = resource;
        resource["apiVersion"] = json!("v1");
        resource["metadata"]["name"] = json!(self.name());
        let object = json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "ResourceDistribution", "metadata": {"name": name},
            "spec": {"resource": resource, "targets": targets},
        });
        self.api(version).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
    }

    async fn edit(&self, name: &str, patch: Value) {
        self.api("v1beta1").patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn until(&self, name: &str, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let one = ListParams::default().fields(&format!("metadata.name={name}"));
        let has = |all: &[DynamicObject]| all.iter().any(|object| ok(&object.data["status"]));
        let api = self.api("v1beta1");
        wait::until_all_within(&api, &one, what, PATIENCE, has).await.unwrap().remove(0).data["status"]
            .clone()
    }

    /// Namespaces of this test that have the object, and how they hold it.
    async fn until_copies<K>(&self, what: &str, ok: impl Fn(&[K]) -> bool)
    where
        K: wait::Watched + kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        let all: Api<K> = Api::all(self.test.client.clone());
        let named = ListParams::default().fields(&format!("metadata.name={}", self.name()));
        wait::until_all_within(&all, &named, what, PATIENCE, ok).await.unwrap();
    }
}

fn places<K: kube::Resource>(all: &[K]) -> Vec<String> {
    let mut names: Vec<String> = all.iter().filter_map(ResourceExt::namespace).collect();
    names.sort();
    names
}

fn counts(status: &Value) -> (i64, i64) {
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    (number("desired"), number("succeeded"))
}

/// Scenarios 1, 2 and 11: a Secret follows namespaces and their labels, is repaired and comes back; at rest it is not written.
#[tokio::test]
async fn resourcedistribution_scenarios_1_2_11_secret_follows_namespaces_and_is_repaired() {
    let here = Here::new("rd-follows").await;
    let secret = json!({"kind": "Secret", "stringData": {"k": "v"}});
    let targets = json!({"namespaceLabelSelector": here.selector()});
    here.create("v1alpha1", here.name(), secret, targets).await.unwrap();
    let a = here.add("a").await;
    let b = here.add_with("b", json!({})).await;
    here.until_copies("the first one", |all: &[Secret]| places(all) == [a.clone()]).await;
    let label = Patch::Merge(json!({"metadata": {"labels": {"of": here.name()}}}));
    here.namespaces().patch(&b, &PatchParams::default(), &label).await.unwrap();
    here.until_copies("both", |all: &[Secret]| places(all) == [a.clone(), b.clone()]).await;
    here.until(here.name(), "both are counted", |status| counts(status) == (2, 2)).await;

    let copies: Api<Secret> = Api::namespaced(here.test.client.clone(), &a);
    let edit = Patch::Merge(json!({"stringData": {"more": "x"}}));
    copies.patch(here.name(), &PatchParams::default(), &edit).await.unwrap();
    let has_one_key =
        |all: &[Secret]| all.len() == 2 && all.iter().all(|one| one.data.as_ref().unwrap().len() == 1);
    here.until_copies("the edit is reverted", has_one_key).await;
    copies.delete(here.name(), &DeleteParams::default()).await.unwrap();
    here.until_copies("it is back", |all: &[Secret]| places(all) == [a.clone(), b.clone()]).await;

    let before = copies.get(here.name()).await.unwrap().resource_version();
    here.edit(here.name(), json!({"spec": {"resource": {"type": "Opaque"}}})).await;
    here.until(here.name(), "the new spec is seen", |status| status["observedGeneration"] == 2).await;
    assert_eq!(
        copies.get(here.name()).await.unwrap().resource_version(),
        before,
        "equal contents are not written"
    );
}

/// Scenarios 3, 10, 13 and 15: included, selected and excluded namespaces; labels follow; a namespace goes; targets get fewer; all copies
/// go with the distribution.
#[tokio::test]
async fn resourcedistribution_scenarios_3_10_13_15_full_cycle() {
    let here = Here::new("rd-cycle").await;
    let (a, b, c) = (here.add("a").await, here.add("b").await, here.add_with("c", json!({})).await);
    let x = here.add("x").await;
    let list = |names: &[&String]| json!({"list": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
    let map = json!({"kind": "ConfigMap", "data": {"k": "v"}});
    let targets = json!({"namespaceSelector": here.selector(), "includedNamespaces": list(&[&c]), "excludedNamespaces": list(&[&x])});
    here.create("v1beta1", here.name(), map, targets).await.unwrap();
    let full = here.until(here.name(), "three copies", |status| counts(status) == (3, 3)).await;
    let conditions = full["conditions"].as_array().unwrap();
    assert!(conditions.len() == 6 && conditions.iter().all(|one| one["status"] == "False"), "{full}");
    here.until_copies("not where it is excluded", |all: &[ConfigMap]| {
        places(all) == [a.clone(), b.clone(), c.clone()]
    })
    .await;

    here.edit(
        here.name(),
        json!({"spec": {"resource": {"metadata": {"labels": {"team": "y"}}, "data": {"k": "w"}}}}),
    )
    .await;
    let is_new =
        |one: &ConfigMap| one.data.as_ref().unwrap()["k"] == "w" && one.labels().contains_key("team");
    here.until_copies("all are new", |all: &[ConfigMap]| all.len() == 3 && all.iter().all(is_new)).await;

    here.namespaces().delete(&c, &DeleteParams::default()).await.unwrap();
    let missing = here.until(here.name(), "one is missing", |status| counts(status) == (3, 2)).await;
    assert_eq!(missing["conditions"][5]["failedNamespaces"], json!([c]));
    here.edit(
        here.name(),
        json!({"spec": {"targets": {"namespaceSelector": null, "includedNamespaces": list(&[&a])}}}),
    )
    .await;
    here.until(here.name(), "one is left", |status| counts(status) == (1, 1)).await;
    here.until_copies("only there", |all: &[ConfigMap]| places(all) == [a.clone()]).await;
    here.api("v1beta1").delete(here.name(), &DeleteParams::default()).await.unwrap();
    here.until_copies("none", <[ConfigMap]>::is_empty).await;
}

/// Scenarios 8 and 9: what others own is never touched, and makes room when it goes; the same for a second distribution.
#[tokio::test]
async fn resourcedistribution_scenarios_8_9_conflicts_end_when_the_other_goes() {
    let here = Here::new("rd-conflict").await;
    let a = here.add("a").await;
    let maps: Api<ConfigMap> = Api::namespaced(here.test.client.clone(), &a);
    let theirs = json!({"metadata": {"name": here.name()}, "data": {"k": "theirs"}});
    maps.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    let map = |value: &str| json!({"kind": "ConfigMap", "data": {"k": value}});
    let targets = || json!({"namespaceSelector": here.selector()});
    here.create("v1beta1", here.name(), map("first"), targets()).await.unwrap();
    let conflict = |status: &Value| status["conditions"][4]["failedNamespaces"] == json!([a]);
    here.until(here.name(), "a conflict", conflict).await;
    let second = here.namespace("second");
    here.create("v1beta1", &second, map("second"), targets()).await.unwrap();
    here.until(&second, "a conflict", conflict).await;
    assert_eq!(maps.get(here.name()).await.unwrap().data.unwrap()["k"], "theirs");

    let holds = |value: &'static str| {
        move |all: &[ConfigMap]| all.len() == 1 && all[0].data.as_ref().unwrap()["k"] == value
    };
    here.api("v1beta1").delete(&second, &DeleteParams::default()).await.unwrap();
    maps.delete(here.name(), &DeleteParams::default()).await.unwrap();
    here.until_copies("the copy takes its place", holds("first")).await;
    here.create("v1beta1", &second, map("second"), targets()).await.unwrap();
    here.until(&second, "a conflict", conflict).await;
    here.api("v1beta1").delete(here.name(), &DeleteParams::default()).await.unwrap();
    here.until_copies("the second one fills in", holds("second")).await;
    here.until(&second, "no conflict", |status| counts(status) == (1, 1)).await;
    here.api("v1beta1").delete(&second, &DeleteParams::default()).await.unwrap();
}

/// Scenarios 5, 12, 14: refusals, also those that only the API server knows, and what v1alpha1 looks like in v1beta1.
#[tokio::test]
async fn resourcedistribution_scenarios_5_12_14_bad_objects_are_refused() {
    let here = Here::new("rd-refused").await;
    let both = json!({"includedNamespaces": {"list": [{"name": "a"}]}, "excludedNamespaces": {"list": [{"name": "a"}]}});
    let tls = json!({"kind": "Secret", "type": "kubernetes.io/tls", "stringData": {"k": "v"}});
    for (resource, targets, words) in [
        (json!({"kind": "ConfigMap"}), both, "ambiguous targets"),
        (tls, json!({}), "tls.crt"),
        (json!({"kind": "ConfigMap", "data": {"k": "x".repeat(1_100_000)}}), json!({}), "Too long"),
    ] {
        match here.create("v1beta1", here.name(), resource, targets).await {
            Err(kube::Error::Api(status)) => assert!(status.message.contains(words), "{}", status.message),
            other => panic!("{words}: {other:?}"),
        }
    }
    let targets = json!({"includedNamespaces": {"list": [{"name": "kube-system"}, {"name": here.name()}]}});
    here.create("v1alpha1", here.name(), json!({"kind": "ConfigMap", "data": {"k": "v"}}), targets)
        .await
        .unwrap();
    here.until(here.name(), "one copy", |status| counts(status) == (1, 1)).await;
    here.until_copies("not in kube-system", |all: &[ConfigMap]| places(all) == [here.name()]).await;
    let stored = here.api("v1beta1").get(here.name()).await.unwrap();
    assert_eq!(stored.data["spec"]["targets"]["includedNamespaces"]["list"].as_array().unwrap().len(), 2);
    here.api("v1beta1").delete(here.name(), &DeleteParams::default()).await.unwrap();
}
