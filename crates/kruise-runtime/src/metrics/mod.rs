//! Metrics in the Prometheus text format, under the names that dashboards of the original rely on.
//!
//! Every family is in [`FAMILIES`]; the page and the documents are made from it. Decision 3 says why with this library.

mod catalog;
mod controllers;
mod process;
mod register;
mod requests;
#[cfg(test)]
mod tests;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry, TextEncoder};

pub use catalog::{FAMILIES, Family, FamilyType};
use controllers::Controllers;
pub(crate) use controllers::QueueMetrics;
pub use controllers::{ControllerMetrics, ResultLabel};
pub use requests::{CountLayer, Counted};
use webhooks::Webhooks;
pub use webhooks::{Admission, Allowed};

use crate::queue::Queue;

/// What the page is, for whoever reads it.
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// The name of the lease in the label that client libraries of the original give it.
const LEASE: &str = "kruise-manager";

/// How widely pods can be selected, the usual first.
const WIDTHS: [&str; 3] = ["exact", "namespaces", "everything"];

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    controllers: Controllers,
    webhooks: Webhooks,
    requests: IntCounterVec,
    certificate_reads: IntCounter,
    certificate_errors: IntCounter,
    ignored_gates: IntGauge,
    pod_webhook_width: IntGaugeVec,
    /// Entries that are not selected for exactly, with their width.
    wide_pod_webhooks: Mutex<BTreeMap<String, &'static str>>,
    is_leader: IntGauge,
    master_status: IntGaugeVec,
}

/// Whether this replica leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leading {
    Yes,
    No,
}

/// What a look at the certificates found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateRead {
    Usable,
    Unusable,
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        let metrics = Self {
            controllers: Controllers::new(&registry),
            webhooks: Webhooks::new(&registry),
            requests: catalog::CLIENT_REQUESTS.counters(&registry),
            certificate_reads: catalog::CERTIFICATE_READS.counter(&registry),
            certificate_errors: catalog::CERTIFICATE_ERRORS.counter(&registry),
            ignored_gates: catalog::IGNORED_GATES.gauge(&registry),
            pod_webhook_width: catalog::POD_WEBHOOK_WIDTH.gauges(&registry),
            wide_pod_webhooks: Mutex::default(),
            is_leader: catalog::IS_LEADER.gauge(&registry),
            master_status: catalog::MASTER_STATUS.gauges(&registry),
            registry,
        };
        metrics.leads(Leading::No);
        metrics
    }
}

impl Metrics {
    pub fn controller(&self, name: &'static str, queue: &Arc<Queue>) -> ControllerMetrics {
        self.controllers.add(name, queue)
    }

    pub fn leads(&self, is_leader: Leading) {
        let value = i64::from(is_leader == Leading::Yes);
        self.is_leader.set(value);
        self.master_status.with_label_values(&[LEASE]).set(value);
    }

    /// Counts the requests of a client that talks to this host.
    pub fn count_requests(&self, host: &str) -> CountLayer {
        CountLayer::new(self.requests.clone(), host)
    }

    pub fn certificate_read(&self, found: CertificateRead) {
        self.certificate_reads.inc();
        if found == CertificateRead::Unusable {
            self.certificate_errors.inc();
        }
    }

    /// Entries of `--feature-gates` that mean nothing.
    pub fn ignored_gates(&self, entries: usize) {
        self.ignored_gates.set(signed(entries));
    }

    /// How widely an entry selects pods. True if that is new.
    pub fn pod_webhook_width(&self, webhook: &str, width: &str) -> bool {
        let mut is_new = true;
        for one in WIDTHS {
            let gauge = self.pod_webhook_width.with_label_values(&[webhook, one]);
            if one == width {
                is_new = gauge.get() == 0;
            }
            gauge.set(i64::from(one == width));
        }
        let mut wide = lock(&self.wide_pod_webhooks);
        match WIDTHS.into_iter().skip(1).find(|one| *one == width) {
            Some(width) => drop(wide.insert(webhook.to_owned(), width)),
            None => drop(wide.remove(webhook)),
        }
        is_new
    }

    /// Entries that this replica has made select more pods than need it, with how widely.
    pub fn wide_pod_webhooks(&self) -> BTreeMap<String, &'static str> {
        lock(&self.wide_pod_webhooks).clone()
    }

    /// Shows a path before its first request, so that a rate can be computed from the first one on.
    pub fn webhook(&self, path: &str) {
        self.webhooks.show(path);
    }

    /// A request arrived on a path.
    pub fn webhook_asked(&self, path: &str) {
        self.webhooks.asked(path);
    }

    /// It was answered; every [`Metrics::webhook_asked`] is followed by one.
    pub fn webhook_answered(&self, path: &str, code: u16, took: Duration) {
        self.webhooks.answered(path, code, took);
    }

    /// It was a question about an object, and this is what was said.
    pub fn admitted(&self, admission: Admission) {
        self.webhooks.admitted(admission);
    }

    pub fn webhook_panicked(&self) {
        self.webhooks.panicked();
    }

    /// Requests of all paths that are being answered.
    pub fn webhooks_in_flight(&self) -> u64 {
        self.webhooks.unanswered()
    }

    /// The page that Prometheus reads.
    pub fn render(&self) -> String {
        self.controllers.look_at_queues();
        let mut families = self.registry.gather();
        families.extend(process::families());
        TextEncoder::new().encode_to_string(&families).unwrap_or_else(|error| {
            tracing::error!(%error, "the page of metrics could not be written");
            String::new()
        })
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
