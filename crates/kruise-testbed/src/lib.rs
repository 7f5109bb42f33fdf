//! A real Kubernetes on this machine: for tests, for trying things out and for measuring.
//!
//! Lives here: building and running etcd, the control plane and real nodes; driving simulated nodes against a
//! real API server; the benchmark.
//! Must not live here: anything that ships in a production image, any rule about a kind of ours.
//!
//! To follow a start: [`Cluster::start`] asks [`components`] for binaries, makes [`certs`], and has a
//! [`keeper`] process start the parts, so that they end with us whatever ends us.

pub mod bench;
mod called;
mod cargo;
pub mod certs;
pub mod chart;
pub mod checkout;
pub mod cluster;
pub mod components;
mod control_plane;
pub mod crds;
pub mod daemon;
pub mod demo;
pub mod door;
mod error;
pub mod existing;
pub mod images;
pub mod keeper;
mod kubeconfig;
pub mod manager;
pub mod node;
pub mod pages;
pub mod provisioner;
pub mod registry;
mod shared;
pub mod simnodes;
mod slim;
pub mod up;
pub mod wait;
mod webhook_objects;
mod welcome;

pub use cluster::{Cluster, Options};
pub use error::TestbedError;
pub use shared::{Scratch, Shared, scratch, scratch_with_all_gates, scratch_without_manager};
