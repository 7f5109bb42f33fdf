//! What the webhook server was asked and answered, in numbers: the original's names, and those that its troubleshooting
//! guide speaks of.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus::{HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Registry};

use super::catalog;
use super::register::TURNS;

/// One answered question about an object, by what can be told apart. Each must be one of few: the page has a line for each
/// combination for as long as the process lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    pub webhook: String,
    pub operation: &'static str,
    pub resource: String,
    pub allowed: Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    Yes,
    No,
}

#[derive(Debug)]
pub(super) struct Webhooks {
    answers: IntCounterVec,
    in_flight: IntGaugeVec,
    latency: HistogramVec,
    duration: HistogramVec,
    admissions: IntCounterVec,
    panics: IntCounter,
    /// Of all paths.
    unanswered: AtomicU64,
}

impl Webhooks {
    pub fn new(registry: &Registry) -> Self {
        Self {
            answers: catalog::WEBHOOK_REQUESTS.counters(registry),
            in_flight: catalog::WEBHOOK_IN_FLIGHT.gauges(registry),
            latency: catalog::WEBHOOK_LATENCY.histograms(registry, TURNS),
            duration: catalog::ADMISSION_DURATION.histograms(registry, TURNS),
            admissions: catalog::ADMISSIONS.counters(registry),
            panics: catalog::WEBHOOK_PANICS.counter(registry),
            unanswered: AtomicU64::new(0),
        }
    }

    /// Histograms appear with the first request, as in the original: forty lines each for every path would be most of the page.
    pub fn show(&self, path: &str) {
        for code in ["200", "500"] {
            self.answers.with_label_values(&[path, code]);
        }
        self.in_flight.with_label_values(&[path]);
    }

    pub fn asked(&self, path: &str) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        self.in_flight.with_label_values(&[path]).inc();
    }

    pub fn answered(&self, path: &str, code: u16, took: Duration) {
        self.unanswered.fetch_sub(1, Ordering::Relaxed);
        self.in_flight.with_label_values(&[path]).dec();
        self.answers.with_label_values(&[path, &code.to_string()]).inc();
        for times in [&self.latency, &self.duration] {
            times.with_label_values(&[path]).observe(took.as_secs_f64());
        }
    }

    pub fn admitted(&self, admission: Admission) {
        let Admission { webhook, operation, resource, allowed } = admission;
        let allowed = match allowed {
            Allowed::Yes => "true",
            Allowed::No => "false",
        };
        self.admissions.with_label_values(&[webhook.as_str(), operation, &resource, allowed]).inc();
    }

    pub fn panicked(&self) {
        self.panics.inc();
    }

    pub fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }
}
