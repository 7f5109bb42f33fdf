//! How often a tag is tried, how long each attempt may take and how long to pause between them (NP-4).

use std::time::Duration;

use kruise_api::apps::nodeimage::v1beta1::ImageTagPullPolicy;

const TIMEOUT: u64 = 600;
const BACKOFF_LIMIT: u32 = 3;
const PAUSE_MAX: u64 = 30;

/// Message of a tag that ran out of time.
pub const DEADLINE_EXCEEDED: &str = "pulling exceeds the activeDeadlineSeconds";

/// The limits of one tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub attempts: u32,
    timeout: Duration,
    deadline: Option<Duration>,
}

impl Limits {
    pub fn of(policy: Option<&ImageTagPullPolicy>) -> Self {
        let timeout = policy.and_then(|one| one.timeout_seconds).and_then(|one| u64::try_from(one).ok());
        let retries = policy
            .and_then(|one| one.backoff_limit)
            .map_or(BACKOFF_LIMIT, |limit| u32::try_from(limit).unwrap_or(BACKOFF_LIMIT));
        let deadline = policy.and_then(|one| one.active_deadline_seconds);
        Self {
            attempts: retries.saturating_add(1),
            timeout: Duration::from_secs(timeout.filter(|seconds| *seconds > 0).unwrap_or(TIMEOUT)),
            deadline: deadline.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0))),
        }
    }

    /// How long the next attempt may take, so long after pulling began; nothing when the time is over.
    pub fn next(&self, since_start: Duration) -> Option<Duration> {
        let Some(deadline) = self.deadline else { return Some(self.timeout) };
        let left = deadline.checked_sub(since_start).filter(|left| !left.is_zero())?;
        Some(left.min(self.timeout))
    }
}

/// The pause after failed attempt number `failed`, counted from 1: 1, 2, 4, 8, 16, 30, 30 … seconds.
pub fn pause(failed: u32) -> Duration {
    let seconds = 1_u64.checked_shl(failed.saturating_sub(1)).unwrap_or(PAUSE_MAX);
    Duration::from_secs(seconds.min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(timeout: Option<i32>, backoff: Option<i32>, deadline: Option<i64>) -> Limits {
        Limits::of(Some(&ImageTagPullPolicy {
            timeout_seconds: timeout,
            backoff_limit: backoff,
            active_deadline_seconds: deadline,
            ..ImageTagPullPolicy::default()
        }))
    }

    #[test]
    fn np_4_attempts_and_their_time() {
        for (limits, attempts, first) in [
            (Limits::of(None), 4, 600),
            (limits(None, Some(0), None), 1, 600),
            (limits(Some(30), Some(-1), None), 4, 30),
            (limits(Some(0), Some(5), None), 6, 600),
            (limits(Some(100), None, Some(60)), 4, 60),
        ] {
            assert_eq!(limits.attempts, attempts);
            assert_eq!(limits.next(Duration::ZERO), Some(Duration::from_secs(first)));
        }
        let short = limits(Some(100), None, Some(150));
        assert_eq!(short.next(Duration::from_secs(100)), Some(Duration::from_secs(50)));
        assert_eq!(short.next(Duration::from_secs(150)), None);
        assert_eq!(short.next(Duration::from_secs(151)), None);
        assert_eq!(limits(None, None, Some(-1)).next(Duration::ZERO), None);
    }

    #[test]
    fn np_4_pauses_double_up_to_half_a_minute() {
        let pauses: Vec<u64> = (1..=7).map(|failed| pause(failed).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pause(u32::MAX).as_secs(), 30);
    }
}
