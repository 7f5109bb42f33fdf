//! What the API server asks before it stores something ([`Request`]), and what is said to it ([`Answer`]): faults with the field
//! they are at, warnings. Shared by all kinds. And pods: what is done to them ([`pod`]), and which ones are asked about at all
//! ([`selection`]).

mod answer;
#[cfg(test)]
pub(crate) mod fixtures;
mod known;
mod patch;
pub mod pod;
mod request;
pub mod selection;
pub mod versions;
pub mod workload;

use std::fmt;

pub use answer::{Answer, Cause, Denial};
pub use known::{Known, Live, Question};
pub use patch::patch;
pub use request::{DryRun, GroupVersionKind, GroupVersionResource, Operation, Request, Subresource, User};

/// Everything that is wrong with an object, so that the user repairs the file once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub field: String,
    pub kind: FaultKind,
    pub message: String,
}

/// The Kubernetes cause of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    Required,
    Invalid,
    NotSupported,
    Forbidden,
    Duplicate,
}

impl Faults {
    pub fn add(&mut self, kind: FaultKind, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Fault { field: field.into(), kind, message: message.into() });
    }

    pub fn invalid(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add(FaultKind::Invalid, field, message);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FaultKind::Required => "required value",
            FaultKind::Invalid => "invalid value",
            FaultKind::NotSupported => "unsupported value",
            FaultKind::Forbidden => "forbidden",
            FaultKind::Duplicate => "duplicate value",
        };
        write!(out, "{}: {kind}: {}", self.field, self.message)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            write!(out, "{}{fault}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}
