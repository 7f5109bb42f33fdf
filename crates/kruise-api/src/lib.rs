//! The API: types of every served version, conversions between them, wire constants, CRDs.
//!
//! Lives here: what travels on the wire and is stored in etcd.
//! Must not live here: anything that talks, decides or caches. Slim read models belong to the caches.
//!
//! Start at `apps` (one folder per kind; the kind's `mod.rs` re-exports the hub version that planners use), `parts`
//! (what kinds share) and the constants. `read` is the way in, `convert` the way between versions, `crd` what the API
//! server is told.

pub mod annotations;
pub mod apps;
pub mod conditions;
mod convert;
pub mod crd;
pub mod env;
pub mod finalizers;
mod kind;
pub mod kubernetes;
pub mod labels;
pub mod names;
pub mod parts;
pub mod policy;
mod read;
pub mod reasons;
pub mod resource;
mod wire_enum;

pub use convert::{ConvertError, convert, convert_to};
pub use kind::Kind;
pub use read::{ReadError, read, read_part, read_value};
pub use resource::{Resource, Scope};
