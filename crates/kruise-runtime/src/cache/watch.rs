//! Keeps a store current: streaming list where the server has it, else pages; then a watch from there, for ever.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, timeout};

use super::store::Basis;
use super::stream::{self, Line};
use super::{Listed, Slim, Store, Version};
use crate::queue::BackOff;

/// Between tries to reach the server.
const BACK_OFF: BackOff = BackOff { first: Duration::from_millis(200), longest: Duration::from_secs(30) };

/// The server ends a watch after this long; five minutes is what its caches are made for.
const WATCH_SECONDS: u64 = 290;

/// A watch that was silent for so long is begun anew where it was: its connection may have died without a word. Servers send a
/// bookmark about every minute, and where there is none to send a new request costs next to nothing.
const SILENCE: Duration = Duration::from_secs(150);

/// All pages of a list of the largest clusters take less than this; a list that takes longer is one that nobody answers.
const LISTED_WITHIN: Duration = Duration::from_mins(5);

/// A watch that ends sooner and without news is not worth repeating at once.
const LASTED: Duration = Duration::from_secs(1);

/// Between two looks whether a type is served by now. Its users wait for it, and one answer that there is none costs little.
const NOT_SERVED_LOOK_EVERY: Duration = Duration::from_secs(5);

/// What to watch, and the source of jitter.
#[derive(Debug, Clone)]
pub struct WatchSettings {
    /// Empty for all namespaces.
    pub namespace: Arc<str>,
    pub seed: u64,
}

/// The loop for one resource type. Run it as a task; it never returns.
pub struct Watch<T: Slim> {
    client: Client,
    store: Arc<Store<T>>,
    settings: WatchSettings,
    /// Path of the objects.
    collection: String,
    /// Query of every request, for a watch of fewer than all objects.
    selection: String,
    /// Where the next watch begins; `None` when everything must be listed again.
    from: Option<Version>,
    /// No list may be older than this: a cache never goes back in time. Nothing at first, when the newest is asked for.
    not_before: Version,
    /// The request of the store that a list which begins now answers.
    answers: u64,
    list: ListBy,
    /// How the next list compares with the store.
    basis: Basis,
    trust: Trust,
}

/// Whether the server is known to be where it was when the last watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Certain,
    /// A watch ended before its time. The server may have been restored from a backup, and a watch from a version that it has not come
    /// to is simply silent.
    InDoubt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListBy {
    Stream,
    Pages,
}

/// Why a round ended.
enum End {
    /// The server closed it, as it does now and then, or has been silent for long: go on from where it was.
    Closed,
    /// The history is gone: list again.
    TooOld,
    /// Somebody asks for the newest, and not for what arrives at some time.
    AskedAgain,
    /// The server has not come to what we have seen: it lost something, and what is left is what counts.
    WentBack,
    /// The server has no streaming list.
    NoStream,
    /// The server has no such type.
    NotServed,
    Failed(String),
}

impl End {
    /// What a round that began then says about where the server is.
    fn trust(&self, started: Instant) -> Trust {
        match self {
            Self::Closed if started.elapsed() < Duration::from_secs(WATCH_SECONDS) => Trust::InDoubt,
            Self::Failed(_) => Trust::InDoubt,
            Self::Closed
            | Self::TooOld
            | Self::AskedAgain
            | Self::WentBack
            | Self::NoStream
            | Self::NotServed => Trust::Certain,
        }
    }
}

impl<T: Slim> Watch<T> {
    pub fn new(client: Client, store: Arc<Store<T>>, settings: WatchSettings) -> Self {
        let collection = T::RESOURCE.collection(&settings.namespace);
        let selection = String::new();
        Self {
            client,
            store,
            settings,
            collection,
            selection,
            from: None,
            not_before: Version::default(),
            answers: 0,
            list: ListBy::Stream,
            basis: Basis::Newer,
            trust: Trust::Certain,
        }
    }

    /// Of objects under another path than that of the type: a type that is known only by its name.
    #[must_use]
    pub fn at(mut self, collection: String) -> Self {
        self.collection = collection;
        self
    }

    /// Of the one object with this name, which is a DNS name.
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        self.selection = format!("&fieldSelector=metadata.name%3D{name}");
        self
    }

    pub async fn run(mut self) {
        let store = Arc::clone(&self.store);
        let mut failures = 0_u32;
        loop {
            let (before, started) = (store.seen(), Instant::now());
            if self.answers < store.asked() {
                self.answers = store.asked();
                self.from = None;
            }
            let end = tokio::select! {
                biased;
                () = store.asked_after(self.answers) => End::AskedAgain,
                end = self.round() => end.unwrap_or_else(|error| self.failed(error)),
            };
            // A watch that brought something or lasted a while worked, whatever ended it.
            let worked = store.seen() > before || started.elapsed() >= LASTED;
            failures = if worked { 0 } else { failures.saturating_add(1) };
            self.trust = end.trust(started);
            match end {
                End::Closed => {}
                End::AskedAgain => failures = 0,
                End::TooOld => {
                    self.from = None;
                    self.not_before = store.seen();
                }
                End::WentBack => {
                    tracing::error!(
                        path = self.collection,
                        seen = self.not_before.0,
                        "the API server knows less than it has told before; starting from what it knows"
                    );
                    self.not_before = Version::default();
                    self.from = None;
                    self.basis = Basis::AsItIs;
                }
                End::NoStream => self.list = ListBy::Pages,
                End::NotServed => {
                    self.from = None;
                    if store.mark(Listed::NotServed, self.answers) {
                        tracing::warn!(
                            path = self.collection,
                            "the API server does not serve this kind; it is used as soon as it does"
                        );
                    }
                    self.rest(NOT_SERVED_LOOK_EVERY).await;
                    failures = 0;
                }
                End::Failed(error) => {
                    failures = failures.max(1); // Also after news: whatever failed is not asked again at once.
                    tracing::warn!(path = self.collection, error, "watch failed; trying again");
                }
            }
            if failures > 0 {
                self.rest(BACK_OFF.delay(failures)).await;
            }
        }
    }

    fn failed(&self, error: kube::Error) -> End {
        let kube::Error::Api(status) = error else { return End::Failed(error.to_string()) };
        let is_list = self.from.is_none();
        match status.code {
            410 => End::TooOld,
            404 => End::NotServed,
            _ if is_list && is_no_stream(&status) => End::NoStream,
            _ if (is_list || self.trust == Trust::InDoubt) && is_behind(&status) => End::WentBack,
            code => End::Failed(format!("{} ({code})", status.message)),
        }
    }

    /// Waits for some part of this time, unless somebody asks for a list.
    async fn rest(&mut self, longest: Duration) {
        let wait = self.jitter(longest);
        tokio::select! {
            biased;
            () = self.store.asked_after(self.answers) => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    /// One list if needed, and one watch.
    async fn round(&mut self) -> Result<End, kube::Error> {
        match (self.from, self.list) {
            (None, ListBy::Stream) => self.watch(Some(BTreeSet::new())).await,
            (None, ListBy::Pages) => {
                let mut listed = BTreeSet::new();
                let (store, basis) = (&self.store, self.basis);
                let take = |object: T| {
                    listed.insert(object.key());
                    store.put_listed(object, basis);
                };
                let place = (self.collection.as_str(), self.selection.as_str());
                let Ok(version) = timeout(LISTED_WITHIN, stream::list(&self.client, place, take)).await
                else {
                    return Ok(End::Failed("no answer to a list".into()));
                };
                let version = version?;
                match self.complete(&listed, version) {
                    Some(end) => Ok(end),
                    None => self.watch(None).await,
                }
            }
            (Some(from), _) => {
                if self.trust == Trust::InDoubt {
                    let place = (self.collection.as_str(), self.selection.as_str());
                    let asked = timeout(SILENCE, stream::has_come_to::<T>(&self.client, place, from)).await;
                    let Ok(answer) = asked else { return Ok(End::Failed("no answer".into())) };
                    answer?;
                }
                self.watch(None).await
            }
        }
    }

    /// With `listed`, the watch begins with all objects, and that set collects them.
    async fn watch(&mut self, mut listed: Option<BTreeSet<crate::Key>>) -> Result<End, kube::Error> {
        let from = match (&listed, self.from) {
            (None, Some(version)) => format!("resourceVersion={}", version.0),
            (Some(_), _) | (None, None) => self.all_since(),
        };
        let (collection, selection) = (&self.collection, &self.selection);
        let path = format!(
            "{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}{selection}&{from}"
        );
        let request = stream::get::<T>(path)?;
        let Ok(lines) = timeout(SILENCE, self.client.request_stream(request)).await else {
            return Ok(End::Failed("no answer".into()));
        };
        let (mut lines, mut buffer) = (pin!(lines?), Vec::new());
        loop {
            let Ok(line) = timeout(SILENCE, stream::next::<T>(&mut lines, &mut buffer)).await else {
                return Ok(End::Closed);
            };
            let Some(line) = line? else { return Ok(End::Closed) };
            if let Some(end) = self.take(line, &mut listed) {
                return Ok(end);
            }
        }
    }

    /// Asks for everything: the newest there is, or where nobody waits for that anything that is no older than what was seen.
    fn all_since(&self) -> String {
        let all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        if self.not_before == Version::default() || self.store.is_waited_for() {
            return all.to_owned();
        }
        format!("{all}&resourceVersion={}", self.not_before.0)
    }

    fn take(&mut self, line: Line<T>, listed: &mut Option<BTreeSet<crate::Key>>) -> Option<End> {
        match line {
            Line::Object(object) => {
                let version = Version::read(object.resource_version());
                match listed {
                    Some(listed) => {
                        listed.insert(object.key());
                        self.store.put_listed(object, self.basis);
                    }
                    None => self.store.put(object),
                }
                self.advance(version);
            }
            Line::Gone { object } => {
                let version = Version::read(object.resource_version());
                if let Some(listed) = listed {
                    listed.remove(&object.key());
                }
                self.store.remove(&object.key(), object.uid(), version);
                self.advance(version);
            }
            Line::Bookmark { version, list_is_complete } => {
                if list_is_complete
                    && let Some(listed) = listed.take()
                    && let Some(end) = self.complete(&listed, version)
                {
                    return Some(end);
                }
                if listed.is_none() {
                    self.store.progress(version);
                }
                self.advance(version);
            }
            Line::Unreadable { version } => self.advance(version),
            Line::Failed { code: 410, .. } => return Some(End::TooOld),
            Line::Failed { code, message } => return Some(End::Failed(format!("{message} ({code})"))),
        }
        None
    }

    /// A server that went back is listed once more: only then it is known that all its objects count as they are.
    fn complete(&mut self, listed: &BTreeSet<crate::Key>, version: Version) -> Option<End> {
        if self.basis == Basis::Newer && version < self.store.seen() {
            return Some(End::WentBack);
        }
        self.store.retain(listed, version, self.basis);
        self.basis = Basis::Newer;
        self.store.mark(Listed::Complete, self.answers);
        self.from = Some(version);
        tracing::debug!(path = self.collection, objects = listed.len(), "listed");
        None
    }

    /// Only after a complete list can a watch go on from somewhere.
    fn advance(&mut self, version: Version) {
        if let Some(from) = &mut self.from {
            *from = version.max(*from);
        }
    }

    /// Between half and all of it, so that many managers do not come back together.
    fn jitter(&mut self, wait: Duration) -> Duration {
        // A linear congruential step: spread is all that is needed, and one seed must give one run.
        self.settings.seed = self.settings.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let share = u32::try_from(self.settings.seed >> 33).unwrap_or(0) % 500;
        wait / 1_000 * (500 + share)
    }
}

/// As after a restore from a backup.
fn is_behind(status: &kube::core::Status) -> bool {
    status.code == 504 && status.message.contains("Too large resource version")
}

/// Old servers do not know the parameters of a streaming list, or have it switched off.
fn is_no_stream(status: &kube::core::Status) -> bool {
    matches!(status.code, 400 | 422) || (status.code == 403 && status.message.contains("sendInitialEvents"))
}
