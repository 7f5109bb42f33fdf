//! From paths to handlers: bounds on bodies, panics caught, answers counted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::FutureExt;
use futures::future::BoxFuture;
use kruise_core::admission::{Answer, Request};
use tokio::time::Instant;

use super::admission::{self, Asker};
use super::conversion::{self, Convert};
use super::intake::{Held, Intake};
use crate::metrics::{Admission, Allowed, Metrics};

/// The API server takes requests of at most 3 MiB, a review holds two objects and what surrounds them; the original's bound.
const ADMISSION_BYTES_MAX: usize = 7 << 20;
/// A page of a list may be converted in one review: 500 objects of 16 KiB.
const CONVERSION_BYTES_MAX: usize = 8 << 20;

/// The usual number for a caller that did not wait for its answer.
const HUNG_UP: u16 = 499;

/// Answers one admission request.
pub type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A path and who answers there.
pub struct Route {
    pub path: String,
    /// Plurals that are asked about there; the counts tell no others apart, or whoever reaches the port could make more of
    /// them without end.
    pub resources: Vec<&'static str>,
    pub handler: Handler,
}

/// The count of resources that a path does not expect.
const OTHER: &str = "other";

/// The paths of the server.
pub struct Webhooks {
    router: Router,
    with: With,
    paths: Vec<String>,
}

/// What answering a review needs.
#[derive(Clone)]
struct With {
    metrics: Arc<Metrics>,
    intake: Intake,
}

impl Webhooks {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        let router = Router::new().route("/healthz", get(async || "ok"));
        Self { router, with: With { metrics, intake: Intake::default() }, paths: Vec::new() }
    }

    #[must_use]
    pub fn admission(mut self, route: Route) -> Self {
        let with = self.with.clone();
        with.metrics.webhook(&route.path);
        let path = route.path.clone();
        let route = Arc::new(route);
        let answer = move |request: axum::extract::Request| {
            let (with, route) = (with.clone(), Arc::clone(&route));
            async move {
                let asked = Asked::new(&with.metrics, &route.path);
                let ((asker, answer), held) = admit(request, &route.handler, &with).await;
                let allowed = if answer.denial.is_none() { Allowed::Yes } else { Allowed::No };
                let response = json(admission::review(&answer, &asker).to_string(), held);
                let resource = route.label(&asker.resource).to_owned();
                let (webhook, operation) = (route.path.clone(), asker.operation);
                with.metrics.admitted(Admission { webhook, operation, resource, allowed });
                asked.answered(answer.code());
                response
            }
        };
        self.router = self.router.route(&path, post(answer));
        self.paths.push(path);
        self
    }

    #[must_use]
    pub fn conversion(mut self, path: &str, convert: Convert) -> Self {
        let (with, name) = (self.with.clone(), path.to_owned());
        with.metrics.webhook(path);
        let answer = move |request: axum::extract::Request| {
            let (with, name) = (with.clone(), name.clone());
            async move {
                let asked = Asked::new(&with.metrics, &name);
                let answer = converted(request, convert, &with).await;
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

impl Route {
    /// What the counts call a resource.
    fn label<'a>(&self, plural: &'a str) -> &'a str {
        if plural.is_empty() || self.resources.contains(&plural) { plural } else { OTHER }
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
async fn admit(request: axum::extract::Request, handler: &Handler, with: &With) -> ((Asker, Answer), Held) {
    let refused = |(code, message)| ((Asker::unknown(), Answer::denied(code, message)), Held::default());
    let taken = match with.intake.take(request, ADMISSION_BYTES_MAX).await {
        Ok(taken) => taken,
        Err(refusal) => return refused(refusal),
    };
    let (body, handler, metrics) = (taken.body.clone(), Arc::clone(handler), Arc::clone(&with.metrics));
    let work = async move {
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
    };
    with.intake.work(taken, work).await.unwrap_or_else(refused)
}

async fn converted(request: axum::extract::Request, convert: Convert, with: &With) -> Response {
    let refused = |(code, message): (u16, String)| {
        (StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST), message).into_response()
    };
    let taken = match with.intake.take(request, CONVERSION_BYTES_MAX).await {
        Ok(taken) => taken,
        Err(refusal) => return refused(refusal),
    };
    let (body, metrics) = (taken.body.clone(), Arc::clone(&with.metrics));
    let work = async move {
        std::panic::catch_unwind(|| conversion::answer(&body, convert))
            .map_err(|_| metrics.webhook_panicked())
    };
    match with.intake.convert(taken, work).await {
        Ok((Ok(Ok(review)), held)) => json(review, held),
        Ok((Ok(Err(message)), _)) => (StatusCode::BAD_REQUEST, message).into_response(),
        Ok((Err(()), _)) => (StatusCode::INTERNAL_SERVER_ERROR, "the webhook failed inside").into_response(),
        Err(refusal) => refused(refusal),
    }
}

fn json(text: String, held: Held) -> Response {
    let length = text.len();
    let headers =
        [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_LENGTH, length.to_string())];
    (headers, held.answer(text)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http;
    use serde_json::{Value, json};
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
        let route = Route { path: "/validate".into(), resources: vec!["things"], handler };
        (webhooks.admission(route).conversion("/convert", |object, _| Ok(object)), metrics)
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
        question_about("things", name)
    }

    fn question_about(resource: &str, name: &str) -> String {
        let kind = json!({"group": "g", "version": "v1", "kind": "Thing"});
        let request = json!({"uid": "u", "operation": "CREATE", "name": name, "kind": kind, "resource": {"resource": resource}, "object": {}});
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
            "kruise_webhook_admission_requests_total{allowed=\"true\",operation=\"CREATE\",resource=\"things\",webhook=\"/validate\"} 1",
        ] {
            assert!(page.lines().any(|found| found == other), "{other} is not in {page}");
        }
    }

    /// Labels are a closed set, whatever is sent.
    #[tokio::test]
    async fn resource_that_a_path_does_not_expect_is_counted_as_other() {
        let (_, _, page) = post_to("/validate", "application/json", question_about("x\"y", "web")).await;

        let line = "kruise_webhook_admission_requests_total{allowed=\"true\",operation=\"CREATE\",resource=\"other\",webhook=\"/validate\"} 1";
        assert!(page.lines().any(|found| found == line), "{page}");
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
