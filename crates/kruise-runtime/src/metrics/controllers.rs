//! What controllers and their queues did, in numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus::{
    GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

use super::register::{QUEUES, TURNS};
use super::{catalog, lock, signed};
use crate::queue::Queue;

/// How a reconcile ended; the label values of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultLabel {
    Success,
    Error,
    Requeue,
    RequeueAfter,
}

/// The metrics of one controller.
#[derive(Debug, Clone)]
pub struct ControllerMetrics {
    name: &'static str,
    results: IntCounterVec,
    errors: IntCounter,
    panics: IntCounter,
    workers: IntGauge,
    active: IntGauge,
    times: Histogram,
}

/// What a queue counts as it happens.
#[derive(Debug, Clone)]
pub(crate) struct QueueMetrics {
    pub adds: IntCounter,
    pub retries: IntCounter,
    pub waited: Histogram,
    pub worked: Histogram,
}

/// The families of all controllers.
#[derive(Debug)]
pub(super) struct Controllers {
    results: IntCounterVec,
    errors: IntCounterVec,
    /// A plan that failed is tried again, whatever it failed of: always 0.
    terminal: IntCounterVec,
    panics: IntCounterVec,
    workers: IntGaugeVec,
    active: IntGaugeVec,
    times: HistogramVec,
    queues: Queues,
}

#[derive(Debug)]
struct Queues {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    /// What is looked at when the page is asked for.
    all: Mutex<BTreeMap<&'static str, Arc<Queue>>>,
}

impl Controllers {
    pub fn new(registry: &Registry) -> Self {
        Self {
            results: catalog::RECONCILES.counters(registry),
            errors: catalog::RECONCILE_ERRORS.counters(registry),
            terminal: catalog::TERMINAL_ERRORS.counters(registry),
            panics: catalog::RECONCILE_PANICS.counters(registry),
            workers: catalog::WORKERS.gauges(registry),
            active: catalog::ACTIVE_WORKERS.gauges(registry),
            times: catalog::RECONCILE_TIME.histograms(registry, TURNS),
            queues: Queues {
                depth: catalog::QUEUE_DEPTH.gauges(registry),
                adds: catalog::QUEUE_ADDS.counters(registry),
                retries: catalog::QUEUE_RETRIES.counters(registry),
                waited: catalog::QUEUE_WAIT.histograms(registry, QUEUES),
                worked: catalog::QUEUE_WORK.histograms(registry, QUEUES),
                unfinished: catalog::QUEUE_UNFINISHED.times(registry),
                longest: catalog::QUEUE_LONGEST.times(registry),
                all: Mutex::default(),
            },
        }
    }

    /// Everything of the controller is on the page from now on, also what has not happened yet.
    pub fn add(&self, name: &'static str, queue: &Arc<Queue>) -> ControllerMetrics {
        for result in ResultLabel::ALL {
            self.results.with_label_values(&[name, result.text()]);
        }
        self.terminal.with_label_values(&[name]);
        self.queues.add(name, queue);
        ControllerMetrics {
            name,
            results: self.results.clone(),
            errors: self.errors.with_label_values(&[name]),
            panics: self.panics.with_label_values(&[name]),
            workers: self.workers.with_label_values(&[name]),
            active: self.active.with_label_values(&[name]),
            times: self.times.with_label_values(&[name]),
        }
    }

    pub fn look_at_queues(&self) {
        self.queues.look();
    }
}

impl Queues {
    fn add(&self, name: &'static str, queue: &Arc<Queue>) {
        let labels = [name, name];
        queue.measure(QueueMetrics {
            adds: self.adds.with_label_values(&labels),
            retries: self.retries.with_label_values(&labels),
            waited: self.waited.with_label_values(&labels),
            worked: self.worked.with_label_values(&labels),
        });
        lock(&self.all).insert(name, Arc::clone(queue));
    }

    fn look(&self) {
        for (name, queue) in lock(&self.all).iter() {
            let (labels, load) = ([name, name], queue.load());
            self.depth.with_label_values(&labels).set(signed(load.depth));
            self.unfinished.with_label_values(&labels).set(load.unfinished.as_secs_f64());
            self.longest.with_label_values(&labels).set(load.longest.as_secs_f64());
        }
    }
}

impl ControllerMetrics {
    pub fn workers(&self, workers: usize) {
        self.workers.set(signed(workers));
    }

    pub fn busy(&self) {
        self.active.inc();
    }

    pub fn idle(&self, took: Duration, result: ResultLabel) {
        self.active.dec();
        self.results.with_label_values(&[self.name, result.text()]).inc();
        if result == ResultLabel::Error {
            self.errors.inc();
        }
        self.times.observe(took.as_secs_f64());
    }

    pub fn panicked(&self) {
        self.panics.inc();
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
