//! Certificates of the webhook server (WC-1 … WC-11): kept in a secret or a directory that all replicas read, renewed long
//! before their end, and made known to the API server.
//!
//! material (what is stored, read) → decide (keep, issue, rotate, prune; pure) → issue (new keys) → store (optimistic
//! write) → inject (pure: which bundle belongs where) → keeper (the loop).
//! A replica makes a bundle known before it serves a certificate of it, and a new CA joins the old one in the bundle
//! (PL-B5): at no time does a replica serve what the API server does not trust.

mod decide;
mod inject;
mod issue;
mod keeper;
mod material;
mod store;

pub use decide::{Policy, Step, next};
pub use inject::{Address, Endpoint, Owned, Selection, Selections, configured, converted, selected};
pub use keeper::{Configuration, Keeper, State};
pub use material::{Data, Material};
pub use store::{Location, StoreError, read_object, replace_object};

/// New certificates for a name, as tests need them.
#[cfg(test)]
pub(crate) fn fresh(name: &str) -> Material {
    let now = crate::clock::Clock::system().now();
    Material::read(&issue::rotate("", name, now).unwrap_or_default())
}
