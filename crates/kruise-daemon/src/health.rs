//! `/healthz` and `/metrics`, plain HTTP (daemon 2.5).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::api::Pulse;
use crate::cri::Runtimes;
use crate::metrics::Metrics;

/// Kubelet and scrapers: a handful.
const CONNECTIONS_MAX: usize = 16;
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
const CONNECTION_MAX: Duration = Duration::from_mins(5);

/// What health depends on.
pub struct Health {
    pub pulses: Vec<Arc<Pulse>>,
    pub runtimes: Arc<Runtimes>,
    pub metrics: Arc<Metrics>,
}

impl Health {
    /// 200 and `ok`, or what is wrong. A missing runtime is said, and no fault.
    fn check(&self) -> Result<String, String> {
        for pulse in &self.pulses {
            pulse.check()?;
        }
        let runtimes = self.runtimes.health();
        if let Some(path) = runtimes.hung {
            return Err(format!("check containerRuntime failed, err: {} does not answer", path.display()));
        }
        Ok(if runtimes.is_missing {
            "ok; no container runtime found yet".to_owned()
        } else {
            "ok".to_owned()
        })
    }

    fn answer(&self, path: &str) -> (StatusCode, String) {
        match path {
            "/healthz" => match self.check() {
                Ok(text) => (StatusCode::OK, text),
                Err(text) => (StatusCode::INTERNAL_SERVER_ERROR, text),
            },
            "/metrics" => match self.metrics.render() {
                Ok(page) => (StatusCode::OK, page),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            },
            _ => (StatusCode::NOT_FOUND, "404 page not found".to_owned()),
        }
    }
}

/// Serves until aborted.
pub async fn serve(listener: TcpListener, health: Arc<Health>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let health = Arc::clone(&health);
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let (status, text) = health.answer(request.uri().path());
                async move { Ok::<_, Infallible>(page(status, text)) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN).max_buf_size(16 << 10);
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = tokio::time::timeout(CONNECTION_MAX, connection).await {
                tracing::trace!(%error, "connection ended");
            }
            drop(place);
        });
    }
}

fn page(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cri::SocketPlaces;

    /// daemon, acceptance 4: 500 until all have listed, then `ok`; a missing runtime is said.
    #[tokio::test]
    async fn daemon_2_5_healthz_tells_what_is_missing() {
        let metrics = Arc::new(Metrics::default());
        let runtimes = Runtimes::new(SocketPlaces::new("/nowhere", ""), Arc::clone(&metrics));
        let pulses =
            vec![Arc::new(Pulse::new("nodeImageInformerSynced")), Arc::new(Pulse::new("crrInformerSynced"))];
        let health = Health { pulses, runtimes, metrics };
        let failed =
            |name: &str| (StatusCode::INTERNAL_SERVER_ERROR, format!("check {name} failed, err: not synced"));
        assert_eq!(health.answer("/healthz"), failed("nodeImageInformerSynced"));
        health.pulses[0].listed();
        assert_eq!(health.answer("/healthz"), failed("crrInformerSynced"));
        health.pulses[1].listed();
        assert_eq!(
            health.answer("/healthz"),
            (StatusCode::OK, "ok; no container runtime found yet".to_owned())
        );
        assert_eq!(health.answer("/metrics").0, StatusCode::OK);
        assert_eq!(health.answer("/").0, StatusCode::NOT_FOUND);
    }
}
