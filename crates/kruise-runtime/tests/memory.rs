//! What a cached pod costs, measured: this test binary counts every allocation, so it holds no other test.

use kruise_core::pod::PodView;
use kruise_runtime::cache::{Caches, Slim};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Heap per pod that we promise, index and keys included, at 100,000 pods.
const BYTES_PER_POD: usize = 1_536;

/// Fewer than promised for: the cost per pod does not depend on their number, and a debug build decodes slowly.
const PODS: usize = 20_000;

#[test]
fn cached_pod_costs_at_most_one_and_a_half_kilobytes() {
    let mut caches = Caches::default();
    caches.add::<PodView>();
    let wire = pod(0).to_string();
    let before = HEAP.current_usage();

    for number in 0..PODS {
        caches.refresh(PodView::RESOURCE, &pod(number).to_string()).unwrap();
    }

    let per_pod = (HEAP.current_usage() - before) / PODS;
    assert_eq!(caches.counts().next().unwrap().1, PODS);
    println!("{per_pod} bytes of heap per pod; {} bytes on the wire", wire.len());
    assert!(per_pod <= BYTES_PER_POD, "{per_pod} bytes of heap per pod, promised are {BYTES_PER_POD}");
}

/// A pod of a CloneSet as an API server sends it: about 4 KB, a hundred pods per owner, fifty nodes.
fn pod(number: usize) -> serde_json::Value {
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let conditions: Vec<_> = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
        "InPlaceUpdateReady",
    ]
    .map(condition)
    .into();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": metadata(number),
        "spec": {
            "nodeName": format!("node-{:03}", number % 50),
            "readinessGates": [{"conditionType": "InPlaceUpdateReady"}],
            "containers": [{
                "name": "main", "image": "registry.example.com/shop/web:1.25.3", "imagePullPolicy": "IfNotPresent",
                "env": [
                    {"name": "A", "value": "some value of some length"}, {"name": "B", "value": "another value"},
                    {"name": "VERSION", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['app']"}}},
                ],
                "resources": {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
                "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}],
                "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
            }],
            "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        },
        "status": {
            "phase": "Running", "podIP": "10.0.0.1", "hostIP": "10.1.0.1", "startTime": "2026-01-01T00:00:00Z",
            "conditions": conditions,
            "containerStatuses": [{
                "name": "main", "ready": true, "started": true, "restartCount": 0,
                "image": "registry.example.com/shop/web:1.25.3",
                "imageID": format!("registry.example.com/shop/web@sha256:{:064x}", 7),
                "containerID": format!("containerd://{number:064x}"),
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                "resources": {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
            }],
        },
    })
}

fn metadata(number: usize) -> serde_json::Value {
    let owner = format!("00000000-0000-0000-0000-{:012}", number / 100);
    let uid = format!("11111111-1111-1111-1111-{number:012}");
    json!({
        "name": format!("web-{number:07}"), "generateName": "web-", "namespace": "default", "uid": uid,
        "resourceVersion": (1_000_000 + number).to_string(), "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {
            "app": "web", "app.kubernetes.io/part-of": "shop", "controller-revision-hash": "web-5d6f7c9b4",
            "pod-template-hash": "5d6f7c9b4", "apps.kruise.io/cloneset-instance-id": format!("{number:05}"),
            "lifecycle.apps.kruise.io/state": "Normal",
        },
        "annotations": {
            "lifecycle.apps.kruise.io/timestamp": "2026-01-01T00:00:00Z", "prometheus.io/scrape": "true",
            "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
        },
        "ownerReferences": [{
            "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "web", "uid": owner,
            "controller": true, "blockOwnerDeletion": true,
        }],
        "managedFields": [{"manager": "kruise-manager", "operation": "Update", "fieldsV1": {"f:metadata": {
            "f:labels": {".": {}, "f:app": {}, "f:controller-revision-hash": {}}, "f:ownerReferences": {".": {}},
        }}}],
    })
}
