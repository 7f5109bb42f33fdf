//! Whether a watch is alive, for `/healthz`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A watch that did nothing for so long is stuck: it connects, hears or fails more often than that.
const STUCK_AFTER: Duration = Duration::from_mins(10);

/// One watch.
#[derive(Debug)]
pub struct Pulse {
    /// As OpenKruise names the check.
    pub check: &'static str,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    is_listed: bool,
    /// Its kind is not installed: nothing to do, and no fault of the agent.
    is_absent: bool,
    last: Instant,
}

impl Pulse {
    pub fn new(check: &'static str) -> Self {
        let state = State { is_listed: false, is_absent: false, last: Instant::now() };
        Self { check, state: Mutex::new(state) }
    }

    fn with(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = Instant::now();
        change(&mut state);
    }

    /// It does something: connects, hears, or fails.
    pub fn beats(&self) {
        self.with(|_| {});
    }

    pub fn listed(&self) {
        self.with(|state| (state.is_listed, state.is_absent) = (true, false));
    }

    pub fn absent(&self) {
        self.with(|state| state.is_absent = true);
    }

    /// The first list, or that there is nothing to list, is known.
    pub fn is_listed(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_listed || state.is_absent
    }

    /// An API server that cannot be reached is no reason to restart agents all over the cluster; a watch that is stuck is.
    pub fn check(&self) -> Result<(), String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_listed && !state.is_absent {
            return Err(format!("check {} failed, err: not synced", self.check));
        }
        if state.last.elapsed() > STUCK_AFTER {
            return Err(format!("check {} failed, err: the watch is stuck", self.check));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// daemon 2.5, problem 6 and acceptance 4.
    #[tokio::test(start_paused = true)]
    async fn daemon_7_6_watch_is_healthy_when_listed_and_not_when_stuck() {
        let pulse = Pulse::new("crrInformerSynced");
        assert_eq!(pulse.check().unwrap_err(), "check crrInformerSynced failed, err: not synced");
        pulse.beats();
        assert!(pulse.check().is_err(), "it tries, but has nothing");
        pulse.listed();
        assert_eq!(pulse.check(), Ok(()));
        tokio::time::advance(STUCK_AFTER + Duration::from_secs(1)).await;
        assert!(pulse.check().unwrap_err().ends_with("the watch is stuck"));
        pulse.beats();
        assert_eq!(pulse.check(), Ok(()), "a server that cannot be reached is no fault of the agent");
        let other = Pulse::new("x");
        other.absent();
        assert_eq!(other.check(), Ok(()), "a kind that is not installed");
    }
}
