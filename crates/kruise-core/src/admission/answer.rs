//! What admission answers. The runtime writes it into the review.

use super::{Fault, FaultKind};
use crate::chain::Op;

/// What a webhook says about a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Absent: the request may pass.
    pub denial: Option<Denial>,
    /// JSON patch operations; empty for none.
    pub patch: Vec<Op>,
    /// Shown to the user by kubectl; the API server cuts each at 256 characters.
    pub warnings: Vec<String>,
}

/// Why a request may not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub code: u16,
    pub message: String,
    /// One for each field, for programs.
    pub causes: Vec<Cause>,
}

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The Kubernetes name, `FieldValueInvalid`.
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

impl Answer {
    pub fn allowed() -> Self {
        Self::default()
    }

    pub fn patched(patch: Vec<Op>) -> Self {
        Self { patch, ..Self::default() }
    }

    pub fn denied(code: u16, message: impl Into<String>) -> Self {
        Denial::new(code, message).into()
    }

    /// The status code: 200 for what may pass.
    pub fn code(&self) -> u16 {
        self.denial.as_ref().map_or(200, |denial| denial.code)
    }
}

impl From<Denial> for Answer {
    fn from(denial: Denial) -> Self {
        Self { denial: Some(denial), ..Self::default() }
    }
}

impl Denial {
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), causes: Vec::new() }
    }

    /// The request itself cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// The Kubernetes name of the code.
    pub fn reason(&self) -> &'static str {
        match self.code {
            400 => "BadRequest",
            403 => "Forbidden",
            413 => "RequestEntityTooLarge",
            422 => "Invalid",
            _ => "InternalError",
        }
    }
}

impl From<&Fault> for Cause {
    fn from(fault: &Fault) -> Self {
        let reason = match fault.kind {
            FaultKind::Required => "FieldValueRequired",
            FaultKind::Invalid => "FieldValueInvalid",
            FaultKind::NotSupported => "FieldValueNotSupported",
            FaultKind::Forbidden => "FieldValueForbidden",
            FaultKind::Duplicate => "FieldValueDuplicate",
        };
        Self { reason, field: fault.field.clone(), message: fault.message.clone() }
    }
}
