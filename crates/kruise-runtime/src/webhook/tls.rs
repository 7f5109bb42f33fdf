//! TLS in front of the router: the certificate can be exchanged while connections live, and a slow handshake holds up
//! nobody else.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{Limits, serve_tls};

/// Connections at once. API servers open one for each review that is under way, and one thread answers them all.
const CONNECTIONS_MAX: usize = 256;

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
    let limits = Limits { connections: CONNECTIONS_MAX };
    serve_tls(listener, router, limits, TlsAcceptor::from(Arc::new(config))).await
}
