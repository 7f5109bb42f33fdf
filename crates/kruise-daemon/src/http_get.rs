//! One HTTP GET to a pod, for probes and hooks: no proxy, no connection kept, redirects only within the host (PB-7).

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// So much of an answer is read.
pub const BODY_MAX: usize = 10 * 1024;
const REDIRECTS_MAX: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn read(text: &str) -> Self {
        if text.eq_ignore_ascii_case("https") { Self::Https } else { Self::Http }
    }
}

/// Whose certificate is accepted. Pods have certificates of their own making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Anyone,
}

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Get {
    pub scheme: Scheme,
    pub host: String,
    pub port: u16,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub agent: String,
    pub trust: Trust,
    /// Ask again without TLS if the server does not speak it.
    pub plain_if_not_tls: bool,
}

/// An answer, with as much of its body as is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Bytes,
}

#[derive(Debug, thiserror::Error)]
pub enum GetError {
    #[error("Get \"{url}\": {message}")]
    Transport { url: String, message: String },
    #[error("Get \"{url}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    TimedOut { url: String },
    #[error("{0}")]
    Request(String),
}

/// Asks, and follows redirects to the same host.
pub async fn get(get: &Get, within: Duration) -> Result<Answer, GetError> {
    let url = get.url();
    tokio::time::timeout(within, follow(get.clone())).await.unwrap_or(Err(GetError::TimedOut { url }))
}

async fn follow(mut get: Get) -> Result<Answer, GetError> {
    for _ in 0..=REDIRECTS_MAX {
        let (status, location, body) = match once(&get).await {
            Err(GetError::Transport { .. }) if get.plain_if_not_tls && get.scheme == Scheme::Https => {
                get.scheme = Scheme::Http;
                once(&get).await?
            }
            other => other?,
        };
        let next = location.filter(|_| status.is_redirection()).and_then(|to| get.redirected(&to));
        match next {
            Some(next) => get = next,
            None => return Ok(Answer { status, body }),
        }
    }
    Err(GetError::Request(format!("stopped after {REDIRECTS_MAX} redirects")))
}

impl Get {
    fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }

    fn url(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}{}", self.authority(), self.absolute_path())
    }

    fn absolute_path(&self) -> String {
        if self.path.starts_with('/') { self.path.clone() } else { format!("/{}", self.path) }
    }

    /// The request to a place on the same host; nothing for another host, whose answer is not the pod's.
    fn redirected(&self, location: &str) -> Option<Self> {
        if location.starts_with('/') && !location.starts_with("//") {
            return Some(Self { path: location.to_owned(), ..self.clone() });
        }
        let uri: http::Uri = location.parse().ok()?;
        let scheme = Scheme::read(uri.scheme_str()?);
        if uri.host()?.trim_matches(['[', ']']) != self.host {
            return None;
        }
        let port = uri.port_u16().unwrap_or(match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        });
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
        Some(Self { scheme, port, path, ..self.clone() })
    }

    /// Header names are the user's; an empty Accept removes it, a Host names another virtual host.
    fn request(&self) -> Result<Request<Empty<Bytes>>, GetError> {
        let bad = |error: &dyn std::fmt::Display| GetError::Request(error.to_string());
        let mut request =
            Request::get(self.absolute_path()).body(Empty::new()).map_err(|error| bad(&error))?;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name.as_str()).map_err(|error| bad(&error))?;
            let value = HeaderValue::from_str(value).map_err(|error| bad(&error))?;
            headers.append(name, value);
        }
        if !headers.contains_key(header::USER_AGENT) {
            headers
                .insert(header::USER_AGENT, HeaderValue::from_str(&self.agent).map_err(|error| bad(&error))?);
        }
        match headers.get(header::ACCEPT) {
            None => drop(headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"))),
            Some(accept) if accept.is_empty() => drop(headers.remove(header::ACCEPT)),
            Some(_) => {}
        }
        if !headers.contains_key(header::HOST) {
            let host = HeaderValue::from_str(&self.authority()).map_err(|error| bad(&error))?;
            headers.insert(header::HOST, host);
        }
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        Ok(request)
    }
}

async fn once(get: &Get) -> Result<(StatusCode, Option<String>, Bytes), GetError> {
    let transport =
        |error: &dyn std::fmt::Display| GetError::Transport { url: get.url(), message: error.to_string() };
    let request = get.request()?;
    let stream =
        TcpStream::connect((get.host.as_str(), get.port)).await.map_err(|error| transport(&error))?;
    let mut response = match get.scheme {
        Scheme::Http => send(stream, request).await.map_err(|error| transport(&error))?,
        Scheme::Https => {
            let name = ServerName::try_from(get.host.clone()).map_err(|error| transport(&error))?;
            let connector =
                tokio_rustls::TlsConnector::from(Arc::new(tls().map_err(|error| transport(&error))?));
            let stream = connector.connect(name, stream).await.map_err(|error| transport(&error))?;
            send(stream, request).await.map_err(|error| transport(&error))?
        }
    };
    let location =
        response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
    let body = body(response.body_mut()).await.map_err(|error| transport(&error))?;
    Ok((response.status(), location, body))
}

async fn send<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<http::Response<Incoming>, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the answer, or when the sender is dropped because the time is over.
    tokio::spawn(connection);
    sender.send_request(request).await
}

async fn body(incoming: &mut Incoming) -> Result<Bytes, hyper::Error> {
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        if let Ok(data) = frame?.into_data() {
            let room = BODY_MAX.saturating_sub(body.len());
            body.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
        }
        if body.len() >= BODY_MAX {
            break;
        }
    }
    Ok(body.freeze())
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Everyone(schemes)))
        .with_no_client_auth();
    config.enable_sni = true;
    Ok(config)
}

/// Probes look whether somebody answers, not who.
#[derive(Debug)]
struct Everyone(Vec<SignatureScheme>);

impl ServerCertVerifier for Everyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(location: &str) -> Option<(String, u16, String)> {
        let get = Get {
            scheme: Scheme::Http,
            host: "10.0.0.7".to_owned(),
            port: 8_080,
            path: "/".to_owned(),
            headers: Vec::new(),
            agent: "kube-probe".to_owned(),
            trust: Trust::Anyone,
            plain_if_not_tls: false,
        };
        get.redirected(location).map(|next| (next.host, next.port, next.path))
    }

    #[test]
    fn pb_7_redirects_stay_on_the_host() {
        let host = || "10.0.0.7".to_owned();
        assert_eq!(asking("/next?a=b"), Some((host(), 8_080, "/next?a=b".to_owned())));
        assert_eq!(asking("http://10.0.0.7:9/x"), Some((host(), 9, "/x".to_owned())));
        assert_eq!(asking("https://10.0.0.7/x"), Some((host(), 443, "/x".to_owned())));
        assert_eq!(asking("http://elsewhere/x"), None);
        assert_eq!(asking("//elsewhere/x"), None);
    }
}
