//! Asks our own webhook server as the API server would: through its port, trusting only the CA that it was told (PL-B7).

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Serving;

/// A probe has seconds in all.
const WITHIN: Duration = Duration::from_secs(2);
const QUESTION: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 ";

/// Our own webhook server.
#[derive(Debug, Clone)]
pub struct OwnWebhook {
    pub port: u16,
    pub serving: Serving,
}

impl OwnWebhook {
    /// What is wrong with it, if anything is.
    pub async fn check(&self) -> Result<(), String> {
        match tokio::time::timeout(WITHIN, self.ask()).await {
            Ok(answer) => answer.map_err(|error| format!("our own webhook server: {error}")),
            Err(_) => Err(format!("our own webhook server did not answer in {} s", WITHIN.as_secs())),
        }
    }

    async fn ask(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut roots = RootCertStore::empty();
        for authority in self.serving.authorities() {
            roots.add(authority)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // By address: a static program has no names, not even this one.
        let stream = match TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await {
            Ok(stream) => stream,
            Err(_) => TcpStream::connect((Ipv6Addr::LOCALHOST, self.port)).await?,
        };
        let connector = TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(ServerName::try_from("localhost")?, stream).await?;
        stream.write_all(QUESTION).await?;
        let mut begin = vec![0; ANSWER.len()];
        stream.read_exact(&mut begin).await?;
        if begin == ANSWER { Ok(()) } else { Err(String::from_utf8_lossy(&begin).into()) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::certs::{Material, fresh};
    use crate::metrics::Metrics;
    use crate::webhook::{Webhooks, serve};

    /// PL-B7: only a 200 of a server that the API server would trust counts; a missing CA is said, not a panic.
    #[tokio::test]
    async fn pl_b7_own_server_is_asked_as_the_api_server_would() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = OwnWebhook { port, serving: Serving::default() };
        let router = Webhooks::new(Arc::new(Metrics::default())).into_router();
        let server = tokio::spawn(serve(listener, router, own.serving.clone()));
        assert!(own.check().await.unwrap_err().contains("our own webhook server"), "no certificate yet");

        let (material, other): (Material, Material) = (fresh("a.svc"), fresh("a.svc"));
        let authorities =
            |of: &Material| of.authorities.iter().map(|one| one.der.clone()).collect::<Vec<_>>();
        own.serving.install(material.serving.clone().unwrap().key);
        own.serving.trust(authorities(&other));
        assert!(own.check().await.is_err(), "another CA");
        own.serving.trust(authorities(&material));
        assert_eq!(own.check().await, Ok(()));

        server.abort();
        assert!(server.await.is_err());
        assert!(own.check().await.is_err(), "nobody listens");
    }
}
