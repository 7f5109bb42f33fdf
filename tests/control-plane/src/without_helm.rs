//! Take-over of an installation that no helm release knows, by the commands of docs/upgrade.md. In a cluster of its own.

use std::path::Path;
use std::process::Command;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kruise_testbed::chart::{self, Chart};
use kruise_testbed::{Cluster, Options, checkout, manager, wait};
use kube::Api;

use crate::pages::until_says;
use crate::upgrade::write_original;

/// The first block of commands below a heading of docs/upgrade.md.
fn documented(heading: &str) -> String {
    let page = std::fs::read_to_string(checkout::root().join("docs/upgrade.md")).unwrap();
    let (_, section) = page.split_once(&format!("### {heading}\n")).unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// Runs it as a user would, in the checkout, for this cluster.
fn run(cluster: &Cluster, chart: &Chart, commands: &str) {
    let tools = tempfile::tempdir().unwrap();
    for (name, program) in [("helm", chart.program()), ("kubectl", cluster.kubectl().as_path())] {
        std::os::unix::fs::symlink(program, tools.path().join(name)).unwrap();
    }
    let path = std::env::join_paths([tools.path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let output = Command::new("sh")
        .args(["-e", "-c", commands])
        .current_dir(checkout::root())
        .env("PATH", path)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("HOME", tools.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// 16.14: from the roles of the original, which may write one CRD alone, to a manager that is ready.
#[tokio::test]
async fn installation_without_a_release_is_taken_over_as_documented() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let chart = Chart::find().await.unwrap();
    let original = tempfile::tempdir().unwrap();
    write_original(original.path());
    let manifests = chart.rendered_of(original.path(), &[]).await.unwrap();
    manager::namespace(&cluster.client()).await.unwrap();
    chart::apply(&cluster, &manifests).await.unwrap();

    run(&cluster, &chart, &documented("Without a Helm release"));

    let health = manager::free_port().unwrap();
    let mut args = manager::args(&cluster.kubeconfig_of(manager::USER).unwrap());
    args.retain(|arg| !arg.contains("-addr") && !arg.contains("webhook-port"));
    args.push(format!("--webhook-port={}", manager::free_port().unwrap()));
    args.push(format!("--health-probe-addr=127.0.0.1:{health}"));
    args.push("--metrics-addr=0".to_owned());
    cluster.spawn(manager::PART, manager::program().unwrap(), args).unwrap();
    until_says(health, "/readyz", "HTTP/1.1 200").await;
    let crds: Api<Crd> = Api::all(cluster.client());
    let is_trusted = |crd: &Crd| {
        let webhook = crd.spec.conversion.as_ref().and_then(|one| one.webhook.as_ref());
        webhook.and_then(|one| one.client_config.as_ref()).is_some_and(|config| config.ca_bundle.is_some())
    };
    wait::until(&crds, "clonesets.apps.kruise.io", "a conversion that works", is_trusted).await.unwrap();
}
