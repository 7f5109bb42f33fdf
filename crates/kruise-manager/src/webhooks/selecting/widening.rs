//! Selects the pods of an object before it is let in, in whatever replica is asked about it.
//!
//! What is guaranteed: when the answer is given, the configuration that is stored selects the pods, the API server that this replica
//! talks to has used it (seen by a probe), and [`SETTLE`] has passed for the others, which learn of it by the same watch.

use std::collections::BTreeMap;
use std::time::Duration;

use kruise_core::admission::pod::Entry;
use kruise_core::admission::selection::Conditions;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Wanted;
use super::seen::{Seen, try_pod};
use super::writer::{Change, SORTS, Writer, sort_of};

/// As many objects may wait for their answer; the API server would give up on more.
const WAITING_MAX: usize = 10_000;
/// API servers learn of a configuration by watching, usually within milliseconds.
const SETTLE: Duration = Duration::from_millis(200);
/// Where no probe can tell, this has to be enough.
const SETTLE_UNSEEN: Duration = Duration::from_secs(1);
/// An API server that is told by a probe to be late for so long is not well: the user tries again.
const SEEN_WITHIN: Duration = Duration::from_secs(8);
const TRY_EVERY: Duration = Duration::from_millis(20);
/// After so many tries somebody else may have written a newer selection: then that is what to ask for.
const TRIES_PER_LOOK: usize = 10;

/// Asks for selections; many at once share a write.
#[derive(Clone)]
pub struct Widener(mpsc::Sender<Ask>);

struct Ask {
    wanted: Wanted,
    answer: oneshot::Sender<Result<(), String>>,
}

/// What this replica has seen in use: the stamp of each entry.
type Confirmed = BTreeMap<String, String>;

impl Widener {
    pub fn start(writer: Writer) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Self(sender), tokio::spawn(run(writer, receiver)))
    }

    /// One that refuses everything: for handlers without an API server behind them.
    pub fn none() -> Self {
        Self(mpsc::channel(1).0)
    }

    /// Returns when the pods are selected; the error says why they are not.
    pub async fn widen(&self, wanted: Wanted) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        let gone = "the manager is stopping".to_owned();
        if self.0.send(Ask { wanted, answer }).await.is_err() {
            return Err(gone);
        }
        answered.await.unwrap_or(Err(gone))
    }
}

async fn run(writer: Writer, mut asks: mpsc::Receiver<Ask>) {
    let mut confirmed = Confirmed::new();
    let mut batch = Vec::new();
    while asks.recv_many(&mut batch, WAITING_MAX).await > 0 {
        let mut wanted = Wanted::new();
        for (entry, concerns) in batch.iter().flat_map(|ask| &ask.wanted) {
            wanted.entry(*entry).or_default().extend(concerns.iter().cloned());
        }
        let outcome = widen(&writer, &wanted, &mut confirmed).await;
        for ask in batch.drain(..) {
            // Who hung up needs no answer.
            let _ = ask.answer.send(outcome.clone());
        }
    }
}

async fn widen(writer: &Writer, wanted: &Wanted, confirmed: &mut Confirmed) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let stamps = written(writer, wanted).await?;
        if stamps.iter().all(|(entry, stamp)| confirmed.get(entry) == Some(stamp)) {
            return Ok(());
        }
        let written_at = Instant::now();
        match until_seen(writer, &stamps).await {
            Seen::Yes => {
                tokio::time::sleep_until(written_at + SETTLE).await;
                confirmed.extend(stamps);
                return Ok(());
            }
            Seen::Unclear(why) => {
                tracing::warn!(
                    why,
                    "whether the API server uses the pod selection cannot be tried; waiting instead"
                );
                tokio::time::sleep_until(written_at + SETTLE_UNSEEN).await;
                confirmed.extend(stamps);
                return Ok(());
            }
            Seen::No if start.elapsed() > SEEN_WITHIN => {
                return Err("the API server does not use it yet".to_owned());
            }
            Seen::No => {}
        }
    }
}

/// The stamps of all entries that the wanted pods have to pass.
async fn written(writer: &Writer, wanted: &Wanted) -> Result<Confirmed, String> {
    let mut stamps = Confirmed::new();
    for sort in SORTS {
        let entries = || wanted.keys().filter(|entry| sort_of(**entry) == sort);
        if entries().next().is_none() {
            continue;
        }
        let record =
            writer.change(sort, Change::Widen(wanted)).await.map_err(|error| format!("{error:#}"))?;
        stamps.extend(entries().filter_map(|entry| {
            record.0.get(entry.name()).map(|recorded| (entry.name().to_owned(), recorded.stamp.clone()))
        }));
    }
    Ok(stamps)
}

/// Only new pods can be tried; the other entries reach the API server in the same way.
async fn until_seen(writer: &Writer, stamps: &Confirmed) -> Seen {
    let unseen = || Seen::Unclear("only new pods can be tried".to_owned());
    let Some(stamp) = stamps.get(Entry::Mutating.name()) else { return unseen() };
    match writer.place.conditions {
        Conditions::Known => {}
        Conditions::Unknown => return Seen::Unclear("the API server has no match conditions".to_owned()),
    }
    let mut last = Seen::No;
    for _ in 0..TRIES_PER_LOOK {
        last = try_pod(&writer.client, stamp).await;
        if last == Seen::Yes {
            return last;
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
    last
}
