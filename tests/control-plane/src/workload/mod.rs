//! What the tests of all workloads share: a namespace with objects that live in it, a check over every change, states that the
//! original left behind.

mod counted;
pub mod crash;
pub mod inplace;
mod live;
mod pods;
pub mod takeover;
pub mod watcher;
pub mod web;

pub use counted::{Counted, Writes};
pub use live::{Kind, Live, Sets};
pub use pods::*;
pub use takeover::Takeover;
pub use web::{Web, cloneset, statefulset};
