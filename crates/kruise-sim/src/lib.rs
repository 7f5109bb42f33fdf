//! The simulated world: what the cluster around the manager does, as pure functions and under virtual time.
//!
//! Lives here: the kubelet model, later the simulated API server, its actors and its faults.
//! Must not live here: anything that ships in a production image.

pub mod kubelet;
