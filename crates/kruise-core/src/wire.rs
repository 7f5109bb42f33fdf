//! Names on the wire that the brain reads or writes.

pub const CLAIM_TEMPLATE_HASH: &str = "kruise.io/cloneset-volumeclaimtemplate-hash";
