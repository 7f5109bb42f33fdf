//! Real nodes on this machine: kubelet, containerd, runc and kube-proxy, one to three of them beside the control plane.
//!
//! Each node is a network namespace with a leg on a bridge of the cluster, a mount namespace with its own `/run`,
//! `/var/log` and `/var/lib/kubelet`, and a cgroup. Inside run a containerd, a kubelet and a kube-proxy as they would on
//! a machine of their own. So nodes do not share ports, sockets or rules, two clusters do not meet, and the machine's own
//! firewall and routes are left alone, except for the routes to the cluster's addresses, which go with the bridge.
//!
//! To follow a start: [`Kit::collect`] ([`preflight`], binaries) → [`Ground::prepare`] (addresses, bridge, registry) → the control plane →
//! [`Ground::start_nodes`]. What each step leaves on the machine is registered as a [`cleanup::Leftover`] beforehand.

mod cgroup;
pub mod cleanup;
mod command;
mod config;
mod ground;
mod network;
mod preflight;
mod real;
mod rooms;
mod wiring;

pub use ground::{Ground, Kit, NODES_MAX, Parts};
pub use network::Network;
pub use preflight::{Fit, preflight};
pub use real::RealNode;
