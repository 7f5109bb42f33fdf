//! From a release of the original to ours in place, and back: what helm changes, what stays. In a cluster of its own.
//!
//! The original's chart is not here; `fixtures/original` leaves what it leaves: names, labels, selectors, and definitions that
//! know v1alpha1 alone.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kruise_testbed::certs::{Authority, Subject};
use kruise_testbed::chart::Chart;
use kruise_testbed::simnodes::{self, SimNodes};
use kruise_testbed::{Cluster, Options, manager, wait};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

const SYSTEM: &str = "kruise-system";
const SECRET: &str = "kruise-webhook-certs";
const DEPLOYMENT: &str = "kruise-controller-manager";
const MUTATING: &str = "kruise-mutating-webhook-configuration";
const VALIDATING: &str = "kruise-validating-webhook-configuration";

struct World {
    cluster: Cluster,
    _nodes: SimNodes,
    client: Client,
    chart: Chart,
}

/// What must be the same before and after.
#[derive(Debug, PartialEq)]
struct Kept {
    address: Option<String>,
    deployment: Option<String>,
    namespace_of_pull_secrets: Option<String>,
    cloneset: Option<String>,
}

/// Install acceptance 3 and 4, IN-2, IN-3, UN-6: upgraded, taken over, and rolled back.
#[tokio::test]
async fn in_2_release_of_the_original_is_upgraded_in_place_and_rolled_back() {
    let world = world().await;
    let original = tempfile::tempdir().unwrap();
    write_original(original.path());
    let original = original.path().display().to_string();
    world.helm(&["install", "kruise", &original]).await;
    world.original_starts().await;
    let entries = world.ask_nobody().await;
    world.create_cloneset().await;
    world.ask_again(&entries).await;
    let (before, certificates) = (world.kept().await, world.certificates().await);

    let ours = world.chart.dir.display().to_string();
    install_f14_notes_name_unknown_gates(&world, &ours).await;
    world.helm(&["upgrade", "kruise", &ours]).await;

    assert_eq!(world.kept().await, before);
    assert!(world.certificates().await == certificates, "the secret was changed by the upgrade");
    let pods = world.pod_entry().await;
    assert!(pods["matchConditions"].is_null(), "16.16: as wide as before while the original leads: {pods}");
    assert_eq!(pods["objectSelector"], json!({}));
    world.agent_stays().await;
    world.start_manager();
    world.is_taken_over(&certificates["ca-cert.pem"]).await;
    world.pods_are_narrowed().await;
    assert!(world.certificates().await == certificates, "the secret was changed by our manager");

    world.store_the_older_version().await;
    world.cluster.stop(manager::PART).unwrap();
    world.leave_loopback().await;
    world.helm(&["rollback", "kruise", "1"]).await;

    assert_eq!(world.kept().await, before);
    let restored = world.pod_entry().await;
    assert!(
        restored["matchConditions"].is_null(),
        "16.13: the original is asked about all restored again: {restored}"
    );
    assert_eq!(restored["objectSelector"], json!({}));
    assert_eq!(
        restored["namespaceSelector"]["matchExpressions"][0]["key"], "control-plane",
        "its own selector"
    );
    // Its first revision had an empty secret; the original fills it again when it starts.
    assert!(world.certificates().await.is_empty());
    let read = world.clonesets("v1alpha1").get("web").await.unwrap();
    assert_eq!(read.data["spec"]["updateStrategy"]["type"], "InPlaceIfPossible");
    let image = world.deployment().await.spec.unwrap().template.spec.unwrap().containers[0].image.clone();
    assert_eq!(image.as_deref(), Some("openkruise/kruise-manager:v1.8.3"));
    refuses_to_forget_a_stored_version(&world, &ours, &before).await;
}

/// F14: who misspells a gate learns it from helm, before the manager says so.
async fn install_f14_notes_name_unknown_gates(world: &World, ours: &str) {
    let gates = "--set=featureGates=UnusedFeature=false\\,PodWebhook=maybe\\,KruiseDaemon=false";

    let told = world.helm(&["upgrade", "kruise", ours, "--dry-run=client", gates]).await;

    for entry in ["UnusedFeature=false", "PodWebhook=maybe"] {
        assert!(told.contains(&format!("WARNING: featureGates has \"{entry}\"")), "{told}");
    }
    assert!(!told.contains("featureGates has \"KruiseDaemon"), "{told}");
}

/// The same without the preparation: definitions protect what is stored, and no object is lost.
async fn refuses_to_forget_a_stored_version(world: &World, ours: &str, before: &Kept) {
    world.helm(&["upgrade", "kruise", ours]).await;
    let refused = world.try_helm(&["rollback", "kruise", "1"]).await;
    assert!(refused.contains("storedVersions"), "{refused}");
    assert_eq!(world.kept().await, *before);
}

async fn world() -> World {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    let nodes = SimNodes::start(cluster.client_named(simnodes::USER_AGENT).await.unwrap(), 2).await.unwrap();
    let chart = Chart::find().await.unwrap();
    World { cluster, _nodes: nodes, client, chart }
}

/// The fixture, and definitions as in 1.8: one version for all kinds, two for StatefulSets.
pub fn write_original(dir: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/original");
    std::fs::create_dir(dir.join("templates")).unwrap();
    for part in ["Chart.yaml", "values.yaml"] {
        std::fs::copy(fixture.join(part), dir.join(part)).unwrap();
    }
    for entry in std::fs::read_dir(fixture.join("templates")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), dir.join("templates").join(entry.file_name())).unwrap();
    }
    let definitions: Vec<String> =
        kruise_api::crd::all_crds().into_iter().map(|crd| older(crd).to_string()).collect();
    std::fs::write(dir.join("templates/definitions.yaml"), definitions.join("\n---\n")).unwrap();
}

fn older(mut definition: Value) -> Value {
    if definition["metadata"]["name"] != "statefulsets.apps.kruise.io" {
        let spec = definition["spec"].as_object_mut().unwrap();
        spec.remove("conversion");
        let versions = spec["versions"].as_array_mut().unwrap();
        versions.retain(|version| version["name"] == "v1alpha1");
        versions[0]["storage"] = json!(true);
    }
    definition
}

impl World {
    async fn helm(&self, args: &[&str]) -> String {
        self.chart.helm(&self.cluster, args).await.unwrap()
    }

    /// What a command that fails says.
    async fn try_helm(&self, args: &[&str]) -> String {
        let output = self.chart.try_helm(&self.cluster, args).await.unwrap();
        assert!(!output.status.success(), "{args:?} succeeded");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn system<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), SYSTEM)
    }

    fn clonesets(&self, version: &str) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", version, "CloneSet"));
        Api::namespaced_with(self.client.clone(), "default", &kind)
    }

    async fn deployment(&self) -> Deployment {
        self.system::<Deployment>().get(DEPLOYMENT).await.unwrap()
    }

    async fn kept(&self) -> Kept {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let service = self.system::<Service>().get("kruise-webhook-service").await.unwrap();
        let cloneset: Api<Crd> = Api::all(self.client.clone());
        Kept {
            address: service.spec.unwrap().cluster_ip,
            deployment: self.deployment().await.metadata.uid,
            namespace_of_pull_secrets: namespaces.get("kruise-daemon-config").await.unwrap().metadata.uid,
            cloneset: cloneset.get("clonesets.apps.kruise.io").await.unwrap().metadata.uid,
        }
    }

    async fn certificates(&self) -> BTreeMap<String, ByteString> {
        self.system::<Secret>().get(SECRET).await.unwrap().data.unwrap_or_default()
    }

    /// What its manager does first: certificates into the secret, and the CA into the configuration.
    async fn original_starts(&self) {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::create(dir.path()).unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let subject = Subject { common_name: "127.0.0.1", names, ..Subject::default() };
        let pair = authority.issue("serving", &subject).unwrap();
        let read = |path: &Path| json!(ByteString(std::fs::read(path).unwrap()));
        let (certificate, key) = (read(&pair.certificate), read(&pair.key));
        let data = json!({
            "ca-cert.pem": read(&authority.ca()), "ca-key.pem": read(&authority.file("ca.key")),
            "cert.pem": certificate, "key.pem": key, "tls.crt": certificate, "tls.key": key,
        });
        let patch = Patch::Merge(json!({"data": data}));
        self.system::<Secret>().patch(SECRET, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Nobody is asked: the manager that would be is not there. Says who was.
    async fn ask_nobody(&self) -> [Value; 2] {
        let entries = [self.entries(MUTATING).await, self.entries(VALIDATING).await];
        self.ask_again(&[json!([]), json!([])]).await;
        entries
    }

    async fn ask_again(&self, [mutating, validating]: &[Value; 2]) {
        let patch = |webhooks: &Value| Patch::Merge(json!({"webhooks": webhooks}));
        let some: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        some.patch(MUTATING, &PatchParams::default(), &patch(mutating)).await.unwrap();
        let others: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        others.patch(VALIDATING, &PatchParams::default(), &patch(validating)).await.unwrap();
    }

    async fn entries(&self, name: &str) -> Value {
        if name == MUTATING {
            let all: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
            return json!(all.get(name).await.unwrap().webhooks);
        }
        let all: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        json!(all.get(name).await.unwrap().webhooks)
    }

    async fn pod_entry(&self) -> Value {
        let all = self.entries(MUTATING).await;
        let entry = all.as_array().unwrap().iter().find(|entry| entry["name"] == "mpod.kb.io");
        entry.expect("an entry about pods").clone()
    }

    async fn pods_are_narrowed(&self) {
        let all: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let is_narrow = |one: &MutatingWebhookConfiguration| {
            let pods = one.webhooks.iter().flatten().find(|entry| entry.name == "mpod.kb.io");
            pods.is_some_and(|entry| entry.match_conditions.is_some())
        };
        wait::until(&all, MUTATING, "our selection of pods", is_narrow).await.unwrap();
    }

    /// Only here the API server reaches a manager by an address; in a cluster the Service stands there all the time, and a
    /// chart that says Service cannot be merged with an address. Everything else stays as it is.
    async fn leave_loopback(&self) {
        let mut entries = [self.entries(MUTATING).await, self.entries(VALIDATING).await];
        for entry in entries.iter_mut().flat_map(|all| all.as_array_mut().unwrap()) {
            let url = entry["clientConfig"]["url"].as_str().unwrap().to_owned();
            let path = &url[url.find("/mutate").or_else(|| url.find("/validate")).unwrap()..];
            let service =
                json!({"name": "kruise-webhook-service", "namespace": SYSTEM, "path": path, "port": 443});
            entry["clientConfig"] =
                json!({"service": service, "caBundle": entry["clientConfig"]["caBundle"]});
        }
        self.ask_again(&entries).await;
        let service = json!({"name": "kruise-webhook-service", "namespace": SYSTEM, "path": "/convert"});
        let client = json!({"clientConfig": {"url": null, "service": service}});
        let patch = Patch::Merge(json!({"spec": {"conversion": {"webhook": client}}}));
        let definitions: Api<Crd> = Api::all(self.client.clone());
        definitions.patch("statefulsets.apps.kruise.io", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn create_cloneset(&self) {
        let object = json!({
            "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "web"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "updateStrategy": {"type": "InPlaceIfPossible"},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}},
            },
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        for _ in 0..50 {
            match self.clonesets("v1alpha1").create(&PostParams::default(), &object).await {
                Ok(_) => return,
                // The API server learns of definitions and of the empty configurations with a delay.
                Err(kube::Error::Api(status))
                    if status.code == 404 || status.message.contains("failed calling webhook") => {}
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
        panic!("the CloneSet could not be created");
    }

    /// The agent is swapped in place: the same object, and no other.
    async fn agent_stays(&self) {
        let all = self.system::<DaemonSet>().list(&ListParams::default()).await.unwrap();
        let names: Vec<_> = all.items.iter().map(|one| one.metadata.name.as_deref()).collect();
        assert_eq!(names, [Some("kruise-daemon")]);
        let generation = all.items.first().and_then(|one| one.metadata.generation);
        assert!(generation > Some(1), "it was created anew: {generation:?}");
    }

    /// With the roles that the upgrade left, and nothing else.
    fn start_manager(&self) {
        let kubeconfig = self.cluster.kubeconfig_of(manager::USER).unwrap();
        let args = manager::args_with_webhooks(&kubeconfig, manager::free_port().unwrap());
        self.cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
    }

    async fn is_taken_over(&self, ca: &ByteString) {
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let is_ours = |one: &ValidatingWebhookConfiguration| {
            let entries = one.webhooks.as_deref().unwrap_or_default();
            let is_known = |path: &str| {
                entries
                    .iter()
                    .any(|entry| entry.client_config.url.as_ref().is_some_and(|url| url.ends_with(path)))
            };
            is_known("/validate-apps-kruise-io-cloneset")
                && entries.iter().all(|entry| entry.client_config.ca_bundle.as_ref() == Some(ca))
        };
        wait::until(&configurations, VALIDATING, "our entries with the CA of the original", is_ours)
            .await
            .unwrap();
        let pods: Api<Pod> = Api::default_namespaced(self.client.clone());
        let two = |all: &[Pod]| {
            all.iter()
                .filter(|pod| {
                    pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
                })
                .count()
                == 2
        };
        wait::until_all(&pods, &ListParams::default().labels("app=web"), "the pods of the CloneSet", two)
            .await
            .unwrap();
        // Stored as v1alpha1 by the original, read as v1beta1.
        let read = self.clonesets("v1beta1").get("web").await.unwrap();
        assert_eq!(
            read.data["spec"]["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"],
            "InPlaceIfPossible"
        );
    }

    /// What docs/upgrade.md tells users to do before they go back to a release that knows v1alpha1 alone: all definitions
    /// first, then the objects, because the API server learns of a definition with a delay.
    async fn store_the_older_version(&self) {
        let definitions: Api<Crd> = Api::all(self.client.clone());
        let mut all = definitions.list(&ListParams::default()).await.unwrap().items;
        all.retain(|one| one.spec.versions.len() == 2 && one.spec.names.kind != "StatefulSet");
        let names: Vec<String> = all.iter().filter_map(|one| one.metadata.name.clone()).collect();
        for (definition, name) in all.iter().zip(&names) {
            let mut versions = json!(definition.spec.versions);
            for version in versions.as_array_mut().unwrap() {
                version["storage"] = json!(version["name"] == "v1alpha1");
            }
            let stored = Patch::Merge(json!({"spec": {"versions": versions}}));
            definitions.patch(name, &PatchParams::default(), &stored).await.unwrap();
        }
        self.write_again().await;
        let only = Patch::Merge(json!({"status": {"storedVersions": ["v1alpha1"]}}));
        for name in &names {
            definitions.patch_status(name, &PatchParams::default(), &only).await.unwrap();
        }
    }

    /// Any write stores an object anew. The certificates are new, too: the API server learns of their CA with a delay.
    async fn write_again(&self) {
        let touch = Patch::Merge(json!({"metadata": {"annotations": {"stored-again": "true"}}}));
        let mut last = None;
        for _ in 0..150 {
            match self.clonesets("v1alpha1").patch("web", &PatchParams::default(), &touch).await {
                Ok(_) => return,
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
        panic!("the CloneSet could not be stored again: {last:?}");
    }
}
