//! The world's time: what `tokio` says, from a fixed beginning, plus jumps of the wall clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// When every world begins: 2027-01-15, a second without a fraction.
const BEGINNING: i64 = 1_800_000_000;

/// Wall time of a simulated world; clones are the same clock.
#[derive(Debug, Clone)]
pub struct WorldClock {
    start: Instant,
    /// Seconds that the wall clock has jumped.
    jumped: Arc<AtomicI64>,
}

impl WorldClock {
    /// Starts now. Needs a runtime whose time is virtual.
    pub fn start() -> Self {
        Self { start: Instant::now(), jumped: Arc::default() }
    }

    pub fn now(&self) -> Timestamp {
        let beginning = Timestamp::from_second(BEGINNING).unwrap_or(Timestamp::UNIX_EPOCH);
        let passed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::ZERO);
        let jumped = SignedDuration::from_secs(self.jumped.load(Ordering::Relaxed));
        let now = beginning.checked_add(passed).and_then(|now| now.checked_add(jumped));
        now.unwrap_or(beginning)
    }

    /// The wall clock is set; time that is waited for does not notice.
    pub fn jump(&self, seconds: i64) {
        self.jumped.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Since the beginning of the world.
    pub fn since_start(&self, at: Instant) -> std::time::Duration {
        at.saturating_duration_since(self.start)
    }
}
