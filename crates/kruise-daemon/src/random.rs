//! Jitter, so that agents of a cluster do not act in step. Nothing depends on it.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Some time below this.
pub fn up_to(most: Duration) -> Duration {
    let random = RandomState::new().hash_one(std::process::id());
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(if most == 0 { 0 } else { random % most })
}
