//! `/healthz`, `/readyz` and `/metrics`, plain HTTP.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cache::{Caches, Listed};
use crate::certs::State;
use crate::metrics::{self, Metrics};
use crate::server::{self, Limits};
pub use crate::webhook::OwnWebhook;

/// Kubelets and scrapers: a handful.
const LIMITS: Limits = Limits { connections: 64 };

/// Whether the process is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Running,
    Stopping,
}

/// What being ready depends on.
#[derive(Clone)]
pub struct Readiness {
    pub caches: Arc<Caches>,
    /// How far certificates are; none without a webhook server.
    pub state: Option<watch::Receiver<State>>,
    pub own: Option<OwnWebhook>,
    pub life: watch::Receiver<Life>,
    /// What an operator should know although nothing keeps us from working.
    pub remarks: Vec<String>,
    /// Knows how widely pods are selected.
    pub metrics: Arc<Metrics>,
}

impl Readiness {
    /// Why requests should not come here, if so.
    async fn missing(&self) -> Result<(), String> {
        if *self.life.borrow() == Life::Stopping {
            return Err("stopping".to_owned());
        }
        if let Some(State::Starting(why)) = self.state.as_ref().map(|state| state.borrow().clone()) {
            return Err(format!("webhook-ready: {why}"));
        }
        if let Some(own) = &self.own {
            own.check().await.map_err(|why| format!("webhook-ready: {why}"))?;
        }
        let missing: Vec<&str> =
            self.caches.at(Listed::NotYet).iter().map(|resource| resource.plural()).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("not listed yet: {}", missing.join(", "))) }
    }

    /// What is said beside being ready: kinds that are not served are no reason to keep the others from working.
    fn remark(&self) -> String {
        let absent = self.caches.at(Listed::NotServed);
        let absent: Vec<String> = absent.iter().map(|resource| resource.qualified()).collect();
        let ok = if absent.is_empty() {
            "ok".to_owned()
        } else {
            format!("ok; not installed: {}", absent.join(", "))
        };
        let wide = self.metrics.wide_pod_webhooks();
        let wide = wide.iter().map(|(webhook, width)| {
            format!(
                "webhook {webhook} selects {}: too many objects select pods to be told apart",
                pods_of(width)
            )
        });
        let remarks = self.remarks.iter().cloned().chain(wide);
        std::iter::once(ok).chain(remarks).collect::<Vec<_>>().join("\n")
    }
}

fn pods_of(width: &str) -> &'static str {
    if width == "namespaces" { "all pods of some namespaces" } else { "all pods" }
}

/// Serves `/healthz` and `/readyz` until aborted. All of the process runs on one thread: that `/healthz` answers means
/// that nothing holds it up (CH-B6).
pub async fn serve_health(listener: TcpListener, readiness: Readiness) -> io::Result<()> {
    server::serve(listener, health(readiness), LIMITS).await
}

fn health(readiness: Readiness) -> Router {
    let ready = move || {
        let readiness = readiness.clone();
        async move {
            match readiness.missing().await {
                Ok(()) => (StatusCode::OK, readiness.remark()),
                Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
            }
        }
    };
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/healthz/ping", get(async || "ok"))
        .route("/readyz", get(ready.clone()))
        .route("/readyz/webhook-ready", get(ready))
}

/// Serves `/metrics` until aborted.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) -> io::Result<()> {
    let page = move || {
        let metrics = Arc::clone(&metrics);
        async move { ([("content-type", metrics::CONTENT_TYPE)], metrics.render()) }
    };
    server::serve(listener, Router::new().route("/metrics", get(page)), LIMITS).await
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    async fn ask(router: &Router, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let text = to_bytes(response.into_body(), 1 << 10).await.unwrap();
        (status, String::from_utf8_lossy(&text).into_owned())
    }

    fn ready(life: watch::Receiver<Life>) -> Readiness {
        let (caches, metrics) = (Arc::new(Caches::default()), Arc::new(Metrics::default()));
        Readiness { caches, state: None, own: None, life, remarks: Vec::new(), metrics }
    }

    /// install/F14: what was ignored is said, and keeps nobody away.
    #[tokio::test]
    async fn install_f14_remarks_are_told_and_ready_is_ready() {
        let (_life, lives) = watch::channel(Life::Running);
        let remarks = vec!["unrecognized feature gate: X; it is ignored".to_owned()];
        let router = health(Readiness { remarks, ..ready(lives) });

        let told = (StatusCode::OK, "ok\nunrecognized feature gate: X; it is ignored".to_owned());
        for path in ["/readyz", "/readyz?verbose"] {
            assert_eq!(ask(&router, path).await, told, "{path}");
        }
    }

    /// The selection of pods is wider than needed: said as long as it is so, and no reason not to be ready.
    #[tokio::test]
    async fn wide_selection_of_pods_is_told_while_it_lasts() {
        let (_life, lives) = watch::channel(Life::Running);
        let readiness = ready(lives);
        let (router, metrics) = (health(readiness.clone()), readiness.metrics);
        let mut told = Vec::new();
        for width in ["exact", "namespaces", "everything", "exact"] {
            metrics.pod_webhook_width("mpod.kb.io", width);
            told.push(ask(&router, "/readyz").await);
        }

        let wide = |pods: &str| {
            format!("ok\nwebhook mpod.kb.io selects {pods}: too many objects select pods to be told apart")
        };
        let texts = ["ok".to_owned(), wide("all pods of some namespaces"), wide("all pods"), "ok".to_owned()];
        assert_eq!(told, texts.map(|text| (StatusCode::OK, text)));
    }

    /// PL-B4, PL-B11, PL-B12: not ready says why, and stopping comes before everything else; alive all the time.
    #[tokio::test]
    async fn pl_b4_pl_b11_pl_b12_readiness_says_what_is_missing() {
        let (state, states) = watch::channel(State::Starting("no CA yet".to_owned()));
        let (life, lives) = watch::channel(Life::Running);
        let router = health(Readiness { state: Some(states), ..ready(lives) });

        let no_ca = (StatusCode::SERVICE_UNAVAILABLE, "webhook-ready: no CA yet".to_owned());
        assert_eq!(ask(&router, "/readyz").await, no_ca);
        state.send_replace(State::Ready);
        for path in ["/readyz", "/readyz/webhook-ready", "/healthz", "/healthz/ping"] {
            assert_eq!(ask(&router, path).await, (StatusCode::OK, "ok".to_owned()), "{path}");
        }
        life.send_replace(Life::Stopping);
        assert_eq!(ask(&router, "/readyz").await, (StatusCode::SERVICE_UNAVAILABLE, "stopping".to_owned()));
        assert_eq!(ask(&router, "/healthz").await.0, StatusCode::OK);
    }
}
