//! The keeper: a small process that starts the parts of a cluster and takes everything down when we are gone.
//!
//! The library starts it as `kruise-testbed keeper` and speaks JSON lines with it. Its standard input is the life
//! line: when that closes, because we ended, panicked or were killed, it kills all children, runs the clean-ups that
//! were registered, and removes its directory. Should the keeper itself be killed, the kernel kills its children
//! (parent-death signal) and the next keeper of the same instance finds and clears what was left.

pub mod cleanup;
mod client;
mod instance;
mod protocol;
mod server;

pub use client::Keeper;
pub use protocol::Start;
pub use server::{exec_child, serve};

/// Where the directories of all clusters of this user are.
pub fn root() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("kruise-testbed-{}", rustix::process::getuid().as_raw()))
}
