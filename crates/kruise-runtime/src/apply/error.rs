//! Why a write did not happen. The variant decides what comes next; nobody parses the text.

use std::error::Error;
use std::io;
use std::time::Duration;

use kube::core::Status;

use super::call::ANSWER_WITHIN;
use crate::ObjectRef;

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Somebody else wrote first, or the object is gone. Normal: plan again from a newer view.
    #[error("{object} changed while it was being written")]
    Conflict { object: ObjectRef },

    /// An object of that name is there already. Normal after a crash: look at it, then plan again.
    #[error("{object} already exists")]
    Exists { object: ObjectRef },

    /// The API server or an admission webhook refuses this very object; the same bytes will be refused again.
    #[error("{object} was refused: {message}")]
    Refused { object: ObjectRef, message: String },

    /// The server is busy and says how long to leave it alone.
    #[error("{object} could not be written now: {message}")]
    Busy { object: ObjectRef, after: Duration, message: String },

    /// Who was asked before the first write of this chain does not allow it now. Asked again soon, after other pods.
    #[error("{message}")]
    Denied { message: String },

    /// Nobody knows whether the write happened, but it will not happen any more: a time-out, a server error.
    #[error("{object}: outcome unknown: {message}")]
    Unsure { object: ObjectRef, message: String },

    /// The connection broke after the request was sent: it may have happened, or happen as long as a server works on a request.
    #[error("{object}: the connection broke before the response: {message}")]
    Broken { object: ObjectRef, message: String },
}

/// What a write was. Only a patch can carry a precondition that is answered like an invalid object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Creation,
    Patch,
    Deletion,
}

/// A request that was waited for until it could not happen any more.
#[derive(Debug, thiserror::Error)]
#[error("no response for {object} within {waited:?}")]
pub struct NoAnswer {
    pub object: ObjectRef,
    pub waited: Duration,
}

/// What to do with the key, from the easiest to the most careful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    Settle,
    /// Plan again from a newer view.
    Replan,
    After(Duration),
    BackOff,
}

/// The server's default when it gives no number.
const BUSY: Duration = Duration::from_secs(1);

/// A server that wants more time is asked again all the same: worse than a request in vain is an object that nobody looks at.
const BUSY_LONGEST: Duration = Duration::from_secs(30);

/// How the server begins what a webhook refused; nothing else in its answer tells one from a failed test.
const WEBHOOK_SAYS: &str = "admission webhook ";

/// CS-76.
const DENIED: Duration = Duration::from_secs(1);

impl ApplyError {
    /// Reads an answer of the API server.
    pub fn of(object: &ObjectRef, error: &kube::Error) -> Self {
        let object = object.clone();
        let kube::Error::Api(status) = error else {
            return Self::Unsure { object, message: error.to_string() };
        };
        let message = status.message.clone();
        match (status.code, status.reason.as_str()) {
            (409, "AlreadyExists") => Self::Exists { object },
            (404 | 409 | 410, _) => Self::Conflict { object },
            (429, _) => Self::Busy { object, after: retry_after(status), message },
            (400..=499, _) => Self::Refused { object, message },
            (_, _) => Self::Unsure { object, message },
        }
    }

    /// Reads an answer to a write.
    pub fn of_write(object: &ObjectRef, sent: Sent, error: &kube::Error) -> Self {
        if is_under_way(error) {
            return Self::Broken { object: object.clone(), message: error.to_string() };
        }
        if sent == Sent::Patch && matches!(error, kube::Error::Api(status) if is_failed_test(status)) {
            return Self::Conflict { object: object.clone() };
        }
        Self::of(object, error)
    }

    /// Whether it says something about the object, and not only about the moment.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Exists { .. } | Self::Busy { .. } => false,
            Self::Refused { .. } | Self::Denied { .. } | Self::Unsure { .. } | Self::Broken { .. } => true,
        }
    }

    pub fn next(&self) -> Next {
        match self {
            Self::Conflict { .. } | Self::Exists { .. } => Next::Replan,
            Self::Busy { after, .. } => Next::After(*after),
            Self::Denied { .. } => Next::After(DENIED),
            Self::Refused { .. } | Self::Unsure { .. } | Self::Broken { .. } => Next::BackOff,
        }
    }

    /// If the object must be read live before the next plan: not before this long has passed.
    pub fn doubt(&self) -> Option<Duration> {
        match self {
            // The watch brings what somebody else has written, but maybe not soon, and until then the same write would fail again.
            Self::Conflict { .. } | Self::Exists { .. } | Self::Unsure { .. } => Some(Duration::ZERO),
            Self::Broken { .. } => Some(ANSWER_WITHIN),
            Self::Refused { .. } | Self::Busy { .. } | Self::Denied { .. } => None,
        }
    }
}

/// Whether a server may have the request and still work on it. Where no connection came about there was nobody to send it to.
fn is_under_way(error: &kube::Error) -> bool {
    let (kube::Error::Service(_) | kube::Error::HyperError(_)) = error else { return false };
    let is_refused = |cause: &io::Error| cause.kind() == io::ErrorKind::ConnectionRefused;
    let is_over = |cause: &(dyn Error + 'static)| {
        cause.is::<NoAnswer>() || cause.downcast_ref().is_some_and(is_refused)
    };
    !std::iter::successors(error.source(), |cause| (**cause).source()).any(is_over)
}

/// A JSON patch whose test failed is answered like an invalid object, but names no field. A merge that carries the uid
/// of a predecessor is answered like an attempt to change it. A webhook may refuse with the same number and no field, too;
/// the server puts its own words before those of a webhook.
fn is_failed_test(status: &Status) -> bool {
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    status.code == 422
        && causes.iter().all(|cause| cause.field == "metadata.uid")
        && !status.message.starts_with(WEBHOOK_SAYS)
}

fn retry_after(status: &Status) -> Duration {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds == 0 { BUSY } else { Duration::from_secs(u64::from(seconds)).min(BUSY_LONGEST) }
}

#[cfg(test)]
mod tests {
    use kruise_core::object::resource::PODS;

    use super::*;

    fn read(code: u16, reason: &str, details: &serde_json::Value) -> ApplyError {
        let status = serde_json::json!({
            "status": "Failure", "code": code, "reason": reason, "message": "m", "details": details,
        });
        let status: Status = serde_json::from_value(status).unwrap();
        ApplyError::of_write(
            &ObjectRef::new(PODS, "n", "a"),
            Sent::Patch,
            &kube::Error::Api(Box::new(status)),
        )
    }

    /// SM-71: only a failed precondition of ours is a conflict; a creation has none, and a webhook that names no field refuses.
    #[test]
    fn sm_71_refusal_without_a_field_is_a_refusal() {
        let of = |sent: Sent, message: &str| {
            let status = serde_json::json!({
                "status": "Failure", "code": 422, "reason": "Invalid", "message": message, "details": {},
            });
            let status: Status = serde_json::from_value(status).unwrap();
            let error = kube::Error::Api(Box::new(status));
            ApplyError::of_write(&ObjectRef::new(PODS, "n", "a"), sent, &error).next()
        };
        let failed_test = "the server rejected our request due to an error in our request";
        let webhook = "admission webhook \"policy.example.com\" denied the request: no";

        assert_eq!(of(Sent::Patch, failed_test), Next::Replan);
        assert_eq!(of(Sent::Patch, webhook), Next::BackOff);
        assert_eq!(of(Sent::Creation, webhook), Next::BackOff);
        assert_eq!(of(Sent::Creation, failed_test), Next::BackOff);
        assert_eq!(of(Sent::Deletion, failed_test), Next::BackOff);
    }

    #[test]
    fn every_answer_of_the_server_has_one_meaning() {
        let none = serde_json::json!({});
        let field =
            serde_json::json!({"causes": [{"field": "spec.replicas", "message": "m", "reason": "r"}]});
        let successor = serde_json::json!({"causes": [{"field": "metadata.uid", "message": "m", "reason": "FieldValueInvalid"}]});
        for (code, reason, details, next) in [
            (409, "AlreadyExists", &none, Next::Replan),
            (409, "Conflict", &none, Next::Replan),
            (404, "NotFound", &none, Next::Replan),
            (422, "Invalid", &none, Next::Replan),
            (422, "Invalid", &field, Next::BackOff),
            (422, "Invalid", &successor, Next::Replan),
            (403, "Forbidden", &none, Next::BackOff),
            (
                429,
                "TooManyRequests",
                &serde_json::json!({"retryAfterSeconds": 7}),
                Next::After(Duration::from_secs(7)),
            ),
            (
                429,
                "TooManyRequests",
                &serde_json::json!({"retryAfterSeconds": 3_600}),
                Next::After(BUSY_LONGEST),
            ),
            (500, "InternalError", &none, Next::BackOff),
            (504, "Timeout", &none, Next::BackOff),
        ] {
            assert_eq!(read(code, reason, details).next(), next, "{code} {reason}");
        }
    }

    /// install/T7: what the API server says, "… is forbidden: User …", stands in our message, and so in the log.
    #[test]
    fn install_t7_message_has_the_reason_of_the_server() {
        let text = read(403, "Forbidden", &serde_json::json!({})).to_string();
        assert!(text.starts_with("Pod n/a") && text.ends_with(": m"), "{text}");
    }

    #[test]
    fn only_answers_that_leave_a_doubt_ask_for_a_live_read() {
        let none = serde_json::json!({});
        assert_eq!(read(500, "InternalError", &none).doubt(), Some(Duration::ZERO));
        assert_eq!(read(409, "AlreadyExists", &none).doubt(), Some(Duration::ZERO));
        assert_eq!(read(409, "Conflict", &none).doubt(), Some(Duration::ZERO));
        assert_eq!(read(403, "Forbidden", &none).doubt(), None);
    }

    /// A broken connection leaves a doubt for as long as a server works on a request; a refused one was never sent, and a
    /// time-out has been waited for.
    #[test]
    fn sm_71_only_what_was_sent_can_still_land() {
        let of = |error: Box<dyn Error + Send + Sync>| {
            ApplyError::of_write(&ObjectRef::new(PODS, "n", "a"), Sent::Patch, &kube::Error::Service(error))
                .doubt()
        };
        let waited = NoAnswer { object: ObjectRef::new(PODS, "n", "a"), waited: ANSWER_WITHIN };

        assert_eq!(of(Box::new(io::Error::from(io::ErrorKind::ConnectionReset))), Some(ANSWER_WITHIN));
        assert_eq!(of(Box::new(io::Error::from(io::ErrorKind::UnexpectedEof))), Some(ANSWER_WITHIN));
        assert_eq!(of("something else that broke".into()), Some(ANSWER_WITHIN));
        assert_eq!(of(Box::new(io::Error::from(io::ErrorKind::ConnectionRefused))), Some(Duration::ZERO));
        assert_eq!(of(Box::new(waited)), Some(Duration::ZERO));
    }
}
