//! Events for users, on the object they concern. Bursts become one event: a rollout of a thousand pods must not
//! write a thousand events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, header};
use jiff::Timestamp;
use kruise_core::chain::{Event, EventKind};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::{Key, Resource};

/// How long events of one reason are gathered after the first has been told at once. Doubles while they keep coming.
const GATHER: Duration = Duration::from_secs(5);
const GATHER_LONGEST: Duration = Duration::from_mins(5);

/// A reason that was silent for this long is told at once again.
const QUIET: Duration = Duration::from_mins(10);

/// The server's limit for an event's message.
const MESSAGE_MAX: usize = 1_024;

/// Where Kubernetes keeps events of objects that have no namespace.
const NAMESPACE_OF_CLUSTER_SCOPED: &str = "default";

/// The object an event is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    pub api_version: String,
    pub kind: &'static str,
    /// Empty for an object of the cluster.
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: String,
}

impl Subject {
    pub fn new(resource: Resource, key: Key, uid: impl Into<String>) -> Self {
        Self {
            api_version: resource.api_version(),
            kind: resource.kind(),
            namespace: key.namespace,
            name: key.name,
            uid: uid.into(),
        }
    }

    /// The namespace that the event itself is in.
    fn event_namespace(&self) -> &str {
        if self.namespace.is_empty() { NAMESPACE_OF_CLUSTER_SCOPED } else { &self.namespace }
    }
}

/// Takes events at once, writes them in the background.
#[derive(Debug, Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    component: &'static str,
}

#[derive(Debug)]
struct Shared {
    series: Mutex<BTreeMap<(Subject, &'static str, &'static str), Series>>,
    changed: Notify,
    clock: Clock,
}

/// Events of one object and reason.
#[derive(Debug)]
struct Series {
    kind: EventKind,
    /// What has not been written yet.
    count: u32,
    message: String,
    first: Timestamp,
    last: Timestamp,
    due: Instant,
    gather: Duration,
}

/// One event on its way to the server.
#[derive(Debug, PartialEq)]
struct Told {
    namespace: String,
    body: Value,
}

impl Recorder {
    pub fn new(component: &'static str, clock: Clock) -> Self {
        let shared = Shared { series: Mutex::default(), changed: Notify::new(), clock };
        Self { shared: Arc::new(shared), component }
    }

    /// The same stream of events under another component's name.
    #[must_use]
    pub fn named(&self, component: &'static str) -> Self {
        Self { shared: Arc::clone(&self.shared), component }
    }

    pub fn tell(&self, subject: &Subject, event: &Event) {
        let (now, wall) = (Instant::now(), self.shared.clock.now());
        let mut all = self.shared.series.lock().unwrap_or_else(PoisonError::into_inner);
        let series = all.entry((subject.clone(), self.component, event.reason)).or_insert_with(|| Series {
            kind: event.kind,
            count: 0,
            message: String::new(),
            first: wall,
            last: wall,
            due: now,
            gather: GATHER,
        });
        if series.count == 0 {
            series.first = wall;
        }
        series.count += 1;
        series.last = wall;
        series.kind = event.kind;
        series.message.clone_from(&event.message);
        drop(all);
        self.shared.changed.notify_one();
    }

    /// Writes events until aborted. An event that cannot be written is dropped: it is a courtesy, not a record.
    pub async fn run(self, client: Client) {
        loop {
            let changed = self.shared.changed.notified();
            let (due, next) = self.take_due(Instant::now());
            for event in due {
                if let Err(error) = send(&client, &event).await {
                    tracing::warn!(%error, "event not written");
                }
            }
            match next {
                None => changed.await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(at) => {}
                        () = changed => {}
                    }
                }
            }
        }
    }

    /// Events to write now, and when the next ones are due.
    fn take_due(&self, now: Instant) -> (Vec<Told>, Option<Instant>) {
        let mut all = self.shared.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        for ((subject, component, reason), series) in
            all.iter_mut().filter(|(_, s)| s.count > 0 && s.due <= now)
        {
            let body = object(subject, component, reason, series);
            events.push(Told { namespace: subject.event_namespace().to_owned(), body });
            series.count = 0;
            series.due = now + series.gather;
            series.gather = (series.gather * 2).min(GATHER_LONGEST);
        }
        all.retain(|_, series| series.count > 0 || now < series.due + QUIET);
        let next = all.values().filter(|series| series.count > 0).map(|series| series.due).min();
        (events, next)
    }
}

fn object(subject: &Subject, component: &str, reason: &str, series: &Series) -> Value {
    let mut message = series.message.clone();
    if series.count > 1 {
        message = format!("{message} (and {} more like this)", series.count - 1);
    }
    let mut end = message.len().min(MESSAGE_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": format!("{}.", subject.name), "namespace": subject.event_namespace()},
        "involvedObject": {
            "apiVersion": subject.api_version, "kind": subject.kind, "namespace": &*subject.namespace,
            "name": &*subject.name, "uid": subject.uid,
        },
        "type": series.kind.text(),
        "reason": reason,
        "message": message,
        "count": series.count,
        "firstTimestamp": whole(series.first),
        "lastTimestamp": whole(series.last),
        "source": {"component": component},
        "reportingComponent": component,
    })
}

fn whole(time: Timestamp) -> String {
    kruise_core::time::seconds(time)
}

async fn send(client: &Client, event: &Told) -> Result<(), kube::Error> {
    let request = Request::post(format!("/api/v1/namespaces/{}/events", event.namespace))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, "kruise-manager")
        .body(serde_json::to_vec(&event.body).map_err(kube::Error::SerdeError)?)
        .map_err(kube::Error::HttpError)?;
    client.request_text(request).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        let (namespace, name) = ("n".into(), "web".into());
        Subject { api_version: "v1".into(), kind: "CloneSet", namespace, name, uid: "u".into() }
    }

    fn created(name: &str) -> Event {
        Event { kind: EventKind::Normal, reason: "SuccessfulCreate", message: format!("created {name}") }
    }

    /// install/T2: events can be sorted by time, and say how often.
    #[tokio::test(start_paused = true)]
    async fn first_event_goes_out_at_once_and_a_burst_becomes_one() {
        let recorder = Recorder::new("test", Clock::from_fn(|| Timestamp::UNIX_EPOCH));
        recorder.tell(&subject(), &created("a"));
        let (first, _) = recorder.take_due(Instant::now());
        assert_eq!((first.len(), &first[0].body["message"]), (1, &json!("created a")));
        for field in ["firstTimestamp", "lastTimestamp"] {
            assert_eq!(first[0].body[field], "1970-01-01T00:00:00Z", "install/T2: {field}");
        }

        for number in 0..1_000 {
            recorder.tell(&subject(), &created(&number.to_string()));
        }
        let (early, next) = recorder.take_due(Instant::now());
        assert!(early.is_empty());
        let (burst, _) = recorder.take_due(next.unwrap());

        assert_eq!(burst.len(), 1);
        assert_eq!(burst[0].body["message"], "created 999 (and 999 more like this)");
        assert_eq!(burst[0].body["count"], 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn reasons_and_objects_do_not_wait_for_each_other() {
        let recorder = Recorder::new("test", Clock::from_fn(|| Timestamp::UNIX_EPOCH));
        recorder.tell(&subject(), &created("a"));
        recorder.take_due(Instant::now());

        recorder.tell(&subject(), &Event { reason: "FailedCreate", ..created("b") });
        recorder.tell(&Subject { uid: "other".into(), ..subject() }, &created("c"));

        assert_eq!(recorder.take_due(Instant::now()).0.len(), 2);
    }

    /// The API server takes an event only in the namespace of its object, and in `default` if that has none.
    #[tokio::test(start_paused = true)]
    async fn event_about_a_cluster_scoped_object_goes_to_the_default_namespace() {
        let (sender, mut asked) = tokio::sync::mpsc::unbounded_channel();
        let server = tower::service_fn(move |request: Request<kube::client::Body>| {
            sender.send(request.uri().path().to_owned()).unwrap();
            async { Ok::<_, std::io::Error>(http::Response::new(kube::client::Body::from(b"{}".to_vec()))) }
        });
        let recorder = Recorder::new("test", Clock::from_fn(|| Timestamp::UNIX_EPOCH));
        let node = Subject { kind: "NodeImage", namespace: "".into(), ..subject() };
        recorder.tell(&node, &created("a"));
        recorder.tell(&subject(), &created("a"));
        let (events, _) = recorder.take_due(Instant::now());
        recorder.tell(&node, &Event { reason: "Again", ..created("b") });
        let _writing = tokio::spawn(recorder.run(Client::new(server, "unused")));

        assert_eq!(asked.recv().await.unwrap(), "/api/v1/namespaces/default/events");
        let namespaces = |told: &Told| {
            ["/metadata/namespace", "/involvedObject/namespace"].map(|at| told.body.pointer(at).cloned())
        };
        assert_eq!(namespaces(&events[1]), [Some(json!("default")), Some(json!(""))], "of the cluster");
        assert_eq!(namespaces(&events[0]), [Some(json!("n")), Some(json!("n"))]);
    }

    #[tokio::test(start_paused = true)]
    async fn long_messages_are_cut_at_a_character() {
        let recorder = Recorder::new("test", Clock::from_fn(|| Timestamp::UNIX_EPOCH));
        recorder.tell(&subject(), &Event { message: "ä".repeat(2_000), ..created("a") });

        let (events, _) = recorder.take_due(Instant::now());

        assert_eq!(events[0].body["message"].as_str().unwrap().len(), MESSAGE_MAX);
    }
}
