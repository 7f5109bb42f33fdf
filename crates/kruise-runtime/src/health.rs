//! `/healthz`, `/readyz` and `/metrics`, plain HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cache::Caches;
use crate::certs::State;
use crate::metrics::Metrics;

/// Go writes `:8080` for all addresses.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    full.parse().map_err(|_| format!("{text} is not an address: write HOST:PORT or :PORT"))
}

/// Serves `/healthz` and `/readyz` until aborted. Ready once all caches are filled and webhooks can be answered.
pub async fn serve_health(
    listener: TcpListener,
    caches: Arc<Caches>,
    webhook: Option<watch::Receiver<State>>,
) -> io::Result<()> {
    let ready = move || {
        let (caches, webhook) = (Arc::clone(&caches), webhook.clone());
        async move {
            if let Some(State::Starting(why)) = webhook.map(|state| state.borrow().clone()) {
                return (StatusCode::SERVICE_UNAVAILABLE, format!("webhook-ready: {why}"));
            }
            let missing: Vec<&str> = caches.unsynced().iter().map(|resource| resource.plural).collect();
            if missing.is_empty() {
                return (StatusCode::OK, "ok".to_owned());
            }
            (StatusCode::SERVICE_UNAVAILABLE, format!("not listed yet: {}", missing.join(", ")))
        }
    };
    let router = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/healthz/ping", get(async || "ok"))
        .route("/readyz", get(ready.clone()))
        .route("/readyz/webhook-ready", get(ready));
    axum::serve(listener, router).await
}

/// Serves `/metrics` until aborted.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) -> io::Result<()> {
    let page = move || {
        let metrics = Arc::clone(&metrics);
        async move { ([("content-type", "text/plain; version=0.0.4")], metrics.render()) }
    };
    axum::serve(listener, Router::new().route("/metrics", get(page))).await
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_as_go_writes_them() {
        assert_eq!(address(":8080").unwrap().to_string(), "0.0.0.0:8080");
        assert_eq!(address("127.0.0.1:9").unwrap().to_string(), "127.0.0.1:9");
        assert!(address("8080").unwrap_err().contains("HOST:PORT"));
    }
}
