//! Metrics in the Prometheus text format, under the names that dashboards of the original rely on.
//!
//! Every family is in [`FAMILIES`]; the page and the documents are made from it.

mod catalog;
mod controllers;
mod page;
mod process;
mod requests;
#[cfg(test)]
mod tests;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use catalog::{FAMILIES, Family};
pub use controllers::{ControllerMetrics, ResultLabel};
use page::Page;
pub(crate) use page::Times;
use requests::RequestCounts;
pub use requests::{CountLayer, Counted};
use webhooks::WebhookCounts;
pub use webhooks::{Admission, Allowed};

use crate::queue::Queue;

/// All metrics of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    controllers: Mutex<BTreeMap<&'static str, ControllerMetrics>>,
    is_leader: Mutex<bool>,
    webhooks: Mutex<WebhookCounts>,
    requests: Arc<Mutex<RequestCounts>>,
    certificates: Mutex<CertificateCounts>,
}

#[derive(Debug, Default)]
struct CertificateCounts {
    reads: u64,
    errors: u64,
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

impl Metrics {
    pub fn controller(&self, name: &'static str, queue: &Arc<Queue>) -> ControllerMetrics {
        let metrics = ControllerMetrics::of(Arc::clone(queue));
        lock(&self.controllers).insert(name, metrics.clone());
        metrics
    }

    pub fn leads(&self, is_leader: Leading) {
        *lock(&self.is_leader) = is_leader == Leading::Yes;
    }

    /// Counts the requests of a client that talks to this host.
    pub fn count_requests(&self, host: &str) -> CountLayer {
        lock(&self.requests).to(host);
        CountLayer { counts: Arc::clone(&self.requests) }
    }

    pub fn certificate_read(&self, found: CertificateRead) {
        let mut counts = lock(&self.certificates);
        counts.reads += 1;
        counts.errors += u64::from(found == CertificateRead::Unusable);
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
        let mut page = Page::default();
        controllers::render(&lock(&self.controllers), &mut page);
        lock(&self.webhooks).render(&mut page);
        lock(&self.requests).render(&mut page);
        let certificates = lock(&self.certificates);
        page.single("certwatcher_read_certificate_total", certificates.reads);
        page.single("certwatcher_read_certificate_errors_total", certificates.errors);
        let leads = u64::from(*lock(&self.is_leader));
        page.single("kruise_manager_is_leader", leads);
        page.family("leader_election_master_status");
        page.line("leader_election_master_status", "name=\"kruise-manager\"", leads);
        process::render(&mut page);
        page.text()
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
