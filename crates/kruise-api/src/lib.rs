//! The API: types of every served version, conversions between them, wire constants, CRDs.
//!
//! Lives here: what travels on the wire and is stored in etcd.
//! Must not live here: anything that talks, decides or caches. Slim read models belong to the caches.

pub mod annotations;
pub mod conditions;
pub mod env;
pub mod finalizers;
pub mod labels;
pub mod names;
pub mod reasons;
