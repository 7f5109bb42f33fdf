//! Watches: initial events, bookmarks, the end of history, the end by time-out; each event as late as the link makes it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use super::Server;
use super::failure::{Cause, Failure};
use super::link::Link;
use super::request::{Bookmarks, Call};
use super::resources::Kind;
use super::store::Event;

/// How often a quiet watch tells how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// A watch that does not say how long it lasts.
const LONGEST: Duration = Duration::from_mins(30);

/// One open watch.
struct Open {
    server: Server,
    link: Arc<Link>,
    kind: &'static Kind,
    namespace: String,
    changed: Arc<Notify>,
    /// Number of the next event of the store.
    next: u64,
    /// Lines that are ready.
    lines: VecDeque<Bytes>,
    /// Events that are on their way, with the time of their arrival.
    late: VecDeque<(Instant, Arc<Event>)>,
    bookmarks: Bookmarks,
    bookmark_at: Instant,
    opened: Instant,
    /// How often the server had gone back by then. It ends all watches when it does.
    restores: u64,
    end_at: Instant,
    /// Where the client said to begin: no event of an older version is sent, also by a server that went back.
    from: u64,
    told: u64,
}

/// The lines of a watch, for as long as the link is up.
pub fn open(
    server: &Server,
    link: &Arc<Link>,
    call: &Call,
) -> Result<impl Stream<Item = Result<Frame<Bytes>, Infallible>> + use<>, Failure> {
    check(call)?;
    let now = Instant::now();
    let mut lines = VecDeque::new();
    let (changed, next, told, restores) = {
        let state = server.lock();
        let store = &state.store;
        let version = call.options.oldest().unwrap_or(0);
        let changed = store.subscribe(call.kind.id).ok_or_else(Failure::no_such_path)?;
        let wants_all = call.options.wants_all();
        let listed = store.at(call.options.as_of);
        if wants_all && store.version() < version {
            return Err(Failure::too_large(version, store.version()));
        } else if wants_all {
            for object in store.list_at(call.kind.id, &call.namespace, listed) {
                lines.push_back(line("ADDED", object.text()));
            }
            if call.options.initial_events.is_some() {
                lines.push_back(bookmark(call.kind, listed, &json!({"k8s.io/initial-events-end": "true"})));
            }
        } else if version < store.floor() {
            let status = Failure::expired(version, store.floor()).status();
            lines.push_back(line("ERROR", &Bytes::from(status.to_string())));
        }
        let from = if wants_all { listed } else { version };
        (changed, store.number_after(from), from, store.restores())
    };
    let lasts = call.options.timeout_seconds.map_or(LONGEST, Duration::from_secs);
    let open = Open {
        server: server.clone(),
        link: Arc::clone(link),
        kind: call.kind,
        namespace: call.namespace.clone(),
        changed,
        next,
        lines,
        late: VecDeque::new(),
        bookmarks: call.options.bookmarks,
        bookmark_at: now + BOOKMARK_EVERY,
        opened: now,
        restores,
        end_at: now + lasts,
        from: told,
        told,
    };
    Ok(stream::unfold(open, |mut open| async move {
        let line = open.line().await?;
        Some((Ok(Frame::data(line)), open))
    }))
}

fn check(call: &Call) -> Result<(), Failure> {
    let options = &call.options;
    if options.initial_events.is_some() && options.version_match != "NotOlderThan" {
        let message = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        let cause = Cause::new("FieldValueForbidden", "resourceVersionMatch", message);
        return Err(Failure::bad_options(&cause));
    }
    if options.initial_events.is_none() && !options.version_match.is_empty() {
        let message =
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        let cause = Cause::new("FieldValueForbidden", "resourceVersionMatch", message);
        return Err(Failure::bad_options(&cause));
    }
    Ok(())
}

impl Open {
    /// The next line; `None` at the end.
    async fn line(&mut self) -> Option<Bytes> {
        let changed = Arc::clone(&self.changed);
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.link.went_silent_since(self.opened) {
                return std::future::pending().await;
            }
            // What comes after the look is waited for, so it is registered before.
            let news = changed.notified();
            let now = Instant::now();
            let is_restored = self.restores < self.server.lock().store.restores();
            if self.end_at <= now || is_restored || self.link.cuts_watch(self.kind) {
                return None;
            }
            self.gather();
            self.arrive(now);
            if !self.lines.is_empty() {
                continue;
            }
            if self.bookmark_at <= now {
                self.bookmark_at = now + BOOKMARK_EVERY;
                if self.bookmarks == Bookmarks::Sent && self.late.is_empty() {
                    let version = self.server.lock().store.version();
                    return Some(bookmark(self.kind, version, &Value::Null));
                }
            }
            self.wait(news).await;
        }
    }

    /// Puts new events on their way; they never overtake each other.
    fn gather(&mut self) {
        let state = self.server.lock();
        for event in state.store.since(self.next) {
            let is_new = self.from < event.version;
            if event.kind == self.kind.id
                && is_new
                && (self.namespace.is_empty() || *event.name.0 == *self.namespace)
            {
                let due = event.at + self.link.event_delay(self.kind);
                let due = self.late.back().map_or(due, |(before, _)| due.max(*before));
                self.late.push_back((due, Arc::clone(event)));
            }
        }
        self.next = state.store.count();
    }

    fn arrive(&mut self, now: Instant) {
        if self.link.holds_events(self.kind).is_some_and(|until| now < until) {
            return;
        }
        while let Some((_, event)) = self.late.pop_front_if(|(due, _)| *due <= now) {
            self.told = self.told.max(event.version);
            let text = line(event.what.word(), event.object.text());
            if self.link.doubles_event(self.kind) {
                self.lines.push_back(text.clone());
            }
            self.lines.push_back(text);
        }
    }

    async fn wait(&mut self, news: Notified<'_>) {
        let due = self.late.front().map(|(due, _)| *due);
        let due = due.map(|due| self.link.holds_events(self.kind).map_or(due, |until| until.max(due)));
        let timer = due.unwrap_or(self.bookmark_at).min(self.bookmark_at).min(self.end_at);
        tokio::select! {
            biased;
            () = news => {}
            () = self.link.changed() => {}
            () = tokio::time::sleep_until(timer) => {}
        }
    }
}

fn line(what: &str, object: &Bytes) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(what.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}

fn bookmark(kind: &Kind, version: u64, annotations: &Value) -> Bytes {
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let (true, Some(map)) = (annotations.is_object(), metadata.as_object_mut()) {
        map.insert("annotations".into(), annotations.clone());
    }
    let object = json!({"kind": kind.resource.kind(), "apiVersion": kind.resource.api_version(), "metadata": metadata});
    line("BOOKMARK", &Bytes::from(object.to_string()))
}
