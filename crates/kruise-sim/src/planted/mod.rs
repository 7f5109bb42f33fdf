//! Planted bugs: does the simulator find what it should?
//!
//! Each bug is a lens between the unmodified manager and the server. It changes what the manager asks for, sees or
//! hears, which from outside is what a manager with that defect does: one that rounds up is one that sees a larger number,
//! one without barrier is one that hears of no version. So no line of the product is there for the sake of these tests.

mod bugs;
mod hunt;
mod lens;

pub use bugs::{Bug, all};
pub use hunt::{Found, hunt};
pub use lens::{Ask, Lens};

pub(crate) use lens::client;

#[cfg(test)]
mod tests;
