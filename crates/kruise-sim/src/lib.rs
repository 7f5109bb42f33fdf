//! The simulated world: what the cluster around the manager does, under virtual time and from one seed.
//!
//! Lives here: the kubelet model, the simulated API server, its actors and its faults.
//! Must not live here: anything that ships in a production image.

pub mod campaign;
mod json;
pub mod kinds;
pub mod kubelet;
pub mod model;
pub mod planted;
pub mod rng;
pub mod server;
pub mod world;
