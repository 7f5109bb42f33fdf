//! The machine room: watch, cache, index, queue, apply with barrier, events, lease, metrics, gates, webhook server and
//! its certificates.
//!
//! Lives here: mechanisms that every controller needs, each in one file.
//! Must not live here: knowledge of any kind of ours, decisions about pods. Of `kruise-core` only the vocabulary of
//! plans is used (`plan`, `chain`).
//!
//! To follow a reconcile, start at [`controller`]: queue → barrier → plan → apply → barrier.

pub mod apply;
pub mod barrier;
pub mod cache;
pub mod certs;
pub mod clock;
pub mod controller;
pub mod events;
pub mod gates;
pub mod health;
pub mod key;
pub mod lease;
pub mod limit;
pub mod metrics;
pub mod queue;
pub mod resource;
pub mod webhook;
mod worker;

#[cfg(test)]
mod testing;

pub use key::Key;
pub use resource::{Resource, Scope};
