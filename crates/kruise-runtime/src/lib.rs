//! The machine room: watch, cache, index, queue, apply with barrier, events, lease, metrics, webhook server.
//!
//! Lives here: mechanisms that every controller needs, each in one file.
//! Must not live here: knowledge of any kind of ours, decisions about pods.
