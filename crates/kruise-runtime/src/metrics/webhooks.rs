//! What the webhook server was asked and answered, in numbers: the original's names, and those that its troubleshooting
//! guide speaks of.

use std::collections::BTreeMap;
use std::time::Duration;

use super::page::{Page, Times};

/// One answered question about an object, by what can be told apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Admission {
    pub webhook: String,
    pub operation: &'static str,
    pub resource: String,
    pub allowed: Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowed {
    Yes,
    No,
}

#[derive(Debug, Default)]
pub struct WebhookCounts {
    /// By path and code.
    answers: BTreeMap<(String, u16), u64>,
    paths: BTreeMap<String, Path>,
    admissions: BTreeMap<Admission, u64>,
    panics: u64,
}

#[derive(Debug, Default)]
struct Path {
    times: Times,
    in_flight: u64,
}

impl WebhookCounts {
    pub fn show(&mut self, path: &str) {
        for code in [200, 500] {
            self.answers.entry((path.to_owned(), code)).or_default();
        }
        self.paths.entry(path.to_owned()).or_default();
    }

    pub fn asked(&mut self, path: &str) {
        self.paths.entry(path.to_owned()).or_default().in_flight += 1;
    }

    pub fn answered(&mut self, path: &str, code: u16, took: Duration) {
        *self.answers.entry((path.to_owned(), code)).or_default() += 1;
        let counts = self.paths.entry(path.to_owned()).or_default();
        counts.in_flight = counts.in_flight.saturating_sub(1);
        counts.times.add(took);
    }

    pub fn admitted(&mut self, admission: Admission) {
        *self.admissions.entry(admission).or_default() += 1;
    }

    pub fn panicked(&mut self) {
        self.panics += 1;
    }

    pub fn in_flight(&self) -> u64 {
        self.paths.values().map(|path| path.in_flight).sum()
    }

    pub fn render(&self, page: &mut Page) {
        page.family("controller_runtime_webhook_requests_total");
        for ((path, code), count) in &self.answers {
            let labels = format!("code=\"{code}\",webhook=\"{path}\"");
            page.line("controller_runtime_webhook_requests_total", &labels, count);
        }
        page.family("controller_runtime_webhook_requests_in_flight");
        for (path, counts) in &self.paths {
            let labels = format!("webhook=\"{path}\"");
            page.line("controller_runtime_webhook_requests_in_flight", &labels, counts.in_flight);
        }
        for family in
            ["controller_runtime_webhook_latency_seconds", "kruise_webhook_admission_duration_seconds"]
        {
            page.family(family);
            for (path, counts) in &self.paths {
                page.histogram(family, &format!("webhook=\"{path}\""), &counts.times);
            }
        }
        page.family("kruise_webhook_admission_requests_total");
        for (one, count) in &self.admissions {
            let allowed = one.allowed == Allowed::Yes;
            let labels = format!(
                "webhook=\"{}\",operation=\"{}\",resource=\"{}\",allowed=\"{allowed}\"",
                one.webhook, one.operation, one.resource
            );
            page.line("kruise_webhook_admission_requests_total", &labels, count);
        }
        page.single("controller_runtime_webhook_panics_total", self.panics);
    }
}
