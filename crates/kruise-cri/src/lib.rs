//! The Container Runtime Interface v1, as far as the node agent uses it: messages and client, and the server for the fake runtime of tests.
//!
//! `runtime.v1.rs` is written by `cargo xtask cri` from `proto/cri.proto` with a compiler in Rust, so no build needs `protoc`.
//! Must not live here: anything written by hand.

#![allow(clippy::all, clippy::pedantic)]

include!("runtime.v1.rs");
