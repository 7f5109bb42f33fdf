//! The API server as the agent uses it: watches of its own node's objects, patches of their status, single reads, events.

mod client;
mod events;
mod pulse;
mod watch;

pub use client::{Api, ApiError, PatchKind};
pub use events::{About, Recorder, Severity, Writer};
pub use pulse::Pulse;
pub use watch::{Change, Key, Meta, Selection, Watched, Watcher, watch};
