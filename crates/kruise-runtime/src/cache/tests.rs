//! The watch loop against a scripted server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::store::tests::Thing;
use super::{Listed, Store, Version, Watch, WatchSettings};
use crate::testing::{Answer, Scripted, Seen};

fn added(name: &str, version: u64) -> Value {
    event("ADDED", name, version)
}

fn event(kind: &str, name: &str, version: u64) -> Value {
    let meta = json!({"namespace": "n", "name": name, "uid": name, "resourceVersion": version.to_string()});
    json!({"type": kind, "object": {"metadata": meta}})
}

fn listed(version: u64) -> Value {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version.to_string(), "annotations": annotations}}})
}

/// Runs the loop until the script has been asked this often.
async fn run(server: &Scripted, rounds: usize) -> Arc<Store<Thing>> {
    let store: Arc<Store<Thing>> = Arc::default();
    let settings = WatchSettings { namespace: "".into(), seed: 7 };
    let task = tokio::spawn(Watch::new(server.client(), Arc::clone(&store), settings).run());
    while asked(server).len() < rounds {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    task.abort();
    store
}

fn names(store: &Store<Thing>) -> Vec<String> {
    let mut names: Vec<String> = store.all().iter().map(|thing| thing.metadata.name.clone()).collect();
    names.sort();
    names
}

/// Whether it asks only if the server is still where it was, which it is.
fn is_doubt(query: &str) -> bool {
    query.starts_with("limit=1&resourceVersion=")
}

/// Lists and watches.
fn asked(server: &Scripted) -> Vec<Seen> {
    server.seen().into_iter().filter(|seen| !is_doubt(&seen.query)).collect()
}

/// Answers one list or watch after the other; the last answer for ever.
fn script(answers: Vec<fn() -> Answer>) -> Scripted {
    let round = AtomicU32::new(0);
    Scripted::new(move |seen: &Seen| {
        if is_doubt(&seen.query) {
            return Answer::object(5);
        }
        let round = round.fetch_add(1, Ordering::SeqCst) as usize;
        answers.get(round).or(answers.last()).map_or_else(|| Answer::failure(500, "x"), |answer| answer())
    })
}

#[tokio::test(start_paused = true)]
async fn streaming_list_then_watch_from_where_it_ended() {
    let server = script(vec![|| Answer::lines(&[added("a", 3), listed(5), added("b", 6)]), || {
        Answer::lines(&[event("DELETED", "a", 8)])
    }]);

    let store = run(&server, 3).await;

    assert_eq!(names(&store), ["b"]);
    let seen = asked(&server);
    assert!(seen[0].query.contains("sendInitialEvents=true"), "{seen:?}");
    assert!(seen[1].query.ends_with("resourceVersion=6"), "{seen:?}");
    assert!(seen[2].query.ends_with("resourceVersion=8"), "{seen:?}");
}

/// A watch from a version that a restored server has not come to would be silent for ever: after a watch that ended early, the server is
/// asked whether it is there. If not, everything it has counts as it is, also where the cache has higher versions.
#[tokio::test(start_paused = true)]
async fn restored_server_is_noticed_and_believed() {
    let round = AtomicU32::new(0);
    let server =
        Scripted::new(move |seen: &Seen| match (is_doubt(&seen.query), round.load(Ordering::SeqCst)) {
            (true, _) => {
                round.store(1, Ordering::SeqCst);
                Answer::failure(504, "Too large resource version: 9, current: 4")
            }
            (false, 0) => Answer::lines(&[added("a", 9), added("b", 8), listed(9)]),
            (false, _) => Answer::lines(&[added("a", 3), listed(4)]),
        });

    let store = run(&server, 2).await;

    assert_eq!((names(&store), store.seen()), (vec!["a".to_owned()], Version(4)));
    assert_eq!(store.all()[0].metadata.resource_version, "3");
}

#[tokio::test(start_paused = true)]
async fn lost_history_is_listed_again_and_what_vanished_meanwhile_is_gone() {
    let server = script(vec![
        || Answer::lines(&[added("a", 3), added("b", 4), listed(5)]),
        || Answer::lines(&[json!({"type": "ERROR", "object": {"code": 410, "message": "too old"}})]),
        || Answer::lines(&[added("b", 4), added("c", 9), listed(10)]),
    ]);

    let store = run(&server, 4).await;

    assert_eq!((names(&store), store.seen()), (vec!["b".to_owned(), "c".to_owned()], Version(10)));
    let seen = asked(&server);
    assert!(!seen[0].query.contains("&resourceVersion="), "first the newest: {seen:?}");
    assert!(seen[2].query.ends_with("&resourceVersion=5"), "then nothing older than what was seen: {seen:?}");
}

#[tokio::test(start_paused = true)]
async fn server_that_has_lost_what_it_told_is_asked_for_what_it_has() {
    let server = script(vec![
        || Answer::lines(&[added("a", 3), added("b", 7), listed(8)]),
        || Answer::failure(410, "Expired"),
        || Answer::failure(504, "Too large resource version: 8, current: 6"),
        || Answer::lines(&[added("a", 3), listed(6)]),
    ]);

    let store = run(&server, 5).await;

    assert_eq!(names(&store), ["a"]);
    let seen = asked(&server);
    assert!(seen[2].query.ends_with("&resourceVersion=8"), "{seen:?}");
    assert!(!seen[3].query.contains("&resourceVersion="), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn server_without_streaming_list_is_listed_by_pages() {
    let server = Scripted::new(|seen: &Seen| {
        if seen.query.contains("sendInitialEvents") {
            return Answer::failure(422, "Invalid");
        }
        if seen.query.contains("watch=true") {
            return Answer::lines(&[added("c", 9)]);
        }
        let (name, next) = if seen.query.ends_with("continue=") { ("a", "more") } else { ("b", "") };
        let items = [added(name, 3)["object"].clone()];
        let body = json!({"metadata": {"resourceVersion": "7", "continue": next}, "items": items});
        Answer { code: 200, body: body.to_string() }
    });

    let store = run(&server, 4).await;

    assert_eq!(names(&store), ["a", "b", "c"]);
    assert!(store.is_synced());
}

#[tokio::test(start_paused = true)]
async fn unreachable_server_is_tried_again_ever_more_slowly() {
    let server = script(vec![|| Answer::failure(500, "InternalError")]);
    let started = Instant::now();

    let store = run(&server, 6).await;

    assert!(!store.is_synced());
    assert!(started.elapsed() > Duration::from_secs(3), "{:?}", started.elapsed());
}

/// A connection can die without a word; nobody would ever hear of a change on it.
#[tokio::test(start_paused = true)]
async fn silent_watch_is_begun_anew_where_it_was() {
    let asked: Arc<Mutex<Vec<(Instant, String)>>> = Arc::default();
    let log = Arc::clone(&asked);
    let silent = tower::service_fn(move |request: Request<kube::client::Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let lines = Answer::lines(&[added("a", 3), listed(5)]).body;
        let lines = futures::stream::once(async { Ok::<_, std::io::Error>(lines) });
        let body = if is_doubt(&query) {
            axum::body::Body::from_stream(lines)
        } else {
            log.lock().unwrap().push((Instant::now(), query));
            axum::body::Body::from_stream(lines.chain(futures::stream::pending()))
        };
        async { Ok::<_, std::io::Error>(Response::new(body)) }
    });
    let settings = WatchSettings { namespace: "".into(), seed: 7 };
    let watch = Watch::<Thing>::new(Client::new(silent, "default"), Arc::default(), settings);

    let task = tokio::spawn(watch.run());
    tokio::time::sleep(Duration::from_mins(3)).await;
    task.abort();

    let asked = asked.lock().unwrap();
    let [(first, _), (second, from)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(second.duration_since(*first), Duration::from_secs(150));
    assert!(from.ends_with("resourceVersion=5"), "{from}");
}

#[tokio::test(start_paused = true)]
async fn list_that_breaks_off_half_way_removes_nothing() {
    let server = script(vec![
        || Answer::lines(&[added("a", 3), added("b", 4), listed(5)]),
        || Answer::failure(410, "Expired"),
        || Answer::lines(&[added("b", 4)]),
    ]);

    let store = run(&server, 4).await;

    assert_eq!(names(&store), ["a", "b"]);
}

/// Lists as the script says, and then no watch tells anything.
fn silent_after(answers: Vec<fn() -> Answer>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    let silent = tower::service_fn(move |request: Request<kube::client::Body>| {
        let mut log = log.lock().unwrap();
        let answer = answers.get(log.len()).or(answers.last()).unwrap()();
        log.push(request.uri().query().unwrap_or_default().to_owned());
        let lines = futures::stream::once(async move { Ok::<_, std::io::Error>(answer.body) });
        let body = axum::body::Body::from_stream(lines.chain(futures::stream::pending()));
        async move { Ok::<_, std::io::Error>(Response::builder().status(answer.code).body(body).unwrap()) }
    });
    (Client::new(silent, "default"), asked)
}

/// Whoever asks for it gets the newest at once, however late the watch is, and never what a lagging replica has.
#[tokio::test(start_paused = true)]
async fn list_that_is_asked_for_is_the_newest_and_waits_for_no_watch() {
    let (client, asked) = silent_after(vec![
        || Answer::lines(&[added("a", 3), listed(5)]),
        || Answer::lines(&[json!({"type": "ERROR", "object": {"code": 410, "message": "too old"}})]),
        || Answer::lines(&[added("b", 7), listed(9)]),
    ]);
    let (store, settings): (Arc<Store<Thing>>, _) =
        (Arc::default(), WatchSettings { namespace: "".into(), seed: 7 });
    let task = tokio::spawn(Watch::new(client, Arc::clone(&store), settings).run());
    store.synced().await;
    let start = Instant::now();

    store.list_again().await;

    task.abort();
    assert_eq!((names(&store), store.seen()), (vec!["b".to_owned()], Version(9)));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked.iter().all(|query| !query.contains("&resourceVersion=")), "{asked:?}");
}

/// Neither the rest after a failure nor the time between two looks for a missing type keeps somebody waiting who asks.
#[tokio::test(start_paused = true)]
async fn list_that_is_asked_for_does_not_wait_for_the_next_try() {
    for code in [500, 404] {
        let works = Arc::new(AtomicU32::new(0));
        let now = Arc::clone(&works);
        let server = Scripted::new(move |_: &Seen| match now.load(Ordering::SeqCst) {
            0 => Answer::failure(code, "x"),
            _ => Answer::lines(&[added("a", 3), listed(5)]),
        });
        let (store, settings): (Arc<Store<Thing>>, _) =
            (Arc::default(), WatchSettings { namespace: "".into(), seed: 7 });
        let task = tokio::spawn(Watch::new(server.client(), Arc::clone(&store), settings).run());
        tokio::time::sleep(Duration::from_mins(2)).await;
        works.store(1, Ordering::SeqCst);
        let start = Instant::now();

        store.list_again().await;

        task.abort();
        assert_eq!((names(&store), start.elapsed()), (vec!["a".to_owned()], Duration::ZERO));
    }
}

/// A list that had begun before somebody asked does not answer: it may lack what was written since.
#[tokio::test(start_paused = true)]
async fn list_that_was_under_way_answers_nobody_who_asked_later() {
    let (client, asked) = silent_after(vec![|| Answer::lines(&[added("a", 3)]), || {
        Answer::lines(&[added("a", 3), added("b", 4), listed(5)])
    }]);
    let (store, settings): (Arc<Store<Thing>>, _) =
        (Arc::default(), WatchSettings { namespace: "".into(), seed: 7 });
    let task = tokio::spawn(Watch::new(client, Arc::clone(&store), settings).run());
    tokio::time::sleep(Duration::from_secs(1)).await;

    store.list_again().await;

    task.abort();
    assert_eq!((names(&store), asked.lock().unwrap().len()), (vec!["a".to_owned(), "b".to_owned()], 2));
}

/// A type that is not served keeps nobody waiting, is named by `/readyz`, and is listed when it is served.
#[tokio::test(start_paused = true)]
async fn type_that_is_not_served_is_listed_when_it_is() {
    let server =
        script(vec![|| Answer::failure(404, "NotFound"), || Answer::failure(404, "NotFound"), || {
            Answer::lines(&[added("a", 3), listed(5)])
        }]);
    let mut caches = super::Caches::default();
    caches.add::<Thing>();
    let store = Arc::clone(caches.store::<Thing>().unwrap());
    let settings = WatchSettings { namespace: "".into(), seed: 7 };
    let task = tokio::spawn(Watch::new(server.client(), Arc::clone(&store), settings).run());

    store.synced().await;
    assert_eq!(store.listed(), Listed::NotServed);
    assert_eq!(caches.at(Listed::NotServed).len(), 1);
    assert!(!store.is_synced(), "that nothing is there is not known");
    while store.listed() != Listed::Complete {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    task.abort();
    assert_eq!(names(&store), ["a"]);
}

/// One object, of a type that is known only by its path.
#[tokio::test(start_paused = true)]
async fn one_object_under_a_path_of_its_own() {
    let server = script(vec![|| Answer::lines(&[added("a", 3), listed(5)])]);
    let settings = WatchSettings { namespace: "n".into(), seed: 7 };
    let watch = Watch::<Thing>::new(server.client(), Arc::default(), settings);
    let task = tokio::spawn(watch.at("/apis/g/v1/others".to_owned()).only("a").run());
    while server.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    task.abort();

    let seen = server.seen();
    assert_eq!(seen[0].path, "/apis/g/v1/others");
    assert!(seen[0].query.contains("fieldSelector=metadata.name%3Da"), "{seen:?}");
}
