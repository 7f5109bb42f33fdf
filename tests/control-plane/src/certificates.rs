//! Certificates that somebody else brings, and certificates in files. In a cluster of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kruise_testbed::certs::{Authority, Subject};
use kruise_testbed::{Cluster, Options, crds, manager, wait};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::pages::until_says;

const CONFIGURATION: &str = "kruise-validating-webhook-configuration";

fn free_port() -> u16 {
    manager::free_port().unwrap()
}

fn start(cluster: &Cluster, kubeconfig: &Path, extra: Vec<String>) {
    let mut args = manager::args(kubeconfig);
    args.retain(|arg| !arg.starts_with("--webhook-port") && !arg.starts_with("--health-probe-addr"));
    args.push("--webhook-host=127.0.0.1".to_owned());
    args.extend(extra);
    cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
}

/// WC-6, WC-9, PL-B11, install/F23: read, compared and served, never written; what is missing is said.
#[tokio::test]
async fn wc_6_wc_9_pl_b11_external_certificates_are_awaited_and_never_written() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    crds::install(&client).await.unwrap();
    let gates = "EnableExternalCerts=true";
    let kubeconfig = manager::authorize(&cluster, gates).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ca = external_secret(&client, dir.path()).await;
    let port = free_port();
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let entry = json!({
        "name": "vcloneset.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"url": format!("https://127.0.0.1:{port}/validate-apps-kruise-io-cloneset")},
        "rules": [{"apiGroups": ["apps.kruise.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["clonesets"]}],
    });
    let object =
        json!({"metadata": {"name": CONFIGURATION, "annotations": {"template": ""}}, "webhooks": [entry]});
    configurations.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let health = free_port();

    let flags = [
        format!("--webhook-port={port}"),
        format!("--health-probe-addr=127.0.0.1:{health}"),
        format!("--feature-gates={gates}"),
    ];
    start(&cluster, &kubeconfig, flags.to_vec());

    let missing = until_says(health, "/readyz", "does not carry the CA of the external certificates").await;
    assert!(missing.starts_with("HTTP/1.1 503") && missing.contains(CONFIGURATION), "{missing}");
    // As an injector of certificates does.
    let bundle = json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": ca}]);
    let patch = Patch::Json::<()>(serde_json::from_value(bundle).unwrap());
    configurations.patch(CONFIGURATION, &PatchParams::default(), &patch).await.unwrap();
    until_says(health, "/readyz", "customresourcedefinitions").await;
    inject_into_definitions(&client, &ca).await;
    until_says(health, "/readyz", "HTTP/1.1 200").await;

    let secrets: Api<Secret> = Api::namespaced(client, "kruise-system");
    assert_eq!(
        secrets.get("kruise-webhook-certs").await.unwrap().data.unwrap().len(),
        3,
        "nothing was added"
    );
    let after = configurations.get(CONFIGURATION).await.unwrap();
    assert_eq!(after.metadata.annotations.unwrap()["template"], "", "nothing was noted");
}

/// The secret as cert-manager keeps it; the CA in base 64.
async fn external_secret(client: &kube::Client, dir: &Path) -> Value {
    let authority = Authority::create(dir).unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let pair =
        authority.issue("serving", &Subject { common_name: "webhook", names, ..Subject::default() }).unwrap();
    let read = |path: &Path| ByteString(std::fs::read(path).unwrap());
    let ca = serde_json::to_value(read(&authority.ca())).unwrap();
    let data = json!({"ca.crt": ca, "tls.crt": read(&pair.certificate), "tls.key": read(&pair.key)});
    let secret = json!({"metadata": {"name": "kruise-webhook-certs"}, "data": data});
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kruise-system");
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    ca
}

async fn inject_into_definitions(client: &kube::Client, ca: &Value) {
    let definitions: Api<Crd> = Api::all(client.clone());
    for name in kruise_manager::configuration::conversion_crds() {
        let config = json!({"clientConfig": {"caBundle": ca}});
        let patch = Patch::Merge(json!({"spec": {"conversion": {"webhook": config}}}));
        definitions.patch(&name, &PatchParams::default(), &patch).await.unwrap();
    }
}

/// WC-2, WC-7, platform acceptance 6: certificates in files, for us alone, and addresses instead of the Service.
#[tokio::test]
async fn wc_2_wc_7_certificates_in_files_are_made_and_kept_for_us_alone() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = cluster.client();
    crds::install(&client).await.unwrap();
    let kubeconfig = manager::authorize(&cluster, "").await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let certs = dir.path().join("certs");
    let (port, health) = (free_port(), free_port());

    let flags = [
        format!("--webhook-port={port}"),
        format!("--health-probe-addr=127.0.0.1:{health}"),
        format!("--webhook-cert-dir={}", certs.display()),
    ];
    start(&cluster, &kubeconfig, flags.to_vec());
    until_says(health, "/readyz", "HTTP/1.1 200").await;

    assert_eq!(std::fs::metadata(&certs).unwrap().permissions().mode() & 0o777, 0o700);
    let key = std::fs::metadata(certs.join("key.pem")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kruise-system");
    assert_eq!(secrets.get_opt("kruise-webhook-certs").await.unwrap(), None);
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client);
    let url = format!("https://127.0.0.1:{port}/validate-apps-kruise-io-cloneset");
    let points_here = |one: &ValidatingWebhookConfiguration| {
        one.webhooks.iter().flatten().any(|entry| entry.client_config.url.as_ref() == Some(&url))
    };
    wait::until(&configurations, CONFIGURATION, "entries point at our address", points_here).await.unwrap();
}
