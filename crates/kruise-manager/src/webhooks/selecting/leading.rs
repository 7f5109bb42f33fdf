//! What the leader does about selections: it notes what its objects need, and narrows what nothing has needed for long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kruise_core::admission::selection::{Pending, Record};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::writer::{Change, Expired, SORTS};
use super::{Selecting, Wanted};

/// No request of an API server lasts longer (its own limit is a minute): an object whose admission began before is stored, or
/// never will be.
const GRACE: Duration = Duration::from_mins(2);
/// Several changes come together.
const GATHER: Duration = Duration::from_millis(100);
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// Configurations are looked at this often, also if no change is reported.
const EVERY: Duration = Duration::from_mins(1);

/// Since when this leader knows what is pending. Another leader begins anew.
#[derive(Debug, Default)]
pub(super) struct Patience(BTreeMap<(String, Pending), Instant>);

impl Patience {
    /// Notes what is pending now, and forgets what is not.
    pub(super) fn note(&mut self, records: &[Record], now: Instant) {
        let mut known = BTreeMap::new();
        for (entry, recorded) in records.iter().flat_map(|record| &record.0) {
            for pending in &recorded.pending {
                let key = (entry.clone(), pending.clone());
                let since = self.0.get(&key).copied().unwrap_or(now);
                known.insert(key, since);
            }
        }
        self.0 = known;
    }

    pub(super) fn expired(&self, now: Instant) -> Expired {
        let mut expired: BTreeMap<String, BTreeSet<Pending>> = BTreeMap::new();
        for ((entry, pending), since) in &self.0 {
            if now.saturating_duration_since(*since) >= GRACE {
                expired.entry(entry.clone()).or_default().insert(pending.clone());
            }
        }
        expired
    }

    /// When the next one expires.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().min().map(|since| *since + GRACE)
    }
}

/// Keeps the selection current for as long as we lead.
pub async fn keep_selected(selecting: Selecting, changed: Arc<Notify>) {
    let mut patience = Patience::default();
    let mut retry = RETRY_FIRST;
    loop {
        let expired = patience.expired(Instant::now());
        if !expired.is_empty() {
            // What was stored while it was pending must be known before anything is dropped.
            let reads: Vec<_> = selecting.writer.steps.reads().into_iter().collect();
            selecting.stores.caches.list_again(&reads).await;
        }
        match write(&selecting, &selecting.needed(), &expired).await {
            Ok(records) => {
                patience.note(&records, Instant::now());
                retry = RETRY_FIRST;
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "the pod selection cannot be written");
                tokio::time::sleep(retry).await;
                retry = retry.saturating_mul(2).min(RETRY_LONGEST);
                continue;
            }
        }
        let look = Instant::now() + EVERY;
        let until = patience.next().map_or(look, |next| next.min(look));
        tokio::select! {
            () = changed.notified() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        tokio::time::sleep(GATHER).await;
    }
}

async fn write(selecting: &Selecting, needed: &Wanted, expired: &Expired) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for sort in SORTS {
        records.push(selecting.writer.change(sort, Change::Lead { needed, expired }).await?);
    }
    Ok(records)
}
