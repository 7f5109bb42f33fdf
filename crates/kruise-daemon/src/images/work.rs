//! The loop: the NodeImage comes in, pulls start and stop, their states go out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kruise_api::Kind;
use kruise_api::apps::nodeimage::v1beta1::{ImageTagStatus, NodeImage, NodeImageStatus};
use kruise_api::reasons::event::{PULL_IMAGE_FAILED, PULL_IMAGE_SUCCEED};
use kruise_core::image::Reference;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::decide::{self, FAILED, PULLING, SUCCEEDED, Tag, WAITING};
use super::pull::{Job, Pulling};
use crate::api::{About, Api, ApiError, Change, Key, PatchKind, Recorder, Severity, Watched};
use crate::clock;
use crate::metrics::{Ended, Metrics};

/// Status writes: so many at once, and then one in this time (NP-12).
const BURST: u32 = 5;
const APART: Duration = Duration::from_secs(2);
/// After a write that failed.
const RETRY: Duration = Duration::from_secs(3);

impl Watched for NodeImage {
    fn key(&self) -> Key {
        (String::new(), self.metadata.name.clone().unwrap_or_default())
    }

    fn version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    fn trimmed(mut self) -> Self {
        self.metadata.managed_fields = None;
        self
    }
}

/// What the loop hears.
#[derive(Debug)]
pub enum Heard {
    NodeImage(Box<Change<NodeImage>>),
    /// A pull says where it stands.
    Tag(Tag, i64, Box<ImageTagStatus>),
}

/// Everything that the loop and its pulls share.
pub struct Puller {
    pub api: Api,
    pub events: Recorder,
    pub metrics: Arc<Metrics>,
    pub pulling: Arc<Pulling>,
    pub node: String,
    slots: Option<Arc<Semaphore>>,
    sender: mpsc::UnboundedSender<Heard>,
}

/// What the loop remembers.
#[derive(Default)]
struct State {
    object: Option<NodeImage>,
    known: BTreeMap<Tag, i64>,
    handles: BTreeMap<Tag, AbortHandle>,
    here: BTreeMap<Tag, ImageTagStatus>,
    writes: Bucket,
}

/// A token bucket.
struct Bucket {
    left: u32,
    since: Option<Instant>,
}

impl Default for Bucket {
    fn default() -> Self {
        Self { left: BURST, since: None }
    }
}

impl Bucket {
    /// Takes one, or says when there will be one.
    fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let since = *self.since.get_or_insert(now);
        let earned = u32::try_from(now.duration_since(since).as_secs() / APART.as_secs()).unwrap_or(BURST);
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(BURST);
            self.since = Some(now);
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(since + APART),
        }
    }
}

impl Puller {
    /// `workers` > 0 limits pulls at one time on the whole node.
    pub fn new(
        (api, events): (Api, Recorder),
        metrics: Arc<Metrics>,
        pulling: Pulling,
        (node, workers): (&str, i32),
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Heard>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let slots = usize::try_from(workers).ok().filter(|count| *count > 0);
        let slots = slots.map(|count| Arc::new(Semaphore::new(count)));
        let pulling = Arc::new(pulling);
        (Arc::new(Self { api, events, metrics, pulling, node: node.to_owned(), slots, sender }), receiver)
    }

    pub fn hear(&self, change: Change<NodeImage>) {
        // The receiver lives as long as the process.
        let _closing = self.sender.send(Heard::NodeImage(Box::new(change)));
    }

    /// Works until aborted.
    pub async fn run(self: Arc<Self>, mut receiver: mpsc::UnboundedReceiver<Heard>) {
        let mut state = State::default();
        let mut write_at: Option<Instant> = None;
        loop {
            let due = async {
                match write_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                heard = receiver.recv() => {
                    let Some(heard) = heard else { return };
                    Self::take(&mut state, heard);
                    while let Ok(more) = receiver.try_recv() {
                        Self::take(&mut state, more);
                    }
                    self.settle(&mut state);
                }
                () = due => {}
            }
            write_at = self.report(&mut state).await;
        }
    }

    fn take(state: &mut State, heard: Heard) {
        match heard {
            Heard::NodeImage(change) => match *change {
                Change::Applied(object) => state.object = Some(object),
                Change::Gone(_) => state.object = None,
            },
            Heard::Tag(tag, version, status) => {
                if state.known.get(&tag) == Some(&version) {
                    state.here.insert(tag, *status);
                }
            }
        }
    }

    /// Starts and stops pulls (NP-2). A pull that is stopped makes no call any more.
    fn settle(self: &Arc<Self>, state: &mut State) {
        let none = NodeImageStatus::default();
        let (spec, status) = match &state.object {
            Some(object) => (object.spec.clone(), object.status.as_ref().unwrap_or(&none)),
            None => (kruise_api::apps::nodeimage::v1beta1::NodeImageSpec::default(), &none),
        };
        let changes = decide::changes(&spec, status, &state.known);
        for tag in changes.stop {
            if let Some(handle) = state.handles.remove(&tag) {
                handle.abort();
            }
            state.known.remove(&tag);
            state.here.remove(&tag);
        }
        for tag in changes.start {
            let Some((image, one)) = decide::wanted(&spec, &tag) else { continue };
            let job = Job {
                reference: Reference { name: tag.0.clone(), tag: tag.1.clone() },
                image: image.clone(),
                tag: one.clone(),
            };
            state.known.insert(tag.clone(), decide::version(one));
            state.here.insert(tag.clone(), of(&job, WAITING));
            let about = state.object.as_ref().map(|object| self.about(object)).unwrap_or_default();
            let task = tokio::spawn(Arc::clone(self).pull(job, about));
            state.handles.insert(tag, task.abort_handle());
        }
    }

    /// NP-3: Waiting, Pulling, and then Succeeded or Failed.
    async fn pull(self: Arc<Self>, job: Job, about: About) {
        let _slot = match &self.slots {
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
            None => None,
        };
        let began = Instant::now();
        let mut status = of(&job, PULLING);
        status.start_time = Some(clock::now().into());
        self.say(&job, status.clone());
        let result = self.pulling.run(&job).await;
        self.metrics.pulled(began.elapsed(), Ended::of(&result));
        status.completion_time = Some(clock::now().into());
        let text = format!("Image {}:{}", job.reference.name, job.reference.tag);
        match result {
            Ok(id) => {
                SUCCEEDED.clone_into(&mut status.phase);
                status.progress = Some(100);
                status.image_id = id.map(|id| format!("{}@{id}", job.reference.name));
                let took = began.elapsed().as_secs_f64();
                let text = format!("{text}, ecalpsedTime {took:.3}s");
                self.events.tell(about, Severity::Normal, PULL_IMAGE_SUCCEED, &text);
            }
            Err(error) => {
                FAILED.clone_into(&mut status.phase);
                let text = format!("{text} {error}");
                for owner in job.tag.owner_references.iter().flatten() {
                    self.events.tell(of_owner(owner), Severity::Warning, PULL_IMAGE_FAILED, &text);
                }
                self.events.tell(about, Severity::Warning, PULL_IMAGE_FAILED, &text);
                status.message = Some(error);
            }
        }
        self.say(&job, status);
    }

    fn say(&self, job: &Job, status: ImageTagStatus) {
        let tag = (job.reference.name.clone(), job.reference.tag.clone());
        // The receiver lives as long as the process.
        let _closing = self.sender.send(Heard::Tag(tag, decide::version(&job.tag), Box::new(status)));
    }

    fn about(&self, object: &NodeImage) -> About {
        About {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            name: self.node.clone(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            ..About::default()
        }
    }

    /// Writes the status if it changed; when to try again if it could not.
    async fn report(&self, state: &mut State) -> Option<Instant> {
        let object = state.object.as_mut()?;
        let before = object.status.clone().unwrap_or_default();
        let after = decide::status(&object.spec, &before, &state.here);
        let patch = decide::patch(&before, &after)?;
        let now = Instant::now();
        if let Err(at) = state.writes.take(now) {
            return Some(at);
        }
        let path = format!("{}/status", NodeImage::RESOURCE.object("", &self.node));
        match self.api.patch::<NodeImage>(&path, PatchKind::Merge, &patch).await {
            // What the server has now is what the next change is compared with.
            Ok(written) => {
                object.status = written.status;
                None
            }
            Err(ApiError::NotFound) => None,
            Err(error) => {
                tracing::warn!(%error, "status of the NodeImage not written");
                Some(now + RETRY)
            }
        }
    }
}

fn of(job: &Job, phase: &str) -> ImageTagStatus {
    ImageTagStatus {
        tag: job.reference.tag.clone(),
        phase: phase.to_owned(),
        version: Some(decide::version(&job.tag)).filter(|version| *version != 0),
        ..ImageTagStatus::default()
    }
}

fn of_owner(owner: &kruise_api::parts::ObjectReference) -> About {
    About {
        api_version: owner.api_version.clone().unwrap_or_default(),
        kind: owner.kind.clone().unwrap_or_default(),
        namespace: owner.namespace.clone().unwrap_or_default(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone().unwrap_or_default(),
        field_path: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn np_12_five_writes_at_once_and_then_one_in_two_seconds() {
        let (start, mut bucket) = (Instant::now(), Bucket::default());
        for _ in 0..BURST {
            assert_eq!(bucket.take(start), Ok(()));
        }
        assert_eq!(bucket.take(start), Err(start + APART));
        assert_eq!(bucket.take(start + APART), Ok(()));
        assert_eq!(bucket.take(start + APART), Err(start + APART * 2));
        for _ in 0..BURST {
            assert_eq!(bucket.take(start + APART * 100), Ok(()));
        }
        assert!(bucket.take(start + APART * 100).is_err(), "no more than a burst is saved up");
    }
}
