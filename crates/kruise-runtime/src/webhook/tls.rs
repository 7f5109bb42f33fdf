//! TLS in front of the router: the certificate can be exchanged while connections live, and a slow handshake holds up
//! nobody else.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The API server needs milliseconds.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Handshakes that are under way at the same time; further connections wait in the kernel's queue.
const HANDSHAKES_MAX: usize = 256;
/// Accepting fails when descriptors have run out; connections that end give some back.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The certificate that new connections get. None at first: until then handshakes fail.
#[derive(Debug, Clone, Default)]
pub struct Serving(Arc<RwLock<Installed>>);

#[derive(Debug, Default)]
struct Installed {
    key: Option<Arc<CertifiedKey>>,
    /// Whom the API server trusts.
    authorities: Vec<CertificateDer<'static>>,
}

impl Serving {
    /// From now on, new connections get this one.
    pub fn install(&self, key: Arc<CertifiedKey>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).key = Some(key);
    }

    /// The API server was told to trust these.
    pub fn trust(&self, authorities: Vec<CertificateDer<'static>>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).authorities = authorities;
    }

    pub fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).key.clone()
    }

    pub(super) fn authorities(&self) -> Vec<CertificateDer<'static>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).authorities.clone()
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

/// Serves until aborted.
pub async fn serve(listener: TcpListener, router: Router, serving: Serving) -> io::Result<()> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(serving));
    let address = listener.local_addr()?;
    let (sender, ready) = mpsc::channel(1);
    let accepting = accept(listener, TlsAcceptor::from(Arc::new(config)), sender);
    let answering = axum::serve(Ready { ready, address }, router);
    tokio::select! {
        ended = answering => ended,
        () = accepting => Ok(()),
    }
}

/// Connections whose handshake is done.
struct Ready {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl axum::serve::Listener for Ready {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The acceptor ended, and the server with it.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(self.address)
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let places = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "the webhook server could not accept a connection");
                tokio::time::sleep(RETRY_AFTER).await;
                continue;
            }
        };
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await {
                // Nobody takes it any more when the server has ended.
                Ok(Ok(stream)) => drop(sender.send((stream, peer)).await),
                Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "TLS handshake took too long"),
            }
            drop(place);
        });
    }
}
