//! Objects of Kubernetes itself as planners read them; pods have a folder of their own.

pub mod claim;
pub mod meta;
pub mod namespace;
pub mod node;
pub mod quantity;
pub mod storage_class;
