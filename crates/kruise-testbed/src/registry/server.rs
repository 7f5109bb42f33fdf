//! The HTTP side of the registry: the four read requests of the OCI distribution protocol.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::store::{Found, Store};
use super::{Fault, lock};
use crate::images::{BuiltImage, Reference};

type Answer = Response<Full<Bytes>>;

/// What a request is about.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Version,
    Tag(Reference),
    /// A manifest or a blob by digest; the repository does not matter, content is the same everywhere.
    Digest {
        digest: String,
        media_type: &'static str,
    },
    Unknown,
}

/// Answers until told to stop.
pub(super) async fn serve(listener: TcpListener, store: Arc<Mutex<Store>>, stopped: oneshot::Receiver<()>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("[testbed] the image registry cannot listen: {error}");
            return;
        }
    };
    let accept = async {
        loop {
            // A failed accept concerns one client, which will come again.
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let service = service_fn(move |request| answer(request, Arc::clone(&store)));
                // A broken connection is the client's to report.
                drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}

async fn answer(request: Request<Incoming>, store: Arc<Mutex<Store>>) -> Result<Answer, Infallible> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "this registry is read-only"));
    }
    Ok(match Target::read(request.uri().path(), request.uri().query()) {
        Target::Version => plain(StatusCode::OK, "{}"),
        Target::Unknown => plain(StatusCode::NOT_FOUND, "no such path"),
        Target::Digest { digest, media_type } => content(lock(&store).blob(&digest), media_type),
        Target::Tag(reference) => {
            let fault = lock(&store).asked(&reference);
            match fault {
                Some(Fault::NotFound) => plain(StatusCode::NOT_FOUND, "made to be missing"),
                Some(Fault::ServerError) => plain(StatusCode::INTERNAL_SERVER_ERROR, "made to fail"),
                Some(Fault::Unauthorized) => plain(StatusCode::UNAUTHORIZED, "made to be forbidden"),
                Some(Fault::Slow(time)) => {
                    tokio::time::sleep(time).await;
                    content(lock(&store).tag(&reference), BuiltImage::MANIFEST_TYPE)
                }
                None => content(lock(&store).tag(&reference), BuiltImage::MANIFEST_TYPE),
            }
        }
    })
}

impl Target {
    /// Reads `/v2/NAME/manifests/TAG-OR-DIGEST` and `/v2/NAME/blobs/DIGEST`; NAME may contain slashes.
    fn read(path: &str, query: Option<&str>) -> Self {
        let Some(rest) = path.strip_prefix("/v2") else {
            return Self::Unknown;
        };
        if rest.is_empty() || rest == "/" {
            return Self::Version;
        }
        let mut parts = rest.trim_start_matches('/').rsplitn(3, '/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(digest), Some("blobs"), Some(_)) => {
                Self::Digest { digest: digest.to_owned(), media_type: "application/octet-stream" }
            }
            (Some(digest), Some("manifests"), Some(_)) if digest.contains(':') => {
                Self::Digest { digest: digest.to_owned(), media_type: BuiltImage::MANIFEST_TYPE }
            }
            (Some(tag), Some("manifests"), Some(repository)) => Self::Tag(Reference {
                host: host(query).to_owned(),
                repository: repository.to_owned(),
                tag: tag.to_owned(),
            }),
            _ => Self::Unknown,
        }
    }
}

/// The registry that containerd meant. Clients that name none mean the default one.
fn host(query: Option<&str>) -> &str {
    query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .find_map(|pair| pair.strip_prefix("ns="))
        .unwrap_or("docker.io")
}

fn content(found: Option<Found>, media_type: &str) -> Answer {
    let Some(Found { digest, bytes }) = found else {
        return plain(StatusCode::NOT_FOUND, "no such image here");
    };
    let size = bytes.len();
    Response::builder()
        .header(header::CONTENT_TYPE, media_type)
        .header(header::CONTENT_LENGTH, size)
        .header("Docker-Content-Digest", digest)
        .body(Full::new(bytes))
        .unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR, "an answer that is no HTTP"))
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_of_the_image_comes_from_the_query() {
        assert_eq!(
            Target::read("/v2/pause/manifests/3.10", Some("ns=registry.k8s.io")),
            Target::Tag(Reference::read("registry.k8s.io/pause:3.10"))
        );
        assert_eq!(
            Target::read("/v2/library/nginx/manifests/1.14.2", None),
            Target::Tag(Reference::read("nginx:1.14.2"))
        );
    }

    #[test]
    fn other_paths_are_unknown() {
        for path in ["/", "/v1/x", "/v2/_catalog", "/v2/a/tags/list"] {
            assert_eq!(Target::read(path, None), Target::Unknown, "{path}");
        }
        assert_eq!(Target::read("/v2/", None), Target::Version);
    }
}
