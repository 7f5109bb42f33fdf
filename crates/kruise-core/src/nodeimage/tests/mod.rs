//! Rules of NodeImage, and of the patches that jobs make.

mod admission;
mod plan;
mod sync;
