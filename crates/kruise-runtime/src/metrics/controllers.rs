//! What controllers and their queues did, in numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::page::{Page, Times};
use super::{lock, wide};
use crate::queue::{Queue, Tally};

/// How a reconcile ended; the label values of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultLabel {
    Success,
    Error,
    Requeue,
    RequeueAfter,
}

/// The metrics of one controller.
#[derive(Debug, Clone, Default)]
pub struct ControllerMetrics {
    counts: Arc<Mutex<Counts>>,
    queue: Option<Arc<Queue>>,
}

#[derive(Debug, Default)]
struct Counts {
    results: BTreeMap<ResultLabel, u64>,
    panics: u64,
    workers: usize,
    active: usize,
    times: Times,
}

/// One number out of a controller's counts.
type Reading = fn(&Counts) -> u64;
/// One number out of its queue.
type QueueReading = fn(&Tally) -> f64;

impl ControllerMetrics {
    /// The queue is looked at when somebody asks for the page.
    pub fn of(queue: Arc<Queue>) -> Self {
        Self { counts: Arc::default(), queue: Some(queue) }
    }

    pub fn workers(&self, workers: usize) {
        lock(&self.counts).workers = workers;
    }

    pub fn busy(&self) {
        lock(&self.counts).active += 1;
    }

    pub fn idle(&self, took: Duration, result: ResultLabel) {
        let mut counts = lock(&self.counts);
        counts.active = counts.active.saturating_sub(1);
        *counts.results.entry(result).or_default() += 1;
        counts.times.add(took);
    }

    pub fn panicked(&self) {
        lock(&self.counts).panics += 1;
    }
}

impl ResultLabel {
    const ALL: [Self; 4] = [Self::Success, Self::Error, Self::Requeue, Self::RequeueAfter];

    fn text(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

type All = BTreeMap<&'static str, ControllerMetrics>;

pub fn render(all: &All, page: &mut Page) {
    let total = "controller_runtime_reconcile_total";
    page.family(total);
    for (name, metrics) in all {
        for result in ResultLabel::ALL {
            let labels = format!("controller=\"{name}\",result=\"{}\"", result.text());
            page.line(total, &labels, lock(&metrics.counts).results.get(&result).copied().unwrap_or(0));
        }
    }
    let plain: [(&str, Reading); 5] = [
        ("controller_runtime_reconcile_errors_total", |counts| {
            counts.results.get(&ResultLabel::Error).copied().unwrap_or(0)
        }),
        // A plan that failed is tried again, whatever it failed of.
        ("controller_runtime_terminal_reconcile_errors_total", |_| 0),
        ("controller_runtime_reconcile_panics_total", |counts| counts.panics),
        ("controller_runtime_max_concurrent_reconciles", |counts| wide(counts.workers)),
        ("controller_runtime_active_workers", |counts| wide(counts.active)),
    ];
    for (family, read) in plain {
        page.family(family);
        for (name, metrics) in all {
            page.line(family, &format!("controller=\"{name}\""), read(&lock(&metrics.counts)));
        }
    }
    let time = "controller_runtime_reconcile_time_seconds";
    page.family(time);
    for (name, metrics) in all {
        page.histogram(time, &format!("controller=\"{name}\""), &lock(&metrics.counts).times);
    }
    queues(all, page);
}

fn queues(all: &All, page: &mut Page) {
    let tallies: Vec<(String, Tally)> = all
        .iter()
        .filter_map(|(name, metrics)| {
            Some((format!("name=\"{name}\",controller=\"{name}\""), metrics.queue.as_ref()?.tally()))
        })
        .collect();
    let plain: [(&str, QueueReading); 5] = [
        ("workqueue_depth", |tally| tally.depth),
        ("workqueue_adds_total", |tally| tally.adds),
        ("workqueue_retries_total", |tally| tally.retries),
        ("workqueue_unfinished_work_seconds", |tally| tally.unfinished),
        ("workqueue_longest_running_processor_seconds", |tally| tally.longest),
    ];
    for (family, read) in plain {
        page.family(family);
        for (labels, tally) in &tallies {
            page.line(family, labels, read(tally));
        }
    }
    let waited: fn(&Tally) -> &Times = |tally| &tally.waited;
    let worked: fn(&Tally) -> &Times = |tally| &tally.worked;
    for (family, times) in
        [("workqueue_queue_duration_seconds", waited), ("workqueue_work_duration_seconds", worked)]
    {
        page.family(family);
        for (labels, tally) in &tallies {
            page.histogram(family, labels, times(tally));
        }
    }
}
