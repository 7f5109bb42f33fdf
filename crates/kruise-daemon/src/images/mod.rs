//! Pulls the images that the node's NodeImage lists (NP-1 … NP-13).
//!
//! `decide` says what to pull and what to report, `attempt` how often and how long, `keyring` with which credentials,
//! `plugins` speaks the kubelet's credential provider protocol, `pull` makes one pull, `work` puts them together.
//! Writes: one merge patch of the status per change, at most one in two seconds after a burst of five.
//! Deviations: digests are joined by `@` and references sent in full; one image is asked for instead of listing all;
//! a stopped worker makes no call; the status is patched, so the manager's writes never conflict; no pause follows the last
//! attempt (images, problems 1, 2, 9, 10, 12).

mod attempt;
mod decide;
mod keyring;
mod plugins;
mod pull;
mod work;

pub use keyring::Credential;
pub use plugins::Plugins;
pub use pull::Pulling;
pub use work::Puller;
