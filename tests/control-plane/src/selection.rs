//! Which pods the webhook entries select, as a real API server reads it: an entry that leads nowhere and fails closed stops
//! exactly the requests that it is asked about.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Pod;
use kruise_core::admission::selection::{
    Concern, Conditions, Namespaces, Place, Selection, Sight, Width, select,
};
use kruise_core::order::Selector;
use kruise_testbed::{Scratch, scratch_without_manager};
use kube::Api;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);
/// Of the annotation and the label that these tests use; no other test has it.
const KEY: &str = "selection.kruise.io/test";

struct World(Scratch);

impl World {
    async fn new() -> Self {
        Self(scratch_without_manager("selection").await.unwrap())
    }

    fn here(&self) -> Namespaces {
        Namespaces::Named(BTreeSet::from([self.0.namespace.clone()]))
    }

    fn owned(&self, name: &str) -> Concern {
        Concern::OwnedBy {
            namespace: self.0.namespace.clone(),
            kind: "StatefulSet".into(),
            name: name.into(),
        }
    }

    /// An entry that nobody answers.
    async fn install(&self, rule: (&str, &[&str]), selection: &Selection) {
        let (resource, operations) = rule;
        let name = self.0.namespace.as_str();
        let entry = json!({
            "name": "v.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "timeoutSeconds": 1, "clientConfig": {"url": "https://127.0.0.1:1/nobody"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": [resource]}],
            "namespaceSelector": selection.namespace_selector, "objectSelector": selection.object_selector,
            "matchConditions": selection.match_conditions,
        });
        let object =
            serde_json::from_value(json!({"metadata": {"name": name}, "webhooks": [entry]})).unwrap();
        self.configurations().create(&PostParams::default(), &object).await.unwrap();
    }

    async fn uninstall(&self) {
        self.configurations().delete(&self.0.namespace, &DeleteParams::default()).await.unwrap();
    }

    fn configurations(&self) -> Api<ValidatingWebhookConfiguration> {
        Api::all(self.0.client.clone())
    }

    fn pods(&self) -> Api<Pod> {
        self.0.api()
    }

    async fn create(&self, name: &str, metadata: &Value) -> Asked {
        let mut pod =
            json!({"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}});
        pod["metadata"]["name"] = json!(name);
        asked(self.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await)
    }

    /// As [`World::create`]; the pod does not stay.
    async fn probe(&self, metadata: &Value) -> Asked {
        let answer = self.create("probe", metadata).await;
        if answer == Asked::No {
            self.delete("probe").await;
        }
        answer
    }

    async fn change(&self, name: &str, change: Value) -> Asked {
        asked(self.pods().patch(name, &PatchParams::default(), &Patch::Merge(change)).await)
    }

    async fn delete(&self, name: &str) -> Asked {
        asked(self.pods().delete(name, &DeleteParams::default().grace_period(0)).await)
    }
}

/// Whether the API server called the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Yes,
    No,
}

fn asked<T>(outcome: Result<T, kube::Error>) -> Asked {
    match outcome {
        Ok(_) => Asked::No,
        Err(kube::Error::Api(status)) if status.message.contains("failed calling webhook") => Asked::Yes,
        Err(error) => panic!("{error}"),
    }
}

fn selected(concerns: impl IntoIterator<Item = Concern>, sight: Sight) -> Selection {
    let place = Place { own_namespace: "kruise-system".into(), conditions: Conditions::Known };
    select(&concerns.into_iter().collect(), sight, &place)
}

/// The API server learns of a configuration with a delay.
async fn until<F: Future<Output = Asked>>(wanted: Asked, ask: impl Fn() -> F) {
    let start = Instant::now();
    while ask().await != wanted {
        assert!(start.elapsed() < PATIENCE, "the API server does not know the configuration");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// `object` is null on deletion, and a change is seen by what the pod was and by what it becomes.
#[tokio::test]
async fn stored_pods_are_selected_on_change_and_deletion() {
    let world = World::new().await;
    let annotated = json!({"annotations": {KEY: "x"}});
    for (name, metadata) in [("meant", &annotated), ("other", &json!({})), ("joins", &json!({}))] {
        assert_eq!(world.create(name, metadata).await, Asked::No);
    }
    let concern = Concern::Annotated { namespaces: world.here(), key: KEY.into() };
    world.install(("pods", &["UPDATE", "DELETE"]), &selected([concern], Sight::Stored)).await;
    let label = |value: usize| json!({"metadata": {"labels": {"changed": value.to_string()}}});
    until(Asked::Yes, || world.change("meant", label(1))).await;

    assert_eq!(world.change("other", label(1)).await, Asked::No);
    assert_eq!(world.change("joins", json!({"metadata": annotated})).await, Asked::Yes);
    assert_eq!(world.change("meant", json!({"metadata": {"annotations": {KEY: null}}})).await, Asked::Yes);
    assert_eq!(world.delete("meant").await, Asked::Yes);
    assert_eq!(world.delete("other").await, Asked::No);
    world.uninstall().await;
}

#[tokio::test]
async fn evictions_are_selected_by_namespace() {
    let (world, elsewhere) = (World::new().await, World::new().await);
    for one in [&world, &elsewhere] {
        assert_eq!(one.create("a", &json!({})).await, Asked::No);
    }
    let concern = Concern::Annotated { namespaces: world.here(), key: KEY.into() };
    world.install(("pods/eviction", &["CREATE"]), &selected([concern], Sight::Namespace)).await;
    let pods = world.pods();
    let tried = EvictParams {
        post_options: PostParams { dry_run: true, ..PostParams::default() },
        ..EvictParams::default()
    };
    until(Asked::Yes, || async { asked(pods.evict("a", &tried).await) }).await;

    assert_eq!(asked(elsewhere.pods().evict("a", &tried).await), Asked::No);
    assert_eq!(world.delete("a").await, Asked::No, "a deletion is not an eviction");
    world.uninstall().await;
}

#[tokio::test]
async fn new_pods_are_selected_by_labels_and_owners() {
    let world = World::new().await;
    let selector = json!({"matchLabels": {KEY: "web"}, "matchExpressions": [
        {"key": "tier", "operator": "NotIn", "values": ["test"]},
        {"key": "team", "operator": "Exists"},
        {"key": "skip", "operator": "DoesNotExist"},
    ]});
    let selector = Selector::read(&selector).unwrap();
    let labelled = Concern::Labelled { namespaces: Namespaces::All, selector };
    world.install(("pods", &["CREATE"]), &selected([labelled, world.owned("db")], Sight::New)).await;
    let labels = |more: Value| {
        let mut labels = json!({KEY: "web", "team": "a"});
        labels.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"labels": labels})
    };
    let owner = |name: &str| {
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": "u", "controller": true});
        json!({"ownerReferences": [owner]})
    };
    let meant = labels(json!({}));
    until(Asked::Yes, || world.probe(&meant)).await;

    assert_eq!(world.create("a", &labels(json!({"tier": "shop"}))).await, Asked::Yes);
    assert_eq!(world.create("b", &owner("db")).await, Asked::Yes);
    for (name, metadata) in [
        ("c", labels(json!({"tier": "test"}))),
        ("d", labels(json!({"skip": ""}))),
        ("e", json!({"labels": {KEY: "web"}})),
        ("f", json!({})),
        ("g", owner("other")),
    ] {
        assert_eq!(world.create(name, &metadata).await, Asked::No, "{name}");
    }
    world.uninstall().await;
}

/// 16.2: the longest expression that is written is compiled and evaluated; more objects select the namespace.
#[tokio::test]
async fn many_owners_with_long_names_are_taken_by_the_api_server() {
    let world = World::new().await;
    let of = |count: usize| {
        let owners = (0..count).map(|i| world.owned(&format!("{}-{i}", "a".repeat(200))));
        selected(owners, Sight::New)
    };
    let longest = (1..400).map(of).take_while(|one| one.width == Width::Exact).last().unwrap();
    world.install(("pods", &["CREATE"]), &longest).await;
    let name = format!("{}-0", "a".repeat(200));
    let owner =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": "u", "controller": true});
    let meant = json!({"ownerReferences": [owner]});
    until(Asked::Yes, || world.probe(&meant)).await;
    assert_eq!(world.create("other", &json!({})).await, Asked::No);
    world.uninstall().await;

    let (wider, any) = (of(400), json!({}));
    assert_eq!(wider.width, Width::Namespaces);
    world.install(("pods", &["CREATE"]), &wider).await;
    until(Asked::Yes, || world.probe(&any)).await;
    world.uninstall().await;
}
