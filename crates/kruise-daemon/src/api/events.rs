//! Events on pods, NodeImages, jobs and the node. A courtesy: what cannot be written, or comes too fast, is dropped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kruise_core::chain::EventKind;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::client::Api;

/// Events that wait to be written.
const WAITING_MAX: usize = 256;
/// The same event again within this time is dropped.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// The server's limit.
const MESSAGE_MAX: usize = 1_024;

/// The object that an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct About {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub field_path: String,
}

impl About {
    /// Events of nodes carry the name as uid, as the kubelet's do.
    pub fn node(name: &str) -> Self {
        let name = name.to_owned();
        Self { api_version: "v1".into(), kind: "Node".into(), uid: name.clone(), name, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    Normal,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Event {
    about: About,
    severity: Severity,
    reason: &'static str,
    message: String,
    component: &'static str,
}

/// Takes events at once; they are written in the background.
#[derive(Clone)]
pub struct Recorder {
    sender: mpsc::Sender<Event>,
    component: &'static str,
}

/// What writes them.
pub struct Writer {
    receiver: mpsc::Receiver<Event>,
    node: Arc<str>,
}

impl Recorder {
    pub fn new(component: &'static str, node: &str) -> (Self, Writer) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Self { sender, component }, Writer { receiver, node: node.into() })
    }

    /// The same stream under another component's name.
    #[must_use]
    pub fn named(&self, component: &'static str) -> Self {
        Self { sender: self.sender.clone(), component }
    }

    pub fn tell(&self, about: About, severity: Severity, reason: &'static str, message: &str) {
        let mut end = message.len().min(MESSAGE_MAX);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let message = message.get(..end).unwrap_or_default().to_owned();
        let event = Event { about, severity, reason, message, component: self.component };
        if self.sender.try_send(event).is_err() {
            tracing::debug!(reason, "an event was dropped: too many wait");
        }
    }
}

impl Writer {
    /// Writes until aborted.
    pub async fn run(mut self, api: Api) {
        let mut last: HashMap<Event, Instant> = HashMap::new();
        while let Some(event) = self.receiver.recv().await {
            let now = Instant::now();
            last.retain(|_, at| now.duration_since(*at) < AGAIN_AFTER);
            if last.insert(event.clone(), now).is_some() {
                continue;
            }
            let namespace = if event.about.namespace.is_empty() { "default" } else { &event.about.namespace };
            let path = format!("/api/v1/namespaces/{namespace}/events");
            if let Err(error) = api.post(&path, &object(&event, namespace, &self.node)).await {
                tracing::debug!(%error, reason = event.reason, "event not written");
            }
        }
    }
}

fn object(event: &Event, namespace: &str, node: &str) -> serde_json::Value {
    let about = &event.about;
    let time = kruise_core::time::seconds(Timestamp::now());
    let severity = match event.severity {
        Severity::Normal => EventKind::Normal,
        Severity::Warning => EventKind::Warning,
    };
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": format!("{}.", about.name), "namespace": namespace},
        "involvedObject": {
            "apiVersion": about.api_version, "kind": about.kind, "namespace": about.namespace,
            "name": about.name, "uid": about.uid, "fieldPath": about.field_path,
        },
        "type": severity.text(), "reason": event.reason, "message": event.message, "count": 1,
        "firstTimestamp": time, "lastTimestamp": time,
        "source": {"component": event.component, "host": node},
        "reportingComponent": event.component, "reportingInstance": node,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn daemon_3_events_say_who_and_where() {
        let (recorder, mut writer) = Recorder::new("kruise-daemon", "node-1");
        let about = About {
            kind: "Pod".into(),
            namespace: "n".into(),
            field_path: "spec.containers{a}".into(),
            ..About::default()
        };
        recorder.named("kruise-daemon-crr").tell(about, Severity::Normal, "Killing", &"ä".repeat(1_000));
        let event = writer.receiver.recv().await.unwrap();
        let object = object(&event, "n", "node-1");
        assert_eq!(object["source"], json!({"component": "kruise-daemon-crr", "host": "node-1"}));
        assert_eq!(object["involvedObject"]["fieldPath"], "spec.containers{a}");
        assert_eq!(object["message"].as_str().unwrap().len(), 1_024);
    }
}
