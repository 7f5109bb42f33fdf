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
        let head = (sets.resource.api_version(), sets.resource.kind());
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

/// Every write arrives so late.
struct Slow(Duration);

impl Weather for Slow {
    fn fate(&mut self, _: &Call) -> Fate {
        Fate::Ghost(self.0)
    }
}

/// Whose a write is that arrives 40 seconds late, by the time at which its client dies.
#[tokio::test(start_paused = true)]
async fn ghost_is_late_only_when_its_client_is_gone_for_longer_than_a_lease() {
    for (dies, who) in [(None, GHOST), (Some(30), GHOST), (Some(25), GHOST), (Some(24), LATE_GHOST)] {
        let server = server();
        server.lock().keep_log();
        let link = Link::new("manager", Box::new(Slow(Duration::from_secs(40))));
        let client = server.door(&link).client();
        tokio::spawn(async move {
            let body = pod("a").to_string().into_bytes();
            let request = Request::post("/api/v1/namespaces/n/pods").body(body).unwrap();
            client.request::<Value>(request).await
        });
        if let Some(after) = dies {
            tokio::time::sleep(Duration::from_secs(after)).await;
            link.kill();
        }
        tokio::time::sleep(Duration::from_secs(41)).await;

        let log: Vec<&str> = server.lock().log().iter().map(|entry| entry.who).collect();
        assert_eq!(log, [who], "died after {dies:?}");
    }
}

/// A replica that stopped at a time in the past.
struct Behind(tokio::time::Instant);

impl Weather for Behind {
    fn lists_as_of(&mut self, _: &Kind) -> Option<tokio::time::Instant> {
        Some(self.0)
    }
}

/// a, then b in place of it (the replica stops), then c and nothing else.
#[tokio::test(start_paused = true)]
async fn lists_are_as_old_as_the_replica_but_never_older_than_asked() {
    let server = server();
    let pass = || tokio::time::sleep(Duration::from_secs(1));
    ask(&server, Verb::Create, "", pod("a")).unwrap();
    ask(&server, Verb::Delete, "a", Value::Null).unwrap();
    ask(&server, Verb::Create, "", pod("b")).unwrap();
    let client = server.door(&Link::new("test", Box::new(Behind(tokio::time::Instant::now())))).client();
    let stopped = server.lock().store.version();
    pass().await;
    ask(&server, Verb::MergePatch, "b", json!({"metadata": {"labels": {"new": "true"}}})).unwrap();
    ask(&server, Verb::Create, "", pod("c")).unwrap();
    ask(&server, Verb::Delete, "b", Value::Null).unwrap();
    let newest = server.lock().store.version();

    let list = async |query: &str| {
        let request = Request::get(format!("/api/v1/pods?{query}")).body(vec![]).unwrap();
        let list: Value = client.request(request).await.unwrap();
        let names = list["items"].as_array().unwrap().iter().map(|pod| pod["metadata"]["name"].to_string());
        (
            names.collect::<Vec<_>>().join(" "),
            list["metadata"]["resourceVersion"].as_str().unwrap().to_owned(),
        )
    };

    assert_eq!(list("").await, ("\"c\"".to_owned(), newest.to_string()), "the newest is promised");
    assert_eq!(list("resourceVersion=0").await, ("\"b\"".to_owned(), stopped.to_string()));
    assert_eq!(list("resourceVersion=2").await, ("\"b\"".to_owned(), stopped.to_string()));
    let (named, middle) = (stopped + 2, (stopped + 2).to_string());
    assert_eq!(list(&format!("resourceVersion={named}")).await, ("\"b\" \"c\"".to_owned(), middle));

    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0";
    let seen = events(&client, query, 5).await;
    assert!(matches!(&seen[0], WatchEvent::Added(pod) if pod["metadata"]["name"] == "b"));
    assert!(matches!(&seen[1], WatchEvent::Bookmark(_)));
    assert!(matches!(&seen[2], WatchEvent::Modified(pod) if pod["metadata"]["labels"]["new"] == "true"));
    assert!(matches!(&seen[3], WatchEvent::Added(pod) if pod["metadata"]["name"] == "c"));
    assert!(matches!(&seen[4], WatchEvent::Deleted(pod) if pod["metadata"]["name"] == "b"));
}

fn set(name: &str, more: &Value) -> Value {
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}});
    let mut spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    json_patch::merge(&mut spec, more);
    json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": name}, "spec": spec})
}

#[test]
fn our_webhooks_fill_in_defaults_and_refuse_in_the_words_of_a_server() {
    let server = server();
    server.lock().admit_by_ours();
    let sets = resources::find("apps.kruise.io", "v1beta1", "clonesets").unwrap();
    let create = |body: Value| server.ask("test", &Call::object(Verb::Create, sets, ("n", ""), body));

    let created = value(create(set("web", &json!({}))));
    let refused = create(set("bad", &json!({"selector": {"matchLabels": {"a": "other"}}}))).unwrap_err();

    assert_eq!(created["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], "20%");
    assert_eq!((refused.code, refused.reason), (422, "Invalid"));
    let words =
        "admission webhook \"vcloneset.kb.io\" denied the request: CloneSet \"bad\" is invalid: spec.";
    assert!(refused.message.starts_with(words), "{}", refused.message);
    assert!(refused.details["causes"][0]["field"].as_str().unwrap().starts_with("spec."), "{refused:?}");
    let at = ("n".into(), "bad".into());
    assert!(server.lock().store.get(sets.id, &at).is_none());
}

#[test]
fn changes_are_admitted_too_but_not_those_of_other_endpoints() {
    let server = server();
    server.lock().admit_by_ours();
    let sets = resources::find("apps.kruise.io", "v1beta1", "clonesets").unwrap();
    let call = |verb: Verb, name: &str, body: Value| Call::object(verb, sets, ("n", name), body);
    server.ask("test", &call(Verb::Create, "", set("web", &json!({})))).unwrap();
    let version = server.lock().store.version();

    let selector = json!({"spec": {"selector": {"matchLabels": {"c": "d"}}}});
    let refused = server.ask("test", &call(Verb::MergePatch, "web", selector)).unwrap_err();
    assert_eq!((refused.code, server.lock().store.version()), (422, version));
    let scale = call(Verb::MergePatch, "web", json!({"spec": {"replicas": 4}})).part(Part::Scale);
    server.ask("test", &scale).unwrap();
    assert_eq!(server.lock().store.version(), version + 1);
}

/// PP-17: a new pod of a workload that is remembered goes where it was.
#[test]
fn new_pods_are_placed_by_our_webhook() {
    let server = server();
    server.lock().admit_by_ours();
    let states = resources::of_kind("apps.kruise.io", "PersistentPodState").unwrap();
    let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"});
    let state = |name: &str| {
        json!({
            "apiVersion": states.resource.api_version(), "kind": states.resource.kind(), "metadata": {"name": name},
            "spec": {"targetRef": target, "requiredPersistentTopology": {"keys": ["zone"]}},
        })
    };
    let create = |name: &str| server.ask("test", &Call::object(Verb::Create, states, ("n", ""), state(name)));
    create("db").unwrap();
    assert!(create("second").unwrap_err().message.contains("vpersistentpodstate.kb.io"));
    let known = json!({"status": {"observedGeneration": 1, "podStates": {"db-0": {"nodeName": "x", "nodeTopologyLabels": {"zone": "z"}}}}});
    let status = Call::object(Verb::MergePatch, states, ("n", "db"), known).part(Part::Status);
    server.ask("test", &status).unwrap();
    let owner =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": true});
    let mut new = pod("db-0");
    new["metadata"]["ownerReferences"] = json!([owner]);

    let placed = value(ask(&server, Verb::Create, "", new));

    assert_eq!(placed["spec"]["nodeSelector"], json!({"zone": "z"}));
}
