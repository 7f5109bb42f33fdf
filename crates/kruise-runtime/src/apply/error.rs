//! Why a write did not happen. The variant decides what comes next; nobody parses the text.

use std::time::Duration;

use kube::core::Status;

use crate::Key;

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Somebody else wrote first, or the object is gone. Normal: plan again from a newer view.
    #[error("{object} changed while it was being written")]
    Conflict { object: Key },

    /// An object of that name is there already. Normal after a crash: look at it, then plan again.
    #[error("{object} exists already")]
    Exists { object: Key },

    /// The API server or an admission webhook refuses this very object; the same bytes will be refused again.
    #[error("{object} was refused: {message}")]
    Refused { object: Key, message: String },

    /// The server is busy and says how long to leave it alone.
    #[error("{object} could not be written now: {message}")]
    Busy { object: Key, after: Duration, message: String },

    /// Who was asked before the first write of this chain does not allow it now. Asked again soon, after other pods.
    #[error("{message}")]
    Denied { message: String },

    /// Nobody knows whether the write happened: a time-out, a broken connection, a server error.
    #[error("{object}: no certain answer: {message}")]
    Unsure { object: Key, message: String },
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

/// CS-76.
const DENIED: Duration = Duration::from_secs(1);

impl ApplyError {
    /// Reads an answer of the API server.
    pub fn of(object: &Key, error: &kube::Error) -> Self {
        let object = object.clone();
        let kube::Error::Api(status) = error else {
            return Self::Unsure { object, message: error.to_string() };
        };
        let message = status.message.clone();
        match (status.code, status.reason.as_str()) {
            (409, "AlreadyExists") => Self::Exists { object },
            (404 | 409 | 410, _) => Self::Conflict { object },
            (422, _) if is_failed_test(status) => Self::Conflict { object },
            (429, _) => Self::Busy { object, after: retry_after(status), message },
            (400..=499, _) => Self::Refused { object, message },
            (_, _) => Self::Unsure { object, message },
        }
    }

    pub fn next(&self) -> Next {
        match self {
            Self::Conflict { .. } | Self::Exists { .. } => Next::Replan,
            Self::Busy { after, .. } => Next::After(*after),
            Self::Denied { .. } => Next::After(DENIED),
            Self::Refused { .. } | Self::Unsure { .. } => Next::BackOff,
        }
    }

    /// Whether the object must be read live before the next plan.
    pub fn is_unsure(&self) -> bool {
        matches!(self, Self::Unsure { .. } | Self::Exists { .. })
    }
}

/// A JSON patch whose test failed is answered like an invalid object, but names no field. A merge that carries the uid
/// of a predecessor is answered like an attempt to change it.
fn is_failed_test(status: &Status) -> bool {
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    causes.iter().all(|cause| cause.field == "metadata.uid")
}

fn retry_after(status: &Status) -> Duration {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds == 0 { BUSY } else { Duration::from_secs(u64::from(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: u16, reason: &str, details: &serde_json::Value) -> ApplyError {
        let status = serde_json::json!({
            "status": "Failure", "code": code, "reason": reason, "message": "m", "details": details,
        });
        let status: Status = serde_json::from_value(status).unwrap();
        ApplyError::of(&Key::new("n", "a"), &kube::Error::Api(Box::new(status)))
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
        assert!(text.starts_with("n/a") && text.ends_with(": m"), "{text}");
    }

    #[test]
    fn only_answers_that_leave_a_doubt_ask_for_a_live_read() {
        let none = serde_json::json!({});
        assert!(read(500, "InternalError", &none).is_unsure());
        assert!(read(409, "AlreadyExists", &none).is_unsure());
        assert!(!read(403, "Forbidden", &none).is_unsure());
    }
}
