//! Three managers that start at once: one of them leads, all of them serve, and none of them fights another over
//! certificates. In a cluster of its own.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{Event, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kruise_testbed::certs::Authority;
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use crate::pages::until_says;

const REPLICAS: usize = 3;
const SECRET: &str = "kruise-webhook-certs";
const MUTATING: &str = "kruise-mutating-webhook-configuration";
const VALIDATING: &str = "kruise-validating-webhook-configuration";
/// One of each group: no group is looked at less often.
const DEFINITIONS: [&str; 2] = ["clonesets.apps.kruise.io", "podunavailablebudgets.policy.kruise.io"];
/// Less than the minute after which everything is looked at again: only an event is this fast.
const BY_EVENT: std::time::Duration = std::time::Duration::from_secs(20);

struct Replica {
    part: String,
    process: u32,
    webhooks: u16,
    health: u16,
    metrics: u16,
}

struct World {
    cluster: Cluster,
    client: Client,
    replicas: Vec<Replica>,
}

async fn world() -> World {
    let cluster = Cluster::start(Options { audit: true, ..Options::default() }).await.unwrap();
    let client = cluster.client();
    crds::install(&client).await.unwrap();
    let kubeconfig = manager::authorize(&cluster, "").await.unwrap();
    let program = manager::program().unwrap();
    let port = || manager::free_port().unwrap();
    let mut replicas: Vec<Replica> = (0..REPLICAS)
        .map(|i| {
            let part = format!("manager-{i}");
            Replica { part, process: 0, webhooks: port(), health: port(), metrics: port() }
        })
        .collect();
    for replica in &mut replicas {
        let args = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--webhook-port={}", replica.webhooks),
            format!("--health-probe-addr=127.0.0.1:{}", replica.health),
            format!("--metrics-addr=127.0.0.1:{}", replica.metrics),
            // A leader that is deposed ends, and nobody starts it again here: a busy machine must not depose one.
            "--leader-election-lease-duration=10s".to_owned(),
            "--leader-election-renew-deadline=8s".to_owned(),
            "--leader-election-retry-period=1s".to_owned(),
        ];
        replica.process = cluster.spawn(&replica.part, program.clone(), args.to_vec()).unwrap();
    }
    World { cluster, client, replicas }
}

/// LE-2, WC-11, platform acceptance 2, install/T19, install/T21, install/T22.
#[tokio::test]
async fn three_replicas_share_one_certificate_and_heal_it_together() {
    let world = world().await;
    for replica in &world.replicas {
        until_says(replica.health, "/readyz", "HTTP/1.1 200").await;
    }
    let first = world.agreed(|_| true).await;
    one_leads_and_all_serve(&world).await;

    // Deleted: nobody has the old CA any more, so that the new one differs.
    world.secrets().delete(SECRET, &DeleteParams::default()).await.unwrap();
    let second = world.agreed(|data| data["ca-cert.pem"] != first["ca-cert.pem"]).await;

    // Corrupt: the CA is still good and stays, only the certificate is made anew.
    let junk = json!({"data": {"cert.pem": "anVuaw==", "tls.crt": null}});
    world.secrets().patch(SECRET, &PatchParams::default(), &Patch::Merge(junk)).await.unwrap();
    let is_whole = |data: &Data| {
        data.len() == 6 && data["cert.pem"] != second["cert.pem"] && data["cert.pem"].0 != b"junk"
    };
    let third = world.agreed(is_whole).await;
    assert_eq!(third["ca-cert.pem"], second["ca-cert.pem"]);

    forged_authorities_are_replaced(&world).await;
    assert_eq!(world.agreed(|_| true).await, third, "nobody touched the secret for that");
    let (made, written) = world.writes_of_the_secret();
    assert_eq!(
        (made, written),
        (2, 1),
        "made at the start and when it was deleted, written when it was corrupt"
    );
    another_leads_when_the_leader_hangs(&world).await;
}

type Data = BTreeMap<String, ByteString>;

impl World {
    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), "kruise-system")
    }

    /// Waits until secret, configurations, definitions and every replica agree, on something that `is_wanted`.
    async fn agreed(&self, is_wanted: impl Fn(&Data) -> bool) -> Data {
        let is_there = |secret: &Secret| {
            secret.data.as_ref().is_some_and(|data| data.contains_key("ca-cert.pem") && is_wanted(data))
        };
        let secret = wait::until(&self.secrets(), SECRET, "the wanted certificates", is_there).await.unwrap();
        let data = secret.data.unwrap();
        let ca = data["ca-cert.pem"].clone();
        let trusts = |bundle: Option<&ByteString>| bundle == Some(&ca);
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        wait::until(&mutating, MUTATING, "the bundle", |one| {
            one.webhooks.iter().flatten().all(|entry| trusts(entry.client_config.ca_bundle.as_ref()))
        })
        .await
        .unwrap();
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        wait::until(&validating, VALIDATING, "the bundle", |one| {
            one.webhooks.iter().flatten().all(|entry| trusts(entry.client_config.ca_bundle.as_ref()))
        })
        .await
        .unwrap();
        let definitions: Api<Crd> = Api::all(self.client.clone());
        for name in kruise_manager::configuration::conversion_crds() {
            wait::until(&definitions, &name, "the bundle", |one| trusts(bundle_of(one).as_ref()))
                .await
                .unwrap();
        }
        for replica in &self.replicas {
            self.until_serves(replica, &ca).await;
        }
        data
    }

    /// As the API server asks: trusting nothing but the bundle.
    async fn until_serves(&self, replica: &Replica, ca: &ByteString) {
        let url = format!("https://localhost:{}", replica.webhooks).parse().unwrap();
        let mut config = Config::new(url);
        config.root_cert = Some(vec![der(&ca.0)]);
        let client = Client::try_from(config).unwrap();
        let mut last = String::new();
        for _ in 0..120 {
            let request = http::Request::get("/healthz").body(Vec::new()).unwrap();
            match client.request_text(request).await {
                Ok(answer) => {
                    assert_eq!(answer, "ok");
                    return;
                }
                Err(error) => last = error.to_string(),
            }
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        }
        panic!("{} never served a certificate of the CA: {last}", replica.part);
    }

    /// How often the secret was made and written with success.
    fn writes_of_the_secret(&self) -> (usize, usize) {
        let log = std::fs::read_to_string(self.cluster.audit_log()).unwrap();
        let events: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let count = |verb: &str| {
            let is_it = |event: &&Value| {
                event["verb"] == verb
                    && event["user"]["username"] == manager::USER
                    && event["objectRef"]["resource"] == "secrets"
                    && event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300)
            };
            events.iter().filter(is_it).count()
        };
        (count("create"), count("update"))
    }
}

fn bundle_of(definition: &Crd) -> Option<ByteString> {
    definition.spec.conversion.as_ref()?.webhook.as_ref()?.client_config.as_ref()?.ca_bundle.clone()
}

/// PL-B1, platform acceptance 8 and 11: the gauge follows the lead; only who leads has workers.
async fn one_leads_and_all_serve(world: &World) {
    let mut leading = 0;
    for replica in &world.replicas {
        let page = until_says(replica.metrics, "/metrics", "kruise_manager_is_leader ").await;
        let says = |line: &str| page.lines().any(|one| one == line);
        for begin in ["rest_client_requests_total{code=\"200\",host=", "process_resident_memory_bytes "] {
            assert!(page.lines().any(|one| one.starts_with(begin)), "{begin}: {page}");
        }
        if says("kruise_manager_is_leader 1") {
            leading += 1;
            assert!(says("leader_election_master_status{name=\"kruise-manager\"} 1"), "{page}");
        } else {
            let workers =
                "controller_runtime_max_concurrent_reconciles{controller=\"cloneset-controller\"} 0";
            assert!(says(workers), "a standby plans nothing: {page}");
        }
    }
    assert_eq!(leading, 1);
}

/// PL-B6, PL-B9, IN-3: another CA in one entry and in one CRD of each group, as somebody would write it by mistake, and none in
/// all entries, as an upgrade leaves them. The event alone heals it.
async fn forged_authorities_are_replaced(world: &World) {
    let secret = world.secrets().get(SECRET).await.unwrap();
    let good = secret.data.unwrap()["ca-cert.pem"].clone();
    let dir = tempfile::tempdir().unwrap();
    let other = ByteString(std::fs::read(Authority::create(dir.path()).unwrap().ca()).unwrap());
    let patch = json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": other}]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch).unwrap());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(world.client.clone());
    validating.patch(VALIDATING, &PatchParams::default(), &patch).await.unwrap();
    let conversion = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": other}}}}});
    let definitions: Api<Crd> = Api::all(world.client.clone());
    for name in DEFINITIONS {
        definitions.patch(name, &PatchParams::default(), &Patch::Merge(&conversion)).await.unwrap();
    }
    let one = |name: &str| ListParams::default().fields(&format!("metadata.name={name}"));
    for name in DEFINITIONS {
        let is_good = |all: &[Crd]| all.iter().any(|crd| bundle_of(crd).as_ref() == Some(&good));
        wait::until_all_within(&definitions, &one(name), "the CA", BY_EVENT, is_good).await.unwrap();
    }
    let is_good = |all: &[ValidatingWebhookConfiguration]| {
        let mut entries = all.iter().flat_map(|found| found.webhooks.iter().flatten());
        !all.is_empty() && entries.all(|entry| entry.client_config.ca_bundle.as_ref() == Some(&good))
    };
    wait::until_all_within(&validating, &one(VALIDATING), "the CA", BY_EVENT, is_good).await.unwrap();
    let mut cleared = validating.get(VALIDATING).await.unwrap();
    for entry in cleared.webhooks.iter_mut().flatten() {
        entry.client_config.ca_bundle = None;
    }
    validating.replace(VALIDATING, &PostParams::default(), &cleared).await.unwrap();
    wait::until_all_within(&validating, &one(VALIDATING), "the CA again", BY_EVENT, is_good).await.unwrap();
}

/// HA-3, platform acceptance 8, install/T46, install/T47: a leader that hangs gives nothing back, yet another leads soon; when
/// it wakes up, it ends with the text that people look for.
async fn another_leads_when_the_leader_hangs(world: &World) {
    let (mut standbys, mut hung) = (Vec::new(), Vec::new());
    for replica in &world.replicas {
        let page = until_says(replica.metrics, "/metrics", "kruise_manager_is_leader ").await;
        if page.contains("\nkruise_manager_is_leader 1") {
            signal("STOP", replica);
            hung.push(replica);
        } else {
            standbys.push(replica.metrics);
        }
    }
    assert_eq!((hung.len(), standbys.len()), (1, REPLICAS - 1));
    let waits = standbys
        .into_iter()
        .map(|port| Box::pin(until_says(port, "/metrics", "\nkruise_manager_is_leader 1")));
    futures::future::select_all(waits).await;

    signal("CONT", hung[0]);
    let log = world.cluster.log_dir().join(format!("{}.log", hung[0].part));
    let start = std::time::Instant::now();
    while !std::fs::read_to_string(&log).unwrap().contains("leader election lost") {
        assert!(start.elapsed() < std::time::Duration::from_mins(1), "{} says nothing", log.display());
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let events: Api<Event> = Api::namespaced(world.client.clone(), "kruise-system");
    let both_led = |all: &[Event]| {
        let told = all.iter().filter(|one| {
            let is_about_the_lease = one.involved_object.kind.as_deref() == Some("Lease");
            is_about_the_lease && one.reason.as_deref() == Some("LeaderElection")
        });
        told.filter_map(|one| one.message.as_deref()).filter(|text| text.ends_with("became leader")).count()
            == 2
    };
    wait::until_all(&events, &ListParams::default(), "both leads are told", both_led).await.unwrap();
}

fn signal(name: &str, replica: &Replica) {
    let status =
        std::process::Command::new("kill").args([format!("-{name}"), replica.process.to_string()]).status();
    assert!(status.unwrap().success());
}

/// The certificate inside of PEM armour.
fn der(pem: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(pem);
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    serde_json::from_value::<ByteString>(json!(body)).unwrap().0
}
