//! The server under a real client: HTTP requests in, HTTP answers out, by way of a link.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kruise_runtime::lease;
use kube::client::Body;
use serde_json::json;

use super::Server;
use super::failure::Failure;
use super::link::{Fate, Landing, Link};
use super::request::{Call, Verb};
use super::watch;

/// The version that the server says it has: new enough for everything we look for.
const MINOR: &str = "36";

/// Who makes writes that arrive after their client stopped waiting for them.
pub const GHOST: &str = "ghost";

/// The same, when the client has been gone for longer than any lease lasts: a successor may have led for some time already.
pub const LATE_GHOST: &str = "late ghost";

/// One client's door to the server.
#[derive(Clone)]
pub struct Door {
    pub server: Server,
    pub link: Arc<Link>,
}

type Content = UnsyncBoxBody<Bytes, Infallible>;

impl Door {
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    async fn answer(self, request: Request<Body>) -> io::Result<Response<Content>> {
        if self.link.is_dead() {
            return std::future::pending().await;
        }
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        if parts.uri.path() == "/version" {
            return Ok(version());
        }
        let call = match Call::read(&parts, &body) {
            Ok(call) => call,
            Err(failure) => return Ok(refuse(&failure)),
        };
        wait(self.link.latency()).await;
        if self.link.is_dead() {
            return std::future::pending().await;
        }
        let fate = self.link.fate(&call);
        self.suffer(fate, call).await
    }

    async fn suffer(self, fate: Fate, call: Call) -> io::Result<Response<Content>> {
        match fate {
            Fate::Served => {
                let slow = if call.verb.is_write() { Duration::ZERO } else { self.link.read_delay() };
                let response = self.serve(&self.by_replica(call));
                wait(self.link.latency() + slow).await;
                if self.link.is_dead() { std::future::pending().await } else { Ok(response) }
            }
            Fate::Refused(failure) => {
                wait(self.link.latency()).await;
                Ok(refuse(&failure))
            }
            Fate::Unreachable => Err(io::ErrorKind::ConnectionRefused.into()),
            Fate::Reset(landing) => {
                match landing {
                    Landing::Never => {}
                    Landing::AtOnce => drop(self.serve(&call)),
                    Landing::After(delay) => self.haunt(call, delay),
                }
                wait(self.link.latency()).await;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Fate::Lost => std::future::pending().await,
            Fate::AnswerLost => {
                drop(self.serve(&call));
                std::future::pending().await
            }
            Fate::Ghost(delay) => {
                self.haunt(call, delay);
                std::future::pending().await
            }
            Fate::CrashBefore => {
                self.link.kill();
                std::future::pending().await
            }
            Fate::CrashAfter => {
                drop(self.serve(&call));
                self.link.kill();
                std::future::pending().await
            }
        }
    }

    /// The request takes effect later, whatever its client does until then.
    fn haunt(&self, call: Call, delay: Duration) {
        let (server, link) = (self.server.clone(), Arc::clone(&self.link));
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let is_late = lease::Timings::default().duration < link.dead_for();
            // Nobody hears the answer, whatever it is.
            drop(server.ask(if is_late { LATE_GHOST } else { GHOST }, &call));
        });
    }

    /// A list may be answered by a replica that lags behind, as far as its client allows that.
    fn by_replica(&self, mut call: Call) -> Call {
        let is_list = match call.verb {
            Verb::List => true,
            Verb::Watch => call.options.wants_all(),
            Verb::Get
            | Verb::Create
            | Verb::Update
            | Verb::JsonPatch
            | Verb::MergePatch
            | Verb::StrategicPatch
            | Verb::Delete => false,
        };
        if let (true, Some(oldest)) = (is_list, call.options.oldest())
            && let Some(stopped) = self.link.lists_as_of(call.kind)
        {
            let version = self.server.lock().store.version_at(stopped);
            call.options.as_of = Some(version.max(oldest));
        }
        call
    }

    fn serve(&self, call: &Call) -> Response<Content> {
        if call.verb == Verb::Watch {
            return match watch::open(&self.server, &self.link, call) {
                Ok(lines) => respond(200, BodyExt::boxed_unsync(StreamBody::new(lines))),
                Err(failure) => refuse(&failure),
            };
        }
        match self.server.ask(self.link.who, call) {
            Ok(answer) => respond(answer.code, full(answer.bytes(call.options.answer))),
            Err(failure) => refuse(&failure),
        }
    }
}

async fn wait(time: Duration) {
    if time > Duration::ZERO {
        tokio::time::sleep(time).await;
    }
}

fn version() -> Response<Content> {
    let info = json!({
        "major": "1", "minor": MINOR, "gitVersion": format!("v1.{MINOR}.0-simulated"), "gitCommit": "",
        "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
    });
    respond(200, full(Bytes::from(info.to_string())))
}

fn refuse(failure: &Failure) -> Response<Content> {
    let text = if failure.reason.is_empty() { failure.message.clone() } else { failure.status().to_string() };
    respond(failure.code, full(Bytes::from(text)))
}

fn full(bytes: Bytes) -> Content {
    Full::new(bytes).boxed_unsync()
}

fn respond(code: u16, body: Content) -> Response<Content> {
    let mut response = Response::new(body);
    // Codes are ours and all valid.
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

impl tower::Service<Request<Body>> for Door {
    type Response = Response<Content>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let door = self.clone();
        Box::pin(door.answer(request))
    }
}
