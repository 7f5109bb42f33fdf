//! The Prometheus text format.

use std::fmt::{Display, Write};
use std::time::Duration;

use super::catalog::FAMILIES;

/// Upper bounds of a histogram, in seconds, as text: they are labels.
type Bounds = &'static [(&'static str, f64)];

/// Reconciles and webhook requests.
const BUCKETS: Bounds = &[
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

/// Queues, in powers of ten; two of them are written as the original's arithmetic leaves them.
const QUEUE_BUCKETS: Bounds = &[
    ("1e-08", 1e-8),
    ("1e-07", 1e-7),
    ("1e-06", 1e-6),
    ("9.999999999999999e-06", 1e-5),
    ("9.999999999999999e-05", 1e-4),
    ("0.001", 0.001),
    ("0.01", 0.01),
    ("0.1", 0.1),
    ("1", 1.0),
    ("10", 10.0),
    ("100", 100.0),
    ("1000", 1000.0),
];

/// The page in the making.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    pub fn text(self) -> String {
        self.0
    }

    /// Begins a family of the catalogue.
    pub fn family(&mut self, name: &str) {
        let found = FAMILIES.iter().find(|family| family.name == name);
        let (kind, help) = found.map_or(("untyped", ""), |family| (family.kind, family.help));
        // Writing to a string cannot fail.
        let _infallible = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        // Writing to a string cannot fail.
        let _infallible = writeln!(self.0, "{name}{labels} {value}");
    }

    /// A family of one number.
    pub fn single(&mut self, name: &str, value: impl Display) {
        self.family(name);
        self.line(name, "", value);
    }

    pub fn histogram(&mut self, name: &str, labels: &str, times: &Times) {
        let mut sum = 0;
        for (position, (bound, _)) in times.bounds.iter().enumerate() {
            sum += times.buckets.get(position).unwrap_or(&0);
            self.line(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), sum);
        }
        self.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), times.count);
        self.line(&format!("{name}_sum"), labels, times.seconds);
        self.line(&format!("{name}_count"), labels, times.count);
    }
}

/// How long things took.
#[derive(Debug, Clone)]
pub struct Times {
    bounds: Bounds,
    /// Per bound; empty before the first.
    buckets: Vec<u64>,
    seconds: f64,
    count: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { bounds: BUCKETS, buckets: Vec::new(), seconds: 0.0, count: 0 }
    }
}

impl Times {
    /// With the bounds of queues.
    pub fn of_a_queue() -> Self {
        Self { bounds: QUEUE_BUCKETS, ..Self::default() }
    }

    pub fn add(&mut self, took: Duration) {
        self.count += 1;
        self.seconds += took.as_secs_f64();
        self.buckets.resize(self.bounds.len(), 0);
        let position = self.bounds.iter().position(|(_, bound)| took.as_secs_f64() <= *bound);
        if let Some(bucket) = position.and_then(|position| self.buckets.get_mut(position)) {
            *bucket += 1;
        }
    }
}
