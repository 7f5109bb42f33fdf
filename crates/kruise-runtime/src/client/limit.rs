//! A limit on our own requests, for those who ask for one: so many a second, some of them at once. The API server's own
//! fairness makes it unnecessary.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tower::{Layer, Service};

/// Puts the limit in front of a client.
#[derive(Debug, Clone)]
pub struct LimitLayer(Arc<Mutex<Bucket>>);

/// A service whose requests wait for their turn. Kube's client hands requests over one after the other, so waiting
/// until ready holds up exactly those that come later.
#[derive(Debug)]
pub struct Limited<S> {
    inner: S,
    bucket: Arc<Mutex<Bucket>>,
    /// The turn that the next request has taken.
    turn: Option<Pin<Box<Sleep>>>,
}

/// When the next request may go out, as if all before had been spread evenly.
#[derive(Debug)]
struct Bucket {
    apart: Duration,
    /// How far requests may run ahead of that.
    ahead: Duration,
    next: Option<Instant>,
}

impl LimitLayer {
    /// `per_second` is positive.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let apart = Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(Duration::MAX);
        let ahead = apart.saturating_mul(burst.saturating_sub(1));
        Self(Arc::new(Mutex::new(Bucket { apart, ahead, next: None })))
    }
}

impl Bucket {
    /// Takes the next turn; how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let turn = self.next.map_or(now, |next| next.max(now));
        self.next = turn.checked_add(self.apart);
        turn.saturating_duration_since(now).saturating_sub(self.ahead)
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Limited { inner, bucket: Arc::clone(&self.0), turn: None }
    }
}

impl<S: Service<R>, R> Service<R> for Limited<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let bucket = &self.bucket;
        let turn = self.turn.get_or_insert_with(|| {
            let wait = bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
            Box::pin(tokio::time::sleep(wait))
        });
        match turn.as_mut().poll(cx) {
            Poll::Ready(()) => self.inner.poll_ready(cx),
            Poll::Pending => Poll::Pending,
        }
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.turn = None;
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn burst_goes_out_at_once_and_the_rest_evenly() {
        let start = Instant::now();
        let answer = tower::service_fn(async |at: Instant| Ok::<_, ()>(at.elapsed()));
        let mut limited = LimitLayer::new(10.0, 3).layer(answer);
        let mut waited = Vec::new();
        for _ in 0..6 {
            waited.push(limited.ready().await.unwrap().call(start).await);
        }

        let waited: Vec<u128> = waited.into_iter().map(|wait| wait.unwrap().as_millis()).collect();
        assert!(waited[..3].iter().all(|wait| *wait <= 1), "{waited:?}");
        assert!(
            waited[3..].iter().zip([100, 200, 300]).all(|(wait, at)| wait.abs_diff(at) <= 1),
            "{waited:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_time_is_not_saved_up_beyond_the_burst() {
        let mut bucket =
            Bucket { apart: Duration::from_millis(100), ahead: Duration::from_millis(100), next: None };
        bucket.take(Instant::now());
        tokio::time::advance(Duration::from_mins(1)).await;
        let waits: Vec<u128> = (0..4).map(|_| bucket.take(Instant::now()).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200]);
    }
}
