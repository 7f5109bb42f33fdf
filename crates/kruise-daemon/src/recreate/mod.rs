//! Restarts containers on request (CD-1 … CD-13): picks one request per pod, stops containers in order, and says how far it is.
//!
//! `decide` is everything that thinks; `work` asks the runtime, writes and stops. One task per pod, so a long grace period holds
//! up no other pod; the next request of a pod is taken when the one before is gone.
//! Writes per request and container: 2 (Recreating, done), and with forceRecreate one more before the stop.
//! Deviations: what was decided is written down before a forced stop, so a crash never stops the new container (problem 8);
//! a container that is missing is looked for again (problem 7); the pod's next request never hangs (problem 1).

mod decide;
mod work;

pub use work::Recreator;
