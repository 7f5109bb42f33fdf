//! Services, pods of two nodes and the machine reach each other.

use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::fixtures::{bench, until_answer};

fn address(pod: &Pod) -> SocketAddr {
    let address: IpAddr = pod.status.as_ref().unwrap().pod_ip.as_ref().unwrap().parse().unwrap();
    (address, 80).into()
}

#[tokio::test]
async fn service_leads_to_its_pod_from_both_nodes_and_from_the_machine() {
    let Some(bench) = bench("services").await else {
        return;
    };
    let services: Api<Service> = Api::namespaced(bench.client.clone(), bench.namespace);
    let service = json!({
        "metadata": {"name": "server"},
        "spec": {"selector": {"app": "server"}, "ports": [{"port": 80}]},
    });
    let service =
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    let virtual_ip = service.spec.unwrap().cluster_ip.unwrap();
    bench.run("server", "nginx:1.23.1", bench.node(2)).await;
    bench.run("near", "nginx:1.22", bench.node(2)).await;
    bench.run("far", "nginx:1.22", bench.node(1)).await;

    bench.until_ready("server").await;
    for client in ["near", "far"] {
        let client = address(&bench.until_ready(client).await);
        until_answer(client, &format!("/fetch?url=http://{virtual_ip}/version"), "1.23.1").await;
    }
    // As the API server calls a webhook.
    until_answer((virtual_ip.parse::<IpAddr>().unwrap(), 80).into(), "/version", "1.23.1").await;
}

#[tokio::test]
async fn pod_reaches_the_api_server_under_its_service_address() {
    let Some(bench) = bench("api-service").await else {
        return;
    };
    let services: Api<Service> = Api::namespaced(bench.client.clone(), "default");
    let virtual_ip = services.get("kubernetes").await.unwrap().spec.unwrap().cluster_ip.unwrap();
    bench.run("client", "nginx:1.22", bench.node(1)).await;
    let client = address(&bench.until_ready("client").await);

    // The test program speaks no TLS, and only the API server's answer to that says so.
    until_answer(client, &format!("/fetch?url=http://{virtual_ip}:443/"), "HTTP request to an HTTPS server")
        .await;
}
