//! The webhook server: what the API server asks before it stores an object (admission) and when it needs another version
//! of one (conversion).
//!
//! tls (handshakes) → router (limits, panics, counts) → admission or conversion (wire ↔ ours) → a handler of the manager.
//! Which paths there are and what they decide is registered by the manager; nothing here knows a kind.
//! Never: a panic that ends the process, a body that is read without a bound, an answer without the question's uid.

mod admission;
mod conversion;
mod own;
mod patch;
mod review;
mod router;
mod tls;

pub use admission::{Answer, Cause, Denial, Operation, Request};
pub use conversion::Convert;
pub use own::OwnWebhook;
pub use patch::patch;
pub use router::{Handler, Webhooks};
pub use tls::{Serving, serve};
