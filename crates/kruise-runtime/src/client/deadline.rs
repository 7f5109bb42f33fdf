//! Every request has a deadline: so long until its answer begins, and so long between two pieces of it. Without one, a server
//! that takes requests and never answers would hold up whoever asked until the connection dies, which can be never.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tower::{BoxError, Layer, Service};

/// Until an answer begins, and between its pieces: the slowest page of a list takes a tenth of it.
const WITHIN: Duration = Duration::from_secs(30);

/// Between two pieces of a watch, which servers end after five minutes. Caches look sooner.
const WATCH_SILENT_FOR: Duration = Duration::from_mins(5);

/// Attached to a request whose sender has its own deadline: the answer may take this long to begin.
#[derive(Debug, Clone, Copy)]
pub struct Patience(pub Duration);

/// Nothing came for so long.
#[derive(Debug, thiserror::Error)]
#[error("the API server has sent nothing for {0:?}")]
pub struct Silent(Duration);

/// Puts deadlines in front of a client.
#[derive(Debug, Clone, Copy)]
pub struct DeadlineLayer;

/// A service whose answers come in time or not at all.
#[derive(Debug, Clone)]
pub struct Bounded<S>(S);

/// A body whose pieces come in time or not at all.
#[derive(Debug)]
pub struct Pieces<B> {
    inner: B,
    within: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Bounded(inner)
    }
}

impl<S, A, B> Service<Request<A>> for Bounded<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<Pieces<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let patience = request.extensions().get::<Patience>().map_or(WITHIN, |patience| patience.0);
        let between = if is_watch(&request) { WATCH_SILENT_FOR } else { WITHIN };
        let answer = self.0.call(request);
        async move {
            let Ok(answer) = tokio::time::timeout(patience, answer).await else {
                return Err(Silent(patience).into());
            };
            Ok(answer.map_err(Into::into)?.map(|inner| Pieces::new(inner, between)))
        }
        .boxed()
    }
}

fn is_watch<A>(request: &Request<A>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

impl<B> Pieces<B> {
    fn new(inner: B, within: Duration) -> Self {
        Self { inner, within, deadline: Box::pin(tokio::time::sleep(within)) }
    }
}

impl<B: Body + Unpin> Body for Pieces<B>
where
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) {
            this.deadline.as_mut().reset(Instant::now() + this.within);
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(this.deadline.as_mut().poll(cx));
        Poll::Ready(Some(Err(Silent(this.within).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::{StreamExt, TryStreamExt, stream};
    use kube::Client;
    use kube::client::ClientBuilder;

    use super::*;

    type Answer = Result<Response<axum::body::Body>, std::io::Error>;

    /// A server that answers `/slow` after this long, `/never` never, and breaks off everything else after one piece.
    fn client(slow: Duration) -> Client {
        let server = tower::service_fn(move |request: Request<kube::client::Body>| async move {
            let first = stream::once(async { Ok::<_, std::io::Error>(Bytes::from_static(b"{\n")) });
            let stuck = axum::body::Body::from_stream(first.chain(stream::pending()));
            match request.uri().path() {
                "/never" => std::future::pending::<Answer>().await,
                "/slow" => {
                    tokio::time::sleep(slow).await;
                    Ok(Response::new(axum::body::Body::from("{}")))
                }
                _ => Ok(Response::new(stuck)),
            }
        });
        ClientBuilder::new(server, "default").with_layer(&DeadlineLayer).build()
    }

    fn get(path: &str) -> Request<Vec<u8>> {
        Request::get(path).body(Vec::new()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn answer_that_never_begins_is_given_up() {
        let (start, client) = (Instant::now(), client(Duration::ZERO));

        let error = client.request_text(get("/never")).await.unwrap_err();

        assert_eq!(start.elapsed(), WITHIN);
        assert!(matches!(&error, kube::Error::Service(cause) if cause.is::<Silent>()), "{error:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_a_deadline_of_its_own_is_waited_for() {
        let client = client(WITHIN * 2);
        let mut request = get("/slow");
        request.extensions_mut().insert(Patience(WITHIN * 3));

        assert_eq!(client.request_text(request).await.unwrap(), "{}");
    }

    #[tokio::test(start_paused = true)]
    async fn answer_that_breaks_off_is_given_up() {
        let (start, client) = (Instant::now(), client(Duration::ZERO));

        assert!(client.request_text(get("/list")).await.is_err());

        assert_eq!(start.elapsed(), WITHIN);
    }

    #[tokio::test(start_paused = true)]
    async fn watch_may_be_silent_for_longer_but_not_for_ever() {
        let (start, client) = (Instant::now(), client(Duration::ZERO));
        let lines = client.request_stream(get("/things?watch=true")).await.unwrap();
        let mut lines = std::pin::pin!(futures::io::AsyncBufReadExt::lines(lines));

        assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("{"));
        assert!(lines.try_next().await.is_err());

        assert_eq!(start.elapsed(), WATCH_SILENT_FOR);
    }
}
