//! Our requests to the API server, counted where they leave.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use prometheus::IntCounterVec;
use tower::{Layer, Service};

/// Stands for the code where there was no answer.
const NO_ANSWER: &str = "<error>";

/// Counts in front of a client.
#[derive(Debug, Clone)]
pub struct CountLayer(Counter);

/// A service whose answers are counted.
#[derive(Debug, Clone)]
pub struct Counted<S> {
    inner: S,
    counter: Counter,
}

#[derive(Debug, Clone)]
struct Counter {
    requests: IntCounterVec,
    /// Whom all requests go to.
    host: Arc<str>,
}

impl CountLayer {
    pub(super) fn new(requests: IntCounterVec, host: &str) -> Self {
        Self(Counter { requests, host: host.into() })
    }
}

impl Counter {
    fn add(&self, code: Option<StatusCode>, method: &Method) {
        let code = code.as_ref().map_or(NO_ANSWER, StatusCode::as_str);
        self.requests.with_label_values(&[code, method.as_str(), &self.host]).inc();
    }
}

impl<S> Layer<S> for CountLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, counter: self.0.clone() }
    }
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<B>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (counter, method) = (self.counter.clone(), request.method().clone());
        let count = move |answer: &Result<Response<B>, S::Error>| {
            counter.add(answer.as_ref().ok().map(Response::status), &method);
        };
        self.inner.call(request).inspect(count).boxed()
    }
}
