//! How we reach the API server: connections that notice a dead network, a deadline for every request, and a limit on requests
//! for those who ask for one.

mod connect;
mod deadline;
mod limit;

pub use connect::connected;
pub use deadline::{DeadlineLayer, Patience};
pub use limit::LimitLayer;
