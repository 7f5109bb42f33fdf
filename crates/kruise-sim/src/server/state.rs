//! One server: its store, its sources of names and time, and who is told about changes.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use kruise_api::Resource;
use serde_json::{Value, json};

use super::admission::Admission;
use super::change::scale_of;
use super::failure::Failure;
use super::request::{Call, Part, Shape, Trial, Verb};
use super::resources::{self, Kind};
use super::store::{Event, Object, Store};
use crate::rng::Rng;

/// Tells the wall time of the world.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Is told every change at once, before anybody else can act.
pub trait Observer: Send {
    fn changed(&mut self, change: &Change<'_>);

    /// The server went back to an earlier state.
    fn restored(&mut self, store: &Store);

    /// A write that had no effect.
    fn refused(&mut self, who: &'static str, call: &Call);
}

/// One write that had an effect.
pub struct Change<'a> {
    pub store: &'a Store,
    pub event: &'a Arc<Event>,
    /// Who wrote.
    pub who: &'static str,
    pub call: &'a Call,
}

impl Change<'_> {
    pub fn is_of(&self, resource: Resource) -> bool {
        resources::of(resource).is_some_and(|kind| kind.id == self.event.kind)
    }
}

/// One write that was asked for.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: tokio::time::Instant,
    pub who: &'static str,
    pub call: Call,
    pub code: u16,
}

pub struct State {
    pub store: Store,
    pub(super) rng: Rng,
    now: Now,
    observer: Option<Box<dyn Observer>>,
    fresh: Vec<Arc<Event>>,
    /// Every write that was asked for, if somebody wants to know.
    log: Option<Vec<Entry>>,
    /// Of the question that is being answered.
    pub(super) trial: Trial,
    /// Who asks it.
    pub(super) who: &'static str,
    pub(super) admission: Admission,
    /// Pods that may be there at a time, as a quota has it; any number if nothing is said.
    pub(super) pods_at_most: Option<usize>,
}

/// What the server says.
#[derive(Debug, Clone)]
pub struct Answer {
    pub code: u16,
    /// An object of the store; its text may be ready.
    pub object: Option<Arc<Object>>,
    /// Anything else.
    pub value: Option<Value>,
}

impl Answer {
    pub fn object(code: u16, object: Arc<Object>) -> Self {
        Self { code, object: Some(object), value: None }
    }

    pub fn value(code: u16, value: Value) -> Self {
        Self { code, object: None, value: Some(value) }
    }

    pub fn success(code: u16) -> Self {
        Self::value(
            code,
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}),
        )
    }

    /// The body, in the shape that was asked for.
    pub fn bytes(&self, shape: Shape) -> Bytes {
        match (&self.object, &self.value, shape) {
            (Some(object), _, Shape::Whole) => object.text().clone(),
            (Some(object), _, Shape::MetadataOnly) => {
                let metadata = object.value.get("metadata").cloned().unwrap_or_default();
                let partial = json!({
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                });
                Bytes::from(partial.to_string())
            }
            (None, Some(value), _) => Bytes::from(value.to_string()),
            (None, None, _) => Bytes::new(),
        }
    }
}

impl State {
    pub fn new(seed: u64, now: Now) -> Self {
        Self {
            store: Store::default(),
            rng: Rng::new(seed),
            now,
            observer: None,
            fresh: Vec::new(),
            log: None,
            trial: Trial::Real,
            who: "",
            admission: Admission::Nobody,
            pods_at_most: None,
        }
    }

    /// From now on creations beyond so many pods are refused as by a quota. Pods that are there stay.
    pub fn limit_pods(&mut self, most: usize) {
        self.pods_at_most = Some(most);
    }

    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// From now on every write is remembered.
    pub fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    pub fn log(&self) -> &[Entry] {
        self.log.as_deref().unwrap_or_default()
    }

    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    pub(super) fn now_text(&self) -> String {
        seconds(self.now())
    }

    /// Answers everything but a watch.
    pub fn handle(&mut self, who: &'static str, call: &Call) -> Result<Answer, Failure> {
        self.trial = call.options.dry_run;
        self.who = who;
        let answer = match call.verb {
            Verb::Get => self.get(call),
            Verb::List | Verb::Watch => self.list(call),
            Verb::Create => self.create(call),
            Verb::Update => self.update(call),
            Verb::JsonPatch | Verb::MergePatch | Verb::StrategicPatch => self.patch(call),
            Verb::Delete => self.delete(call),
        };
        if let (true, Some(log)) = (call.verb.is_write(), &mut self.log) {
            let code = answer.as_ref().map_or_else(|failure| failure.code, |answer| answer.code);
            log.push(Entry { at: tokio::time::Instant::now(), who, call: call.clone(), code });
        }
        if let (true, Err(_), Some(observer)) = (call.verb.is_write(), &answer, &mut self.observer) {
            observer.refused(who, call);
        }
        for event in std::mem::take(&mut self.fresh) {
            if let Some(observer) = &mut self.observer {
                observer.changed(&Change { store: &self.store, event: &event, who, call });
            }
        }
        answer
    }

    /// Starts anew from a backup.
    pub fn restore(&mut self, version: u64) {
        self.store.restore(version);
        if let Some(observer) = &mut self.observer {
            observer.restored(&self.store);
        }
    }

    pub(super) fn changed(&mut self, event: Arc<Event>) {
        if self.observer.is_some() {
            self.fresh.push(event);
        }
    }

    fn get(&self, call: &Call) -> Result<Answer, Failure> {
        let (_, object) = self.found(call)?;
        match call.part {
            Part::Whole | Part::Status => Ok(Answer::object(200, object)),
            Part::Scale => Ok(Answer::value(200, scale_of(call.kind, &object)?)),
            Part::Resize | Part::EphemeralContainers | Part::Eviction | Part::Binding => {
                Err(Failure::no_such_path())
            }
        }
    }

    /// A consistent list, by pages if asked.
    fn list(&self, call: &Call) -> Result<Answer, Failure> {
        let kind = call.kind;
        if let Some(version) = call.options.oldest().filter(|version| self.store.version() < *version) {
            return Err(Failure::too_large(version, self.store.version()));
        }
        let skip: usize = if call.options.next.is_empty() {
            0
        } else {
            call.options.next.parse().map_err(|_| Failure::bad_request("continue key is not valid"))?
        };
        let limit = call.options.limit.unwrap_or(usize::MAX);
        let as_of = self.store.at(call.options.as_of);
        let all = self.store.list_at(kind.id, &call.namespace, as_of);
        let total = all.len();
        let items: Vec<Value> =
            all.iter().skip(skip).take(limit).map(|object| listed(kind, object)).collect();
        let end = skip.saturating_add(items.len());
        let mut metadata = json!({"resourceVersion": as_of.to_string()});
        if let (true, Some(map)) = (end < total, metadata.as_object_mut()) {
            map.insert("continue".into(), end.to_string().into());
            map.insert("remainingItemCount".into(), (total - end).into());
        }
        let (name, version) = (format!("{}List", kind.resource.kind()), kind.resource.api_version());
        Ok(Answer::value(
            200,
            json!({"kind": name, "apiVersion": version, "metadata": metadata, "items": items}),
        ))
    }
}

/// Items of lists of Kubernetes' own kinds do not say what they are.
fn listed(kind: &Kind, object: &Object) -> Value {
    let mut value = object.value.clone();
    if let (false, Some(map)) = (kind.is_custom(), value.as_object_mut()) {
        map.shift_remove("kind");
        map.shift_remove("apiVersion");
    }
    value
}

/// Time stamps of the API have no fractions.
pub fn seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    whole.to_string()
}
