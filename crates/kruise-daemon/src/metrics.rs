//! What the agent counts. Names are of this project; OpenKruise's agent has none of its own.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

use crate::cri::CriError;

/// Calls to a runtime, in seconds.
const CALLS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];
/// Pulls, in seconds.
const PULLS: &[f64] = &[0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    runtimes: IntGauge,
    calls: HistogramVec,
    call_errors: IntCounterVec,
    pulls: HistogramVec,
    kills: IntCounterVec,
    probes: IntCounterVec,
    watches: IntCounterVec,
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let histogram = |name: &str, help: &str, labels: &[&str], bounds: &[f64]| {
            let options = HistogramOpts::new(name, help).buckets(bounds.to_vec());
            registered(&registry, HistogramVec::new(options, labels))
        };
        Self {
            runtimes: registered(
                &registry,
                IntGauge::new(
                    "kruise_daemon_container_runtimes",
                    "Container runtimes that answered; 0 means that the agent waits",
                ),
            ),
            calls: histogram(
                "kruise_daemon_cri_call_seconds",
                "Time of calls to a container runtime",
                &["call"],
                CALLS,
            ),
            call_errors: counter(
                "kruise_daemon_cri_errors_total",
                "Calls to a container runtime that failed",
                &["call", "kind"],
            ),
            pulls: histogram(
                "kruise_daemon_image_pull_seconds",
                "Time of image pulls with all attempts",
                &["result"],
                PULLS,
            ),
            kills: counter(
                "kruise_daemon_container_stops_total",
                "Containers that the agent stopped",
                &["by", "result"],
            ),
            probes: counter("kruise_daemon_probes_total", "Probes that ran", &["result"]),
            watches: counter(
                "kruise_daemon_watch_restarts_total",
                "Watches that ended and began anew",
                &["resource"],
            ),
            registry,
        }
    }
}

#[expect(clippy::expect_used, reason = "all of it is constant, and a test registers everything")]
fn registered<C: Collector + Clone + 'static>(registry: &Registry, made: prometheus::Result<C>) -> C {
    let made = made.expect("names and labels are valid");
    registry.register(Box::new(made.clone())).expect("each family is registered once");
    made
}

/// How something ended, in labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Well,
    Badly,
}

impl Ended {
    pub fn of<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Well } else { Self::Badly }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Well => "success",
            Self::Badly => "error",
        }
    }
}

impl Metrics {
    pub fn runtimes(&self, count: usize) {
        self.runtimes.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub fn called(&self, call: &str, took: Duration, error: Option<&CriError>) {
        self.calls.with_label_values(&[call]).observe(took.as_secs_f64());
        let kind = match error {
            None => return,
            Some(CriError::TimedOut { .. } | CriError::DeadlineExceeded { .. }) => "timeout",
            Some(CriError::Unreachable { .. }) => "unreachable",
            Some(CriError::NotFound { .. }) => "not_found",
            Some(CriError::Failed { .. }) => "failed",
        };
        self.call_errors.with_label_values(&[call, kind]).inc();
    }

    pub fn pulled(&self, took: Duration, ended: Ended) {
        self.pulls.with_label_values(&[ended.word()]).observe(took.as_secs_f64());
    }

    pub fn killed(&self, by: &str, ended: Ended) {
        self.kills.with_label_values(&[by, ended.word()]).inc();
    }

    pub fn probed(&self, result: &str) {
        self.probes.with_label_values(&[result]).inc();
    }

    pub fn watch_restarted(&self, resource: &str) {
        self.watches.with_label_values(&[resource]).inc();
    }

    /// The page that Prometheus reads.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemon_2_5_everything_is_on_the_page() {
        let metrics = Metrics::default();
        metrics.runtimes(1);
        metrics.called("Version", Duration::from_millis(3), Some(&CriError::Failed { message: "x".into() }));
        metrics.pulled(Duration::from_secs(2), Ended::Well);
        metrics.killed("recreate", Ended::Badly);
        metrics.probed("Succeeded");
        metrics.watch_restarted("pods");

        let page = metrics.render().unwrap();

        for line in [
            "kruise_daemon_container_runtimes 1",
            r#"kruise_daemon_cri_errors_total{call="Version",kind="failed"} 1"#,
            r#"kruise_daemon_image_pull_seconds_count{result="success"} 1"#,
            r#"kruise_daemon_container_stops_total{by="recreate",result="error"} 1"#,
            r#"kruise_daemon_probes_total{result="Succeeded"} 1"#,
            r#"kruise_daemon_watch_restarts_total{resource="pods"} 1"#,
        ] {
            assert!(page.contains(line), "{line} is missing in\n{page}");
        }
    }
}
