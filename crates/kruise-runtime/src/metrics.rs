//! Metrics in the Prometheus text format, under the names that dashboards of the original rely on.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::webhook_counts::WebhookCounts;
pub use crate::webhook_counts::{Admission, Allowed};

/// Upper bounds of the reconcile time histogram, in seconds, as text: they are labels.
const BUCKETS: [(&str, f64); 40] = [
    ("0.005", 0.005),
    ("0.01", 0.01),
    ("0.025", 0.025),
    ("0.05", 0.05),
    ("0.1", 0.1),
    ("0.15", 0.15),
    ("0.2", 0.2),
    ("0.25", 0.25),
    ("0.3", 0.3),
    ("0.35", 0.35),
    ("0.4", 0.4),
    ("0.45", 0.45),
    ("0.5", 0.5),
    ("0.6", 0.6),
    ("0.7", 0.7),
    ("0.8", 0.8),
    ("0.9", 0.9),
    ("1", 1.0),
    ("1.25", 1.25),
    ("1.5", 1.5),
    ("1.75", 1.75),
    ("2", 2.0),
    ("2.5", 2.5),
    ("3", 3.0),
    ("3.5", 3.5),
    ("4", 4.0),
    ("4.5", 4.5),
    ("5", 5.0),
    ("6", 6.0),
    ("7", 7.0),
    ("8", 8.0),
    ("9", 9.0),
    ("10", 10.0),
    ("15", 15.0),
    ("20", 20.0),
    ("25", 25.0),
    ("30", 30.0),
    ("40", 40.0),
    ("50", 50.0),
    ("60", 60.0),
];

/// One number out of a controller's counts.
type Reading = fn(&Counts) -> u64;

/// How a reconcile ended; the label values of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultLabel {
    Success,
    Error,
    Requeue,
    RequeueAfter,
}

/// All metrics of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    controllers: Mutex<BTreeMap<&'static str, Arc<Mutex<Counts>>>>,
    is_leader: Mutex<bool>,
    webhooks: Mutex<WebhookCounts>,
}

/// The metrics of one controller.
#[derive(Debug, Clone)]
pub struct ControllerMetrics(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    results: BTreeMap<ResultLabel, u64>,
    panics: u64,
    workers: usize,
    active: usize,
    depth: usize,
    times: Times,
}

impl Metrics {
    pub fn controller(&self, name: &'static str) -> ControllerMetrics {
        ControllerMetrics(Arc::clone(lock(&self.controllers).entry(name).or_default()))
    }

    pub fn leads(&self, is_leader: Leading) {
        *lock(&self.is_leader) = is_leader == Leading::Yes;
    }

    /// Shows a path before its first request, so that a rate can be computed from the first one on.
    pub fn webhook(&self, path: &str) {
        lock(&self.webhooks).show(path);
    }

    /// A request arrived on a path.
    pub fn webhook_asked(&self, path: &str) {
        lock(&self.webhooks).asked(path);
    }

    /// It was answered; every [`Metrics::webhook_asked`] is followed by one.
    pub fn webhook_answered(&self, path: &str, code: u16, took: Duration) {
        lock(&self.webhooks).answered(path, code, took);
    }

    /// It was a question about an object, and this is what was said.
    pub fn admitted(&self, admission: Admission) {
        lock(&self.webhooks).admitted(admission);
    }

    pub fn webhook_panicked(&self) {
        lock(&self.webhooks).panicked();
    }

    /// Requests of all paths that are being answered.
    pub fn webhooks_in_flight(&self) -> u64 {
        lock(&self.webhooks).in_flight()
    }

    /// The page that Prometheus reads.
    pub fn render(&self) -> String {
        let mut page = Page(String::new());
        let controllers = lock(&self.controllers);
        page.family("controller_runtime_reconcile_total", "counter", "Reconciles by result");
        for (name, counts) in controllers.iter() {
            for result in
                [ResultLabel::Success, ResultLabel::Error, ResultLabel::Requeue, ResultLabel::RequeueAfter]
            {
                let labels = format!("controller=\"{name}\",result=\"{}\"", result.text());
                let count = lock(counts).results.get(&result).copied().unwrap_or(0);
                page.line("controller_runtime_reconcile_total", &labels, count);
            }
        }
        let plain: [(&str, &str, &str, Reading); 5] = [
            ("controller_runtime_reconcile_errors_total", "counter", "Reconciles that failed", |counts| {
                counts.results.get(&ResultLabel::Error).copied().unwrap_or(0)
            }),
            ("controller_runtime_reconcile_panics_total", "counter", "Plans that panicked", |counts| {
                counts.panics
            }),
            ("controller_runtime_max_concurrent_reconciles", "gauge", "Workers", |counts| {
                wide(counts.workers)
            }),
            ("controller_runtime_active_workers", "gauge", "Workers that are busy", |counts| {
                wide(counts.active)
            }),
            ("workqueue_depth", "gauge", "Keys that wait for a worker", |counts| wide(counts.depth)),
        ];
        for (family, kind, help, read) in plain {
            page.family(family, kind, help);
            for (name, counts) in controllers.iter() {
                let name_label =
                    if family.starts_with("workqueue") { format!("name=\"{name}\",") } else { String::new() };
                page.line(family, &format!("{name_label}controller=\"{name}\""), read(&lock(counts)));
            }
        }
        page.family("controller_runtime_reconcile_time_seconds", "histogram", "Time per reconcile");
        for (name, counts) in controllers.iter() {
            let labels = format!("controller=\"{name}\"");
            page.histogram("controller_runtime_reconcile_time_seconds", &labels, &lock(counts).times);
        }
        lock(&self.webhooks).render(&mut page);
        let leads = u64::from(*lock(&self.is_leader));
        page.family("kruise_manager_is_leader", "gauge", "1 while this replica leads");
        page.line("kruise_manager_is_leader", "", leads);
        page.family("leader_election_master_status", "gauge", "1 while this replica leads");
        page.line("leader_election_master_status", "name=\"kruise-manager\"", leads);
        page.0
    }
}

/// Whether this replica leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leading {
    Yes,
    No,
}

impl ControllerMetrics {
    pub fn workers(&self, workers: usize) {
        lock(&self.0).workers = workers;
    }

    pub fn busy(&self) {
        lock(&self.0).active += 1;
    }

    pub fn idle(&self, took: Duration, result: ResultLabel, depth: usize) {
        let mut counts = lock(&self.0);
        counts.active = counts.active.saturating_sub(1);
        *counts.results.entry(result).or_default() += 1;
        counts.depth = depth;
        counts.times.add(took);
    }

    pub fn panicked(&self) {
        lock(&self.0).panics += 1;
    }
}

impl ResultLabel {
    fn text(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

/// The page in the making.
pub(crate) struct Page(String);

impl Page {
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    pub fn histogram(&mut self, name: &str, labels: &str, times: &Times) {
        let mut sum = 0;
        for (position, (bound, _)) in BUCKETS.iter().enumerate() {
            sum += times.buckets.get(position).unwrap_or(&0);
            self.line(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), sum);
        }
        self.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), times.count);
        self.line(&format!("{name}_sum"), labels, times.seconds);
        self.line(&format!("{name}_count"), labels, times.count);
    }
}

/// How long things took.
#[derive(Debug, Default, Clone)]
pub(crate) struct Times {
    /// Per bound of `BUCKETS`; empty before the first.
    buckets: Vec<u64>,
    seconds: f64,
    count: u64,
}

impl Times {
    pub fn add(&mut self, took: Duration) {
        self.count += 1;
        self.seconds += took.as_secs_f64();
        self.buckets.resize(BUCKETS.len(), 0);
        let position = BUCKETS.iter().position(|(_, bound)| took.as_secs_f64() <= *bound);
        if let Some(bucket) = position.and_then(|position| self.buckets.get_mut(position)) {
            *bucket += 1;
        }
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_the_names_and_labels_that_dashboards_read() {
        let metrics = Metrics::default();
        let controller = metrics.controller("cloneset-controller");
        controller.workers(3);
        controller.busy();
        controller.idle(Duration::from_millis(20), ResultLabel::Success, 4);
        metrics.leads(Leading::Yes);

        let page = metrics.render();

        for line in [
            "controller_runtime_reconcile_total{controller=\"cloneset-controller\",result=\"success\"} 1",
            "controller_runtime_max_concurrent_reconciles{controller=\"cloneset-controller\"} 3",
            "workqueue_depth{name=\"cloneset-controller\",controller=\"cloneset-controller\"} 4",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"cloneset-controller\",le=\"0.01\"} 0",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"cloneset-controller\",le=\"0.025\"} 1",
            "kruise_manager_is_leader 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
    }
}
