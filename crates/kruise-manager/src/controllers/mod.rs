//! One file per controller: what wakes it and how its view is assembled. Nothing here decides.

mod cloneset;

pub use cloneset::CloneSets;
