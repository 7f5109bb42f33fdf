use std::time::Duration;

use futures::StreamExt;
use http::Request;
use jiff::Timestamp;
use kube::core::WatchEvent;
use serde_json::{Value, json};

use super::*;

fn server() -> Server {
    let server = Server::new(7, Arc::new(|| Timestamp::from_second(1_800_000_000).unwrap()));
    let namespaces = resources::find("", "v1", "namespaces").unwrap();
    let call = Call::object(Verb::Create, namespaces, ("", ""), json!({"metadata": {"name": "n"}}));
    server.ask("test", &call).unwrap();
    server
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}})
}

fn ask(server: &Server, verb: Verb, name: &str, body: Value) -> Result<Answer, Failure> {
    let pods = resources::find("", "v1", "pods").unwrap();
    server.ask("test", &Call::object(verb, pods, ("n", name), body))
}

fn value(answer: Result<Answer, Failure>) -> Value {
    answer.unwrap().object.unwrap().value.clone()
}

#[test]
fn patch_that_changes_nothing_writes_nothing() {
    let server = server();
    let created = value(ask(&server, Verb::Create, "", pod("a")));

    let patched = value(ask(&server, Verb::MergePatch, "a", json!({"metadata": {"labels": null}})));

    assert_eq!(patched["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
}

#[test]
fn pod_of_a_node_ends_gracefully_and_one_without_at_once() {
    let server = server();
    ask(&server, Verb::Create, "", pod("a")).unwrap();
    ask(&server, Verb::Create, "", pod("b")).unwrap();
    let pods = resources::find("", "v1", "pods").unwrap();
    let bind =
        Call::object(Verb::Create, pods, ("n", "a"), json!({"target": {"name": "node"}})).part(Part::Binding);
    server.ask("test", &bind).unwrap();

    let ending = value(ask(&server, Verb::Delete, "a", Value::Null));
    ask(&server, Verb::Delete, "b", Value::Null).unwrap();

    assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(ending["metadata"]["generation"], 2);
    assert_eq!(ask(&server, Verb::Get, "b", Value::Null).unwrap_err().code, 404);
    ask(&server, Verb::Delete, "a", json!({"gracePeriodSeconds": 0})).unwrap();
    assert_eq!(ask(&server, Verb::Get, "a", Value::Null).unwrap_err().code, 404);
}

#[test]
fn last_finalizer_takes_the_object_with_it() {
    let server = server();
    let mut held = pod("a");
    held["metadata"]["finalizers"] = json!(["x"]);
    ask(&server, Verb::Create, "", held).unwrap();
    ask(&server, Verb::Delete, "a", Value::Null).unwrap();
    assert!(ask(&server, Verb::Get, "a", Value::Null).is_ok());

    ask(&server, Verb::MergePatch, "a", json!({"metadata": {"finalizers": null}})).unwrap();

    assert_eq!(ask(&server, Verb::Get, "a", Value::Null).unwrap_err().code, 404);
}

#[test]
fn stale_version_and_foreign_uid_are_refused() {
    let server = server();
    ask(&server, Verb::Create, "", pod("a")).unwrap();
    for (body, code, reason) in [
        (json!({"metadata": {"resourceVersion": "1"}}), 409, "Conflict"),
        (json!({"metadata": {"uid": "other"}}), 422, "Invalid"),
    ] {
        let failure = ask(&server, Verb::MergePatch, "a", body).unwrap_err();
        assert_eq!((failure.code, failure.reason), (code, reason));
    }
    let wrong = json!({"preconditions": {"uid": "other"}});
    assert_eq!(ask(&server, Verb::Delete, "a", wrong).unwrap_err().reason, "Conflict");
}

#[test]
fn kinds_of_ours_are_pruned_defaulted_and_refused_by_their_schema() {
    let server = server();
    let sets = resources::find("apps.kruise.io", "v1beta1", "clonesets").unwrap();
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}});
    let spec =
        json!({"replicas": 2, "nonsense": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let create = |wanted: &Value, name: &str| {
        let head = (sets.api_version(), &sets.kind);
        let body = json!({"apiVersion": head.0, "kind": head.1, "metadata": {"name": name}, "spec": wanted, "status": {"replicas": 7}});
        server.ask("test", &Call::object(Verb::Create, sets, ("n", ""), body))
    };

    let created = value(create(&spec, "web"));
    let mut wrong = spec.clone();
    wrong["replicas"] = json!("two");
    let refused = create(&wrong, "bad").unwrap_err();

    assert!(created["spec"].get("nonsense").is_none());
    assert!(created.get("status").is_none());
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!((refused.code, refused.details["causes"][0]["field"].as_str()), (422, Some("spec.replicas")));
}

async fn events(client: &kube::Client, query: &str, count: usize) -> Vec<WatchEvent<Value>> {
    let request = Request::get(format!("/api/v1/pods?watch=true&allowWatchBookmarks=true&{query}"))
        .body(vec![])
        .unwrap();
    let stream = client.request_events::<Value>(request).await.unwrap();
    stream.take(count).map(Result::unwrap).collect().await
}

#[tokio::test(start_paused = true)]
async fn watch_begins_with_all_objects_and_says_when_they_are_complete() {
    let server = server();
    let client = server.door(&Link::calm("test")).client();
    ask(&server, Verb::Create, "", pod("a")).unwrap();
    let later = server.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        ask(&later, Verb::Create, "", pod("b")).unwrap();
    });

    let seen = events(&client, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 3).await;

    assert!(matches!(&seen[0], WatchEvent::Added(pod) if pod["metadata"]["name"] == "a"));
    assert!(matches!(&seen[1], WatchEvent::Bookmark(_)));
    assert!(matches!(&seen[2], WatchEvent::Added(pod) if pod["metadata"]["name"] == "b"));
}

#[tokio::test(start_paused = true)]
async fn watch_from_a_forgotten_version_is_told_to_list_again() {
    let server = server();
    let client = server.door(&Link::calm("test")).client();
    ask(&server, Verb::Create, "", pod("a")).unwrap();
    let version = server.lock().store.version();
    ask(&server, Verb::Create, "", pod("b")).unwrap();
    server.lock().store.compact();

    let seen = events(&client, &format!("resourceVersion={version}"), 1).await;

    assert!(
        matches!(&seen[0], WatchEvent::Error(status) if status.code == 410 && status.reason == "Expired")
    );
}
