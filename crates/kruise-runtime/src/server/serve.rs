//! Accepts, shakes hands, answers.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::places::{Place, Places};
use super::timely::Timely;

/// Accepting fails when descriptors have run out; connections that end give some back.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// Until the first request has arrived, handshake included. The API server needs milliseconds.
const FIRST_REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// Until the next request has arrived. Longer than Go's clients keep a connection: who closes first must not be us, or a request
/// could be on its way.
const NEXT_REQUEST_WITHIN: Duration = Duration::from_mins(2);
/// Whoever asks the API server to wait for a webhook waits 30 seconds at most.
const ANSWERED_WITHIN: Duration = Duration::from_secs(35);
/// What is buffered of a request's head, and of a body ahead of who reads it.
const BUFFER: usize = 16 << 10;

/// What a server admits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub connections: usize,
}

/// Serves plain HTTP until aborted.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits) -> io::Result<()> {
    accept(listener, limits, move |stream, place| {
        let router = router.clone();
        async move { answer(stream, router, place).await }
    })
    .await
}

/// Serves HTTP over TLS until aborted.
pub async fn serve_tls(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    tls: TlsAcceptor,
) -> io::Result<()> {
    let turns = Arc::new(Semaphore::new(1));
    accept(listener, limits, move |stream, place| {
        let (router, tls, turns) = (router.clone(), tls.clone(), Arc::clone(&turns));
        async move {
            match by_turns(tls.accept(stream), &turns).await {
                Ok(stream) => answer(stream, router, place).await,
                Err(error) => tracing::debug!(%error, "TLS handshake failed"),
            }
        }
    })
    .await
}

async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    limits: Limits,
    serve: impl Fn(TcpStream, Arc<Place>) -> F,
) -> io::Result<()> {
    let places = Places::new(limits.connections);
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(RETRY_AFTER).await;
                continue;
            }
        };
        let Some(place) = places.take(peer.ip().to_canonical()).await.map(Arc::new) else { continue };
        let serving = serve(stream, Arc::clone(&place));
        tasks.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = place.lost() => {}
                () = said_nothing(&place) => {}
            }
        });
    }
}

/// Resolves if the first request does not come in time.
async fn said_nothing(place: &Place) {
    tokio::time::sleep(FIRST_REQUEST_WITHIN).await;
    if place.has_asked() {
        std::future::pending::<()>().await;
    }
}

/// A handshake costs more than most answers do. One step of one of them at a time, then whoever else is ready has its turn: however
/// many are under way, an answer waits for one step and not for all.
async fn by_turns<F: Future>(handshake: F, turns: &Semaphore) -> F::Output {
    let mut handshake = std::pin::pin!(handshake);
    loop {
        let turn = turns.acquire().await;
        let stepped = futures::poll!(handshake.as_mut());
        drop(turn);
        if let std::task::Poll::Ready(done) = stepped {
            return done;
        }
        woken().await;
    }
}

/// Resolves when whatever was polled before wakes this task.
async fn woken() {
    let mut is_first = true;
    std::future::poll_fn(|_| {
        if std::mem::take(&mut is_first) { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    router: Router,
    place: Arc<Place>,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (router, place) = (router.clone(), Arc::clone(&place));
        async move {
            place.asks();
            let _answering = Answering(&place);
            let answer = router.oneshot(request.map(Body::new)).map(|answer| match answer {
                Ok(answer) => answer,
                Err(never) => match never {},
            });
            let answer = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
            Ok::<Response, Infallible>(
                answer.unwrap_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response()),
            )
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(NEXT_REQUEST_WITHIN)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(Timely::new(stream)), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Also when the caller hangs up.
struct Answering<'a>(&'a Place);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.is_answered();
    }
}
