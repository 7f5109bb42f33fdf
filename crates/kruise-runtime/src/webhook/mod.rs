//! The webhook server: what the API server asks before it stores an object (admission) and when it needs another version
//! of one (conversion).
//!
//! tls (certificates) → router (panics, counts) → intake (bounds on memory and time) → admission or conversion (wire ↔ ours) → a
//! handler of the manager.
//! Which paths there are and what they decide is registered by the manager; nothing here knows a kind.
//! Never: a panic that ends the process, a body that is read without a bound, an answer without the question's uid.

mod admission;
mod conversion;
mod intake;
mod own;
mod review;
mod router;
mod tls;
mod weigh;

pub use conversion::Convert;
pub use own::OwnWebhook;
pub use router::{Handler, Route, Webhooks};
pub use tls::{Serving, serve};
