//! The HTTP servers of the process: so many connections, each with its deadlines, and a TLS handshake where there is one.
//!
//! At the limit, a new connection takes the place of the one that has been of least use: one that has not asked anything yet, else the
//! one that has been idle for longest. One address gets three quarters of the places at most. Nobody loses its place while it is being answered; if all are, new ones wait in the kernel's queue.

mod places;
mod serve;
mod timely;

pub use serve::{Limits, serve, serve_tls};
