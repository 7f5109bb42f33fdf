//! Each loop from the object that asks to the runtime and back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use kruise_cri::ContainerState;
use serde_json::{Value, json};

use crate::support::runtime::{Fault, Runtime};
use crate::support::server::{Server, Service};
use crate::support::{NODE, agent, until};

const NODE_IMAGE: &str = "/apis/apps.kruise.io/v1beta1/nodeimages/node-1";
const PROBES: &str = "/apis/apps.kruise.io/v1alpha1/nodepodprobes/node-1";
const POD: &str = "/api/v1/namespaces/n/pods/p";

fn request_path(name: &str) -> String {
    format!("/apis/apps.kruise.io/v1beta1/namespaces/n/containerrecreaterequests/{name}")
}

fn socket(root: &Path) -> PathBuf {
    root.join("containerd/containerd.sock")
}

#[expect(clippy::needless_pass_by_value, reason = "fixtures are made on the spot")]
fn node_image(images: Value) -> Value {
    json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "NodeImage", "metadata": {"name": NODE, "uid": "i"},
           "spec": {"images": images}})
}

fn tag(tag: &str, policy: &str) -> Value {
    json!({"tag": tag, "imagePullPolicy": policy, "pullPolicy": {"backoffLimit": 0, "timeoutSeconds": 20}})
}

fn phase(server: &Server, image: &str, index: usize) -> String {
    server.get(NODE_IMAGE)["status"]["imageStatuses"][image]["tags"][index]["phase"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn secret(user: &str, password: &str) -> Value {
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let config = json!({"auths": {"reg.io": {"auth": encode(&format!("{user}:{password}"))}}}).to_string();
    json!({"metadata": {"name": user}, "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": encode(&config)}})
}

/// images, acceptance 13, 20, 21: digests and full references, no call for an image that is there, and the sandbox.
#[tokio::test]
async fn np_5_np_6_np_11_images_are_pulled_and_reported() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    let digest = format!("sha256:{}", "a".repeat(64));
    runtime.with(|world| {
        world.images.insert("docker.io/library/there:1".to_owned());
        world.faults.insert("PullImage", Fault::Slow(Duration::from_millis(50)));
    });
    let _serving = runtime.serve(&socket(sockets.path()));
    server.put(NODE_IMAGE, node_image(json!({
        "nginx": {"sandboxConfig": {"labels": {"l": "1"}, "annotations": {"a": "2"}}, "tags": [tag("1", "Always"), tag(&digest, "Always")]},
        "there": {"tags": [tag("1", "IfNotPresent")]},
    })));
    let _agent = agent(&server, sockets.path(), -1);

    until("all pulled", || (server.get(NODE_IMAGE)["status"]["succeeded"] == 3).then_some(())).await;

    let status = server.get(NODE_IMAGE)["status"].clone();
    assert_eq!(status["desired"], 3);
    assert_eq!(status["imageStatuses"]["nginx"]["tags"][0]["imageID"], "nginx@sha256:abc");
    assert_eq!(status["imageStatuses"]["there"]["tags"][0]["progress"], 100);
    let pulls = runtime.with(|world| world.pulls.clone());
    let mut names: Vec<_> = pulls.iter().map(|pull| pull.image.clone().unwrap().image).collect();
    names.sort();
    assert_eq!(names, ["docker.io/library/nginx:1".to_owned(), format!("docker.io/library/nginx@{digest}")]);
    let sandbox = pulls[0].sandbox_config.clone().unwrap();
    assert_eq!(sandbox.labels["l"], "1");
    assert_eq!(sandbox.annotations["a"], "2");
    assert_eq!(sandbox.annotations["apps.kruise.io/pulling-image-by"], "kruise-daemon");
    until("an event", || (server.events("PullImageSucceed").len() == 3).then_some(())).await;
}

/// images, acceptance 15: the first secret is wrong, the second fits; all wrong means both errors and no anonymous try.
#[tokio::test]
async fn np_8_np_10_every_credential_is_tried_and_no_anonymous_pull_follows() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    runtime.with(|world| {
        world.private.insert("reg.io/good".to_owned(), ("right".to_owned(), "pw".to_owned()));
        world.private.insert("reg.io/bad".to_owned(), ("nobody".to_owned(), "pw".to_owned()));
    });
    let _serving = runtime.serve(&socket(sockets.path()));
    for user in ["wrong", "right"] {
        server.put(&format!("/api/v1/namespaces/kruise-daemon-config/secrets/{user}"), secret(user, "pw"));
    }
    let secrets = json!([
        {"namespace": "kruise-daemon-config", "name": "absent"},
        {"namespace": "kruise-daemon-config", "name": "wrong"},
        {"namespace": "kruise-daemon-config", "name": "right"},
    ]);
    server.put(
        NODE_IMAGE,
        node_image(json!({
            "reg.io/good": {"pullSecrets": secrets, "tags": [tag("1", "Always")]},
            "reg.io/bad": {"pullSecrets": secrets, "tags": [tag("1", "Always")]},
        })),
    );
    let _agent = agent(&server, sockets.path(), -1);

    until("both ended", || {
        (phase(&server, "reg.io/good", 0) == "Succeeded" && phase(&server, "reg.io/bad", 0) == "Failed")
            .then_some(())
    })
    .await;

    let message =
        server.get(NODE_IMAGE)["status"]["imageStatuses"]["reg.io/bad"]["tags"][0]["message"].clone();
    let message = message.as_str().unwrap();
    assert!(message.contains("for wrong") && message.contains("for right"), "{message}");
    assert!(!message.contains("anonymous"), "{message}");
    until("an event", || (!server.events("PullImageFailed").is_empty()).then_some(())).await;
}

/// images, acceptance 23: two slots, ten tags; what waits and is taken away makes no call.
#[tokio::test]
async fn np_3_slots_limit_pulls_and_a_waiting_tag_can_be_taken_away() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    runtime.with(|world| world.faults.insert("PullImage", Fault::Hang));
    let _serving = runtime.serve(&socket(sockets.path()));
    let tags: Vec<Value> = (0..10).map(|number| tag(&number.to_string(), "Always")).collect();
    server.put(NODE_IMAGE, node_image(json!({"nginx": {"tags": tags}})));
    let _agent = agent(&server, sockets.path(), 2);
    until("two are pulling, the others wait", || {
        let status = server.get(NODE_IMAGE)["status"].clone();
        (status["pulling"] == 2 && status["waiting"] == 8).then_some(())
    })
    .await;
    until("two calls", || (runtime.with(|world| world.pulls.len()) == 2).then_some(())).await;
    let pulled: Vec<String> =
        runtime.with(|world| world.pulls.iter().map(|pull| pull.image.clone().unwrap().image).collect());

    assert_eq!(runtime.with(|world| world.most_pulling), 2);
    server.change(NODE_IMAGE, |object| object["spec"]["images"] = json!({}));
    until("nothing is left", || (server.get(NODE_IMAGE)["status"]["desired"] == 0).then_some(())).await;
    runtime.with(|world| world.faults.clear());
    server.change(NODE_IMAGE, |object| {
        object["spec"]["images"] = json!({"other": {"tags": [tag("1", "Always")]}});
    });
    until("the next is pulled", || (phase(&server, "other", 0) == "Succeeded").then_some(())).await;

    let all: Vec<String> =
        runtime.with(|world| world.pulls.iter().map(|pull| pull.image.clone().unwrap().image).collect());
    assert_eq!(all.len(), pulled.len() + 1, "{all:?}");
}

/// daemon, acceptance 2 and 12, CRI-10: no socket at first, one that hangs, and one that is restarted.
#[tokio::test]
async fn cri_4_cri_10_agent_waits_for_a_runtime_and_outlives_it() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    server.put(NODE_IMAGE, node_image(json!({"nginx": {"tags": [tag("1", "Always")]}})));
    let agent = agent(&server, sockets.path(), -1);
    until("the node's event", || {
        let events = server.events("ContainerRuntimeNotFound");
        events.iter().any(|event| event["involvedObject"]["kind"] == "Node").then_some(())
    })
    .await;
    assert!(agent.runtimes.health().is_missing);

    // A dead socket beside: it must not hide the live one.
    std::fs::write(sockets.path().join("containerd.sock"), "").unwrap();
    let serving = runtime.serve(&socket(sockets.path()));
    until("pulled", || (phase(&server, "nginx", 0) == "Succeeded").then_some(())).await;

    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    let _serving = runtime.serve(&socket(sockets.path()));
    server.change(NODE_IMAGE, |object| object["spec"]["images"]["nginx"]["tags"][0]["version"] = json!(1));
    until("pulled again", || {
        let tag = server.get(NODE_IMAGE)["status"]["imageStatuses"]["nginx"]["tags"][0].clone();
        (tag["version"] == 1 && tag["phase"] == "Succeeded").then_some(())
    })
    .await;
}

#[expect(clippy::needless_pass_by_value, reason = "fixtures are made on the spot")]
fn request(name: &str, ids: &[(&str, &str)], strategy: Value, status: Value) -> Value {
    let container = |(called, id): &(&str, &str)| json!({"name": called, "statusContext": {"containerID": format!("containerd://{id}"), "restartCount": 0}});
    let containers: Vec<Value> = ids.iter().map(container).collect();
    json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "ContainerRecreateRequest",
        "metadata": {"name": name, "namespace": "n", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z",
                     "labels": {"crr.apps.kruise.io/pod-uid": "u", "crr.apps.kruise.io/node-name": NODE, "crr.apps.kruise.io/active": "true"}},
        "spec": {"podName": "p", "containers": containers, "strategy": strategy},
        "status": status,
    })
}

/// What the manager does: the pod's new containers are ready.
fn snapshot(server: &Server, runtime: &Runtime, name: &str, containers: &[&str]) {
    let list: Vec<Value> = containers
        .iter()
        .filter_map(|one| {
            let id = runtime.with(|world| world.running(one).map(|found| found.id.clone()))?;
            Some(json!({"name": one, "ready": true, "restartCount": 1, "containerID": format!("containerd://{id}")}))
        })
        .collect();
    server.change(&request_path(name), |object| object["status"]["containerStatusSnapshot"] = json!(list));
}

/// CRR acceptance 2, 13: two containers, and a second request that waits for the first.
#[tokio::test]
async fn cd_1_cd_9_containers_are_recreated_once_and_requests_take_turns() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    let (a, b) = runtime.with(|world| {
        world.restarts = true;
        (world.start("a", 0, &[]), world.start("b", 0, &[]))
    });
    let _serving = runtime.serve(&socket(sockets.path()));
    let strategy = json!({"terminationGracePeriodSeconds": 1});
    server
        .put(&request_path("first"), request("first", &[("a", &a), ("b", &b)], strategy.clone(), json!({})));
    let mut second = request("second", &[("a", &a)], strategy, json!({}));
    second["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:01Z");
    server.put(&request_path("second"), second);
    let _agent = agent(&server, sockets.path(), -1);

    until("both are stopped", || (runtime.with(|world| world.count("StopContainer")) == 2).then_some(()))
        .await;
    until("the other waits", || {
        (server.get(&request_path("second"))["status"]["phase"] == "Pending").then_some(())
    })
    .await;
    snapshot(&server, &runtime, "first", &["a", "b"]);
    until("the first is complete", || {
        (server.get(&request_path("first"))["status"]["phase"] == "Completed").then_some(())
    })
    .await;
    let states = server.get(&request_path("first"))["status"]["containerRecreateStates"].clone();
    assert_eq!(
        states,
        json!([{"isKilled": true, "name": "a", "phase": "Succeeded"}, {"isKilled": true, "name": "b", "phase": "Succeeded"}])
    );
    server.delete(&request_path("first"));

    until("the second runs", || {
        (server.get(&request_path("second"))["status"]["phase"] == "Recreating").then_some(())
    })
    .await;
    snapshot(&server, &runtime, "second", &["a"]);
    until("the second is complete", || {
        (server.get(&request_path("second"))["status"]["phase"] == "Completed").then_some(())
    })
    .await;
    assert_eq!(runtime.with(|world| world.count("StopContainer")), 2, "it had restarted already");
    let events = server.events("Killing");
    assert_eq!(events[0]["message"], "Stopping container a by ContainerRecreateRequest first");
    assert_eq!(events[0]["involvedObject"]["fieldPath"], "spec.containers{a}");
}

/// CRR acceptance 19: a runtime that refuses the stop.
#[tokio::test]
async fn cd_10_refused_stop_fails_the_container() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    let a = runtime.with(|world| {
        world.faults.insert("StopContainer", Fault::Fail("no".to_owned()));
        world.start("a", 0, &[])
    });
    let _serving = runtime.serve(&socket(sockets.path()));
    server.put(
        &request_path("r"),
        request("r", &[("a", &a)], json!({"terminationGracePeriodSeconds": 1}), json!({})),
    );
    let _agent = agent(&server, sockets.path(), -1);

    until("complete", || (server.get(&request_path("r"))["status"]["phase"] == "Completed").then_some(()))
        .await;
    let state = server.get(&request_path("r"))["status"]["containerRecreateStates"][0].clone();
    assert_eq!(
        (state["phase"].clone(), state["message"].clone()),
        (json!("Failed"), json!("kill container error: no"))
    );
}

/// CRR acceptance 16: the agent dies after a forced stop and before it wrote so; the next one stops nothing.
#[tokio::test]
async fn crr_7_8_forced_stop_happens_once_although_the_agent_dies() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    let a = runtime.with(|world| {
        world.restarts = true;
        world.start("a", 0, &[])
    });
    let _serving = runtime.serve(&socket(sockets.path()));
    let strategy = json!({"forceRecreate": true, "terminationGracePeriodSeconds": 1});
    server.put(&request_path("r"), request("r", &[("a", &a)], strategy, json!({})));
    // The stop takes place, its answer is late, and the agent dies meanwhile.
    let first = agent(&server, sockets.path(), -1);
    until("the stop is announced", || {
        let conditions = server.get(&request_path("r"))["status"]["conditions"].clone();
        conditions[0]["message"].as_str().is_some_and(|text| text.contains(&a)).then_some(())
    })
    .await;
    until("stopped", || (runtime.with(|world| world.count("StopContainer")) == 1).then_some(())).await;
    drop(first);
    server.change(&request_path("r"), |object| {
        object["status"]["containerRecreateStates"] = json!([{"name": "a", "phase": "Pending"}]);
    });
    let _second = agent(&server, sockets.path(), -1);
    until("it is known to be stopped", || {
        let state = server.get(&request_path("r"))["status"]["containerRecreateStates"][0].clone();
        (state["phase"] == "Recreating" && state["isKilled"] == true).then_some(())
    })
    .await;
    snapshot(&server, &runtime, "r", &["a"]);
    until("complete", || (server.get(&request_path("r"))["status"]["phase"] == "Completed").then_some(()))
        .await;
    assert_eq!(runtime.with(|world| world.count("StopContainer")), 1);
}

fn pod(container: &str, version: &str) -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"v": version}, "annotations": {},
                     "ownerReferences": [{"apiVersion": "apps.kruise.io/v1alpha1", "controller": true}]},
        "spec": {"nodeName": NODE, "containers": [{"name": "main", "image": "app:1",
                 "env": [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['v']"}}}]}]},
        "status": {"containerStatuses": [{"name": "main", "containerID": format!("containerd://{container}")}],
                   "conditions": [{"type": "InPlaceUpdateReady", "status": "True"}]},
    })
}

fn reported(server: &Server) -> Option<Value> {
    let text = server.get(POD)["metadata"]["annotations"]["apps.kruise.io/runtime-containers-meta"].clone();
    serde_json::from_str(text.as_str()?).ok()
}

/// daemon, acceptance 1, 8, 10: the environment is reported without any program in the container; only an in-place update
/// restarts it, and once.
#[tokio::test]
async fn cm_7_cm_9_cm_10_environment_is_reported_and_an_update_restarts_once() {
    for is_taciturn in [false, true] {
        let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
        let id = runtime.with(|world| {
            world.is_taciturn = is_taciturn;
            world.start("main", 0, &["PATH=/bin", "V=1"])
        });
        let _serving = runtime.serve(&socket(sockets.path()));
        server.put(POD, pod(&id, "1"));
        let _agent = agent(&server, sockets.path(), -1);
        let first = until("a report", || reported(&server)).await;
        let entry = &first["containers"][0];
        assert_eq!(entry["containerID"], format!("containerd://{id}"));
        assert_eq!(entry["hashes"]["plainHash"], 0x19fd_1e3c);
        let hash = entry["hashes"]["extractedEnvFromMetadataHash"].clone();
        assert_ne!(hash, Value::Null);

        // A change outside an update restarts nothing: another pod's worth of events passes first.
        server.change(POD, |pod| pod["metadata"]["labels"]["v"] = json!("2"));
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!(runtime.with(|world| world.count("StopContainer")), 0);

        server.change(POD, |pod| pod["status"]["conditions"][0]["status"] = json!("False"));
        until("stopped", || (runtime.with(|world| world.count("StopContainer")) == 1).then_some(())).await;
        let new = runtime.with(|world| world.start("main", 1, &["V=2"]));
        server.change(POD, |pod| {
            pod["status"]["containerStatuses"][0]["containerID"] = json!(format!("containerd://{new}"));
        });
        let after = until("the new report", || {
            reported(&server)
                .filter(|meta| meta["containers"][0]["containerID"] == format!("containerd://{new}"))
        })
        .await;
        assert_ne!(after["containers"][0]["hashes"]["extractedEnvFromMetadataHash"], hash);
        assert_eq!(runtime.with(|world| world.count("StopContainer")), 1);
        assert_eq!(server.writes(POD).len(), 2, "one write per container");
    }
}

/// podprobemarker, acceptance 2, 5, 7, 11: several probes of one container, changing results, a restart and an edit.
#[tokio::test]
async fn pb_1_pb_4_pb_11_probes_report_what_they_see() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    runtime.with(|world| {
        world.start("main", 0, &[]);
        world.commands.insert("yes".to_owned(), (0, "data".to_owned()));
        world.commands.insert("no".to_owned(), (1, "why".to_owned()));
    });
    let _serving = runtime.serve(&socket(sockets.path()));
    let probe = |name: &str, command: &str| json!({"name": name, "containerName": "main", "probe": {"exec": {"command": [command]}, "periodSeconds": 1}});
    let probes = json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "NodePodProbe", "metadata": {"name": NODE},
        "spec": {"podProbes": [{"name": "p", "namespace": "n", "uid": "u", "IP": "127.0.0.1", "probes": [probe("m#a", "yes"), probe("m#b", "no")]}]},
    });
    server.put(PROBES, probes);
    let _agent = agent(&server, sockets.path(), -1);
    let states = || server.get(PROBES)["status"]["podProbeStatuses"][0]["probeStates"].clone();
    let is = |index: usize, state: &str, message: &str| {
        let found = states()[index].clone();
        (found["state"] == state && found["message"].as_str().unwrap_or_default() == message).then_some(())
    };
    until("both results", || is(0, "Succeeded", "data").and(is(1, "Failed", "why"))).await;

    runtime.with(|world| world.commands.insert("yes".to_owned(), (0, "gate".to_owned())));
    until("a message alone changed", || is(0, "Succeeded", "gate")).await;
    server.change(PROBES, |object| {
        object["spec"]["podProbes"][0]["probes"][1]["probe"]["exec"]["command"] = json!(["yes"]);
    });
    until("the edited check", || is(1, "Succeeded", "gate")).await;
    runtime.with(|world| world.containers[0].state = ContainerState::ContainerExited as i32);
    until("stopped", || is(0, "Failed", "Container(main) is Non-running")).await;
    server.change(PROBES, |object| {
        object["spec"]["podProbes"][0]["probes"].as_array_mut().unwrap().truncate(1);
    });
    until("one is left", || (states().as_array().map(Vec::len) == Some(1)).then_some(())).await;
    until("events", || (server.events("KruiseProbeFailed").len() >= 2).then_some(())).await;
}

/// daemon, acceptance 13: the server is away; nothing is stopped or pulled, and everything goes on afterwards.
#[tokio::test]
async fn dp_6_agent_outlives_the_api_server() {
    let (sockets, server, runtime) = (tempfile::tempdir().unwrap(), Server::new(), Runtime::default());
    let a = runtime.with(|world| world.start("a", 0, &[]));
    let _serving = runtime.serve(&socket(sockets.path()));
    server.set(Service::Down);
    let _agent = agent(&server, sockets.path(), -1);
    until("it asks", || (server.requests().len() > 6).then_some(())).await;
    assert_eq!(runtime.with(|world| world.count("StopContainer") + world.count("PullImage")), 0);
    server.put(
        &request_path("r"),
        request("r", &[("a", &a)], json!({"terminationGracePeriodSeconds": 1}), json!({})),
    );
    server.set(Service::Up);
    until("stopped", || (runtime.with(|world| world.count("StopContainer")) == 1).then_some(())).await;
}

/// Only its own node's objects are read, and secrets one by one.
#[tokio::test]
async fn daemon_2_watches_are_limited_to_the_own_node() {
    let (sockets, server) = (tempfile::tempdir().unwrap(), Server::new());
    let _agent = agent(&server, sockets.path(), -1);
    until("all lists", || {
        let lists = server.requests();
        let has = |path: &str, query: &str| {
            lists.iter().any(|one| one.starts_with(&format!("GET {path}?")) && one.contains(query))
        };
        (has("/apis/apps.kruise.io/v1beta1/nodeimages", "fieldSelector=metadata.name%3Dnode-1")
            && has("/apis/apps.kruise.io/v1alpha1/nodepodprobes", "fieldSelector=metadata.name%3Dnode-1")
            && has("/api/v1/pods", "fieldSelector=spec.nodeName%3Dnode-1")
            && has(
                "/apis/apps.kruise.io/v1beta1/containerrecreaterequests",
                "labelSelector=crr.apps.kruise.io/node-name%3Dnode-1,crr.apps.kruise.io/active%3Dtrue",
            ))
        .then_some(())
    })
    .await;
    let unlimited = |one: &String| one.starts_with("GET") && !one.contains("Selector=");
    assert_eq!(server.requests().into_iter().filter(unlimited).collect::<Vec<_>>(), Vec::<String>::new());
}
