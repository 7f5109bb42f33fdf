//! A door between a manager and the API server that a test can jam: writes are counted and cut off, watches come late.
//!
//! What is cut off gets no answer, as from a server that hangs: the manager can only wait, and the test kill it.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{HeaderName, Method, Request, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::{Cluster, TestbedError};

type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Belong to one connection, not to the request.
const OF_THE_CONNECTION: [HeaderName; 4] =
    [header::HOST, header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];

/// An open door. Dropping it breaks the connections through it.
#[derive(Debug)]
pub struct Door {
    kubeconfig: PathBuf,
    way: Arc<Way>,
    task: JoinHandle<()>,
}

struct Way {
    server: Client,
    rules: Mutex<Rules>,
    /// Whether the last write that was let through has been carried out.
    spent: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Rules {
    /// Writes still let through; `None` for any number.
    writes: Option<usize>,
    lag: Duration,
}

/// What becomes of a write.
enum Ticket {
    Pass,
    /// Carried out, but its answer does not come back.
    Last,
    Refused,
}

impl Door {
    /// Opens a door to the cluster; `name` makes its kubeconfig's file name.
    pub async fn open(cluster: &Cluster, name: &str) -> Result<Self, TestbedError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(TestbedError::io("opening a port for the door"))?;
        let port = listener.local_addr().map_err(TestbedError::io("the door's port"))?.port();
        let kubeconfig = cluster.dir().join(format!("{name}-door.kubeconfig"));
        write_kubeconfig(&kubeconfig, port)?;
        let server = cluster.client_named("door").await?;
        let way = Way { server, rules: Mutex::default(), spent: watch::Sender::new(false) };
        let way = Arc::new(way);
        let task = tokio::spawn(serve(listener, Arc::clone(&way)));
        Ok(Self { kubeconfig, way, task })
    }

    /// For clients that are to come through here.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Lets exactly so many more writes through. Events do not count: they change nothing.
    pub fn allow_writes(&self, count: usize) {
        self.way.rules().writes = Some(count);
        self.way.spent.send_replace(false);
    }

    /// Lets everything through.
    pub fn allow_all(&self) {
        self.way.rules().writes = None;
        self.way.spent.send_replace(false);
    }

    /// Shows everything that a watch tells so much later; connections made before are not affected.
    pub fn delay_watches(&self, lag: Duration) {
        self.way.rules().lag = lag;
    }

    /// Returns when the last allowed write has been carried out.
    pub async fn until_spent(&self) {
        // The sender lives as long as we do.
        drop(self.way.spent.subscribe().wait_for(|spent| *spent).await);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl std::fmt::Debug for Way {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Way").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Way {
    fn rules(&self) -> std::sync::MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ticket(&self) -> Ticket {
        let mut rules = self.rules();
        let Some(left) = &mut rules.writes else { return Ticket::Pass };
        match left.checked_sub(1) {
            None => Ticket::Refused,
            Some(rest) => {
                *left = rest;
                if rest == 0 { Ticket::Last } else { Ticket::Pass }
            }
        }
    }

    async fn pass(&self, request: Request<Incoming>) -> io::Result<Answer> {
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.contains("watch=true") || query.contains("watch=1");
        let is_write = ![Method::GET, Method::HEAD].contains(request.method());
        let counts = is_write && !request.uri().path().contains("/events");
        let ticket = if counts { self.ticket() } else { Ticket::Pass };
        if matches!(ticket, Ticket::Refused) {
            return std::future::pending().await;
        }
        let answer = self.server.send(forward(request).await?).await.map_err(io::Error::other)?;
        if matches!(ticket, Ticket::Last) {
            self.spent.send_replace(true);
            return std::future::pending().await;
        }
        let lag = if is_watch { self.rules().lag } else { Duration::ZERO };
        Ok(answer.map(|body| if lag.is_zero() { at_once(body) } else { late(body, lag) }))
    }
}

async fn serve(listener: TcpListener, way: Arc<Way>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        // A failed accept concerns one client, which will come again.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let way = Arc::clone(&way);
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let way = Arc::clone(&way);
                async move { way.pass(request).await }
            });
            // A broken connection is the client's to report.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(request: Request<Incoming>) -> io::Result<Request<Body>> {
    let (mut parts, body) = request.into_parts();
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    for name in &OF_THE_CONNECTION {
        parts.headers.remove(name);
    }
    Ok(Request::from_parts(parts, Body::from(bytes.to_vec())))
}

fn at_once(body: Body) -> UnsyncBoxBody<Bytes, io::Error> {
    body.map_err(io::Error::other).boxed_unsync()
}

fn late(mut body: Body, lag: Duration) -> UnsyncBoxBody<Bytes, io::Error> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(frame) = body.frame().await {
            if sender.send((Instant::now() + lag, frame.map_err(io::Error::other))).is_err() {
                return; // The client has gone.
            }
        }
    });
    let frames = stream::unfold(receiver, async |mut queue: mpsc::UnboundedReceiver<_>| {
        let (due, frame) = queue.recv().await?;
        tokio::time::sleep_until(due).await;
        Some((frame, queue))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// No certificates: the door itself is the administrator.
fn write_kubeconfig(path: &Path, port: u16) -> Result<(), TestbedError> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "door",
        "clusters": [{"name": "door", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "door", "user": {}}],
        "contexts": [{"name": "door", "context": {"cluster": "door", "user": "door"}}],
    });
    std::fs::write(path, format!("{config:#}\n"))
        .map_err(TestbedError::io(format!("writing {}", path.display())))
}
