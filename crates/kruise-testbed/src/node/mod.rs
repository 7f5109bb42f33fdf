//! Real nodes on this machine: kubelet, containerd, runc and kube-proxy, one to three of them beside the control plane.
//!
//! Each node is a network namespace with a leg on a bridge of the cluster, a containerd and a kubelet with directories
//! and a cgroup of their own, and a kube-proxy whose rules stay inside that namespace. So nodes do not share ports, two
//! clusters do not meet, and the machine's own firewall and routes are left alone, except for the routes to the
//! cluster's addresses, which go away with the bridge.
//!
//! To follow a start: [`Kit::collect`] ([`preflight`], binaries) → [`Ground::prepare`] (addresses, bridge, registry) → the control plane →
//! [`Ground::start_nodes`]. What each step leaves on the machine is registered as a [`cleanup::Leftover`] beforehand.

mod cgroup;
pub mod cleanup;
mod config;
mod ground;
mod network;
mod preflight;
mod real;
mod wiring;

pub use ground::{Ground, Kit, NODES_MAX, Parts};
pub use network::Network;
pub use preflight::{Fit, preflight};
pub use real::RealNode;
