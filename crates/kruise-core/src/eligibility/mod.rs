//! Whether a pod of a template could run on a node: the filters of the scheduler that BroadcastJob (BJ-4) and DaemonSet (DS-2 … DS-4)
//! ask themselves, because they decide per node. Pods that already run there are not subtracted: the scheduler decides that.

mod affinity;
mod daemon;
mod needs;
mod requests;
mod taint;
#[cfg(test)]
mod tests;

pub use affinity::Term;
pub use daemon::{Verdict, with_daemon_tolerations};
pub use needs::{Needs, Unfit};
pub use taint::{Effect, Taint, Toleration};
