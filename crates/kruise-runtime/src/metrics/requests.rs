//! Our requests to the API server, counted where they leave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tower::{Layer, Service};

use super::{lock, page::Page};

/// Counts in front of a client.
#[derive(Debug, Clone)]
pub struct CountLayer {
    pub(super) counts: Arc<Mutex<RequestCounts>>,
}

/// A service whose answers are counted.
#[derive(Debug, Clone)]
pub struct Counted<S> {
    inner: S,
    counts: Arc<Mutex<RequestCounts>>,
}

#[derive(Debug, Default)]
pub struct RequestCounts {
    host: String,
    /// By code and method; no code where there was no answer.
    answers: BTreeMap<(Option<u16>, String), u64>,
}

impl RequestCounts {
    /// Whom all requests go to.
    pub fn to(&mut self, host: &str) {
        host.clone_into(&mut self.host);
    }

    pub fn render(&self, page: &mut Page) {
        let name = "rest_client_requests_total";
        page.family(name);
        for ((code, method), count) in &self.answers {
            let code = code.map_or("<error>".to_owned(), |code| code.to_string());
            let labels = format!("code=\"{code}\",method=\"{method}\",host=\"{}\"", self.host);
            page.line(name, &labels, count);
        }
    }

    fn add(&mut self, code: Option<u16>, method: &Method) {
        *self.answers.entry((code, method.to_string())).or_default() += 1;
    }
}

impl<S> Layer<S> for CountLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, counts: Arc::clone(&self.counts) }
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
        let (counts, method) = (Arc::clone(&self.counts), request.method().clone());
        let count = move |answer: &Result<Response<B>, S::Error>| {
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            lock(&counts).add(code, &method);
        };
        self.inner.call(request).inspect(count).boxed()
    }
}
