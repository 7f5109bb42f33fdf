//! From the catalogue to metrics that can be counted with.

use prometheus::core::Collector;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
};

use super::catalog::Family;

/// Reconciles and webhook requests, in seconds.
pub const TURNS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// Queues, in powers of ten; two of them are what the original's arithmetic leaves.
pub const QUEUES: &[f64] = &[
    1e-8,
    1e-7,
    1e-6,
    9.999_999_999_999_999e-6,
    9.999_999_999_999_999e-5,
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
    100.0,
    1000.0,
];

impl Family {
    pub(super) fn counter(&self, registry: &Registry) -> IntCounter {
        registered(registry, IntCounter::with_opts(self.options()))
    }

    pub(super) fn counters(&self, registry: &Registry) -> IntCounterVec {
        registered(registry, IntCounterVec::new(self.options(), self.labels))
    }

    pub(super) fn gauge(&self, registry: &Registry) -> IntGauge {
        registered(registry, IntGauge::with_opts(self.options()))
    }

    pub(super) fn gauges(&self, registry: &Registry) -> IntGaugeVec {
        registered(registry, IntGaugeVec::new(self.options(), self.labels))
    }

    /// Gauges of seconds.
    pub(super) fn times(&self, registry: &Registry) -> GaugeVec {
        registered(registry, GaugeVec::new(self.options(), self.labels))
    }

    pub(super) fn histograms(&self, registry: &Registry, bounds: &[f64]) -> HistogramVec {
        let options = HistogramOpts::from(self.options()).buckets(bounds.to_vec());
        registered(registry, HistogramVec::new(options, self.labels))
    }

    fn options(&self) -> Opts {
        Opts::new(self.name, self.help)
    }
}

#[expect(clippy::expect_used, reason = "all of it is constant, and a test registers every family")]
fn registered<C: Collector + Clone + 'static>(registry: &Registry, made: prometheus::Result<C>) -> C {
    let made = made.expect("names and labels of the catalogue are valid");
    registry.register(Box::new(made.clone())).expect("each family is registered once");
    made
}
