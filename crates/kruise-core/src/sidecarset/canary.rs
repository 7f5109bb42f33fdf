//! Canary sets: one that stands in for its base where both match (SS-24).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::object::SidecarSet;

/// Without the bases of canaries among them.
pub fn without_bases(matched: Vec<Arc<SidecarSet>>) -> Vec<Arc<SidecarSet>> {
    let bases: BTreeSet<String> = matched.iter().filter_map(|set| set.base()).map(str::to_owned).collect();
    if bases.is_empty() {
        return matched;
    }
    matched.into_iter().filter(|set| !bases.contains(set.name().as_ref())).collect()
}
