//! The machine room: watch, cache, index, queue, apply with barrier, events, lease, metrics, webhook server and
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
pub mod client;
pub mod clock;
pub mod controller;
pub mod events;
pub mod health;
pub mod lease;
pub mod listen;
pub mod metrics;
pub mod queue;
pub mod server;
pub mod webhook;
mod worker;

#[cfg(test)]
mod testing;

pub use kruise_core::object::{Key, ObjectRef, Resource, Scope};
