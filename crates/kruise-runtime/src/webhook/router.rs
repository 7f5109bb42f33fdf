//! From paths to handlers: bounds on bodies, panics caught, answers counted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use super::admission::{self, Answer, Asker, Request};
use super::conversion::{self, Convert};
use crate::metrics::{Admission, Allowed, Metrics};

/// An object is at most 1.5 MiB (etcd), a review holds two and what surrounds them; the original's bound.
const ADMISSION_BYTES_MAX: usize = 7 << 20;
/// A list is converted in one review: 5,000 objects of 12 KiB.
const CONVERSION_BYTES_MAX: usize = 64 << 20;

/// The usual number for a caller that did not wait for its answer.
const HUNG_UP: u16 = 499;

/// Answers one admission request.
pub type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Answer> + Send + Sync>;

/// The paths of the server.
pub struct Webhooks {
    router: Router,
    metrics: Arc<Metrics>,
    paths: Vec<String>,
}

impl Webhooks {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        let router = Router::new().route("/healthz", get(async || "ok"));
        Self { router, metrics, paths: Vec::new() }
    }

    #[must_use]
    pub fn admission(mut self, path: &str, handler: Handler) -> Self {
        let (metrics, name) = (Arc::clone(&self.metrics), path.to_owned());
        metrics.webhook(path);
        let answer = move |request: axum::extract::Request| {
            let (metrics, name, handler) = (Arc::clone(&metrics), name.clone(), Arc::clone(&handler));
            async move {
                let asked = Asked::new(&metrics, &name);
                let (asker, answer) = admit(request, &handler, &metrics).await;
                let allowed = if answer.denial.is_none() { Allowed::Yes } else { Allowed::No };
                let code = answer.code();
                let response = json(&answer.review(&asker));
                let Asker { resource, operation, .. } = asker;
                metrics.admitted(Admission { webhook: name.clone(), operation, resource, allowed });
                asked.answered(code);
                response
            }
        };
        self.router = self.router.route(path, post(answer));
        self.paths.push(path.to_owned());
        self
    }

    #[must_use]
    pub fn conversion(mut self, path: &str, convert: Convert) -> Self {
        let (metrics, name) = (Arc::clone(&self.metrics), path.to_owned());
        metrics.webhook(path);
        let answer = move |request: axum::extract::Request| {
            let (metrics, name) = (Arc::clone(&metrics), name.clone());
            async move {
                let asked = Asked::new(&metrics, &name);
                let answer = converted(request, convert, &metrics).await;
                asked.answered(answer.status().as_u16());
                answer
            }
        };
        self.router = self.router.route(path, post(answer));
        self.paths.push(path.to_owned());
        self
    }

    /// All paths that were registered.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    pub fn into_router(self) -> Router {
        self.router
    }
}

/// A request between its arrival and its answer; counted down also when the caller hangs up.
struct Asked<'a> {
    metrics: &'a Metrics,
    path: &'a str,
    since: Instant,
    code: u16,
}

impl<'a> Asked<'a> {
    fn new(metrics: &'a Metrics, path: &'a str) -> Self {
        metrics.webhook_asked(path);
        Self { metrics, path, since: Instant::now(), code: HUNG_UP }
    }

    fn answered(mut self, code: u16) {
        self.code = code;
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.metrics.webhook_answered(self.path, self.code, self.since.elapsed());
    }
}

/// The codes are inside the review, the HTTP answer is always a success, as with the original's library.
async fn admit(request: axum::extract::Request, handler: &Handler, metrics: &Metrics) -> (Asker, Answer) {
    let body = match body(request, ADMISSION_BYTES_MAX).await {
        Ok(body) => body,
        Err((code, message)) => return (Asker::unknown(), Answer::denied(code, message)),
    };
    let (asker, question) = match admission::read(&body) {
        Ok(read) => read,
        Err(message) => return (Asker::unknown(), Answer::denied(400, message)),
    };
    let answer = AssertUnwindSafe(async { handler(question).await }).catch_unwind().await;
    let answer = answer.unwrap_or_else(|_| {
        metrics.webhook_panicked();
        Answer::denied(500, "the webhook failed inside; its log says where")
    });
    (asker, answer)
}

async fn converted(request: axum::extract::Request, convert: Convert, metrics: &Metrics) -> Response {
    let body = match body(request, CONVERSION_BYTES_MAX).await {
        Ok(body) => body,
        Err((code, message)) => {
            return (StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST), message).into_response();
        }
    };
    match std::panic::catch_unwind(|| conversion::answer(&body, convert)) {
        Ok(Ok(review)) => json(&review),
        Ok(Err(message)) => (StatusCode::BAD_REQUEST, message).into_response(),
        Err(_) => {
            metrics.webhook_panicked();
            (StatusCode::INTERNAL_SERVER_ERROR, "the webhook failed inside").into_response()
        }
    }
}

async fn body(request: axum::extract::Request, bytes_max: usize) -> Result<Bytes, (u16, String)> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_none_or(|kind| !kind.starts_with("application/json")) {
        return Err((400, format!("content type {}: send application/json", kind.unwrap_or("missing"))));
    }
    let read = to_bytes(request.into_body(), bytes_max).await;
    let read = read.map_err(|error| {
        // The library tells a body that is too long from one that broke off only in the cause's text.
        if std::error::Error::source(&error).is_some_and(|cause| cause.to_string().contains("length limit")) {
            (413, format!("a body may have {bytes_max} bytes"))
        } else {
            (400, format!("the body was not read: {error}"))
        }
    })?;
    if read.is_empty() { Err((400, "the body is empty".to_owned())) } else { Ok(read) }
}

fn json(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Body::from(value.to_string())).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http;
    use serde_json::json;
    use tower::ServiceExt;

    use super::*;

    fn webhooks() -> (Webhooks, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::default());
        let handler: Handler = Arc::new(|request| {
            async move {
                assert_ne!(request.name, "panic", "asked for");
                Answer { warnings: vec![request.name], ..Answer::default() }
            }
            .boxed()
        });
        let webhooks = Webhooks::new(Arc::clone(&metrics));
        (webhooks.admission("/validate", handler).conversion("/convert", |object, _| Ok(object)), metrics)
    }

    async fn post_to(path: &str, content_type: &str, text: impl Into<Body>) -> (StatusCode, Value, String) {
        let (webhooks, metrics) = webhooks();
        let request =
            http::Request::post(path).header("content-type", content_type).body(text.into()).unwrap();
        let response = webhooks.into_router().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null), metrics.render())
    }

    fn question(name: &str) -> String {
        let kind = json!({"group": "g", "version": "v1", "kind": "Thing"});
        let request = json!({"uid": "u", "operation": "CREATE", "name": name, "kind": kind, "resource": {"resource": "things"}, "object": {}});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
            .to_string()
    }

    #[tokio::test]
    async fn question_reaches_its_handler_and_is_counted() {
        let (status, review, page) = post_to("/validate", "application/json", question("web")).await;

        assert_eq!((status, &review["response"]["allowed"]), (StatusCode::OK, &json!(true)));
        assert_eq!(review["response"]["warnings"], json!(["web"]));
        let line = "controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/validate\"} 1";
        assert!(page.lines().any(|found| found == line), "{page}");
        for other in [
            "controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"} 0",
            "controller_runtime_webhook_latency_seconds_count{webhook=\"/validate\"} 1",
            "kruise_webhook_admission_duration_seconds_count{webhook=\"/validate\"} 1",
            // install/T24: the names that the troubleshooting guide has.
            "kruise_webhook_admission_requests_total{webhook=\"/validate\",operation=\"CREATE\",resource=\"things\",allowed=\"true\"} 1",
        ] {
            assert!(page.lines().any(|found| found == other), "{other} is not in {page}");
        }
    }

    #[tokio::test]
    async fn panic_of_a_handler_is_answered_and_counted() {
        let (status, review, page) = post_to("/validate", "application/json", question("panic")).await;

        assert_eq!((status, &review["response"]["status"]["code"]), (StatusCode::OK, &json!(500)));
        assert_eq!(review["response"]["uid"], "u");
        assert!(page.contains("controller_runtime_webhook_panics_total 1"), "{page}");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_answered_with_its_code() {
        let long = vec![b' '; ADMISSION_BYTES_MAX + 1];
        for (kind, text, code) in [
            ("application/json", b"{".to_vec(), 400),
            ("application/json", Vec::new(), 400),
            ("text/plain", question("x").into_bytes(), 400),
            ("application/json", long, 413),
        ] {
            let (status, review, _) = post_to("/validate", kind, text).await;
            assert_eq!((status, &review["response"]["status"]["code"]), (StatusCode::OK, &json!(code)));
        }
        assert_eq!(post_to("/convert", "application/json", "{").await.0, StatusCode::BAD_REQUEST);
        assert_eq!(post_to("/other", "application/json", "{}").await.0, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn other_methods_are_not_allowed() {
        let request = http::Request::get("/validate").body(Body::empty()).unwrap();
        let response = webhooks().0.into_router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}
