//! Container images made here, without an engine: a layer, a configuration and a manifest, the same bytes every time.
//!
//! [`Image`] says what is inside, [`Image::build`] makes the three blobs, [`standard`] is the set that the real nodes
//! of a test cluster find under the usual names; its only program is the test program ([`testapp`]).

mod image;
mod layer;
pub mod program;
mod reference;
pub mod reproduce;
pub mod shipped;
mod standard;
pub mod testapp;

pub use image::{BuiltImage, Digest, Image};
pub use reference::Reference;
pub use standard::{PAUSE, standard};
