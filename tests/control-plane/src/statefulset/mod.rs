//! StatefulSets on the real control plane: the acceptance scenarios of the specification, laid out as those of CloneSets.

mod claims;
mod crash;
mod expansion;
mod growth;
mod hooks;
mod migrate;
mod ordinals;
mod predownload;
mod scale;
mod stuck;
mod takeover;
mod update;

use kruise_testbed::{scratch, scratch_with_all_gates};

pub use crate::workload::{statefulset as web, *};

/// A namespace of the shared cluster.
pub async fn statefulsets(name: &str) -> Sets {
    Sets::of(Kind::StatefulSet, scratch(name).await.unwrap())
}

/// A namespace of the shared cluster whose manager runs with every alpha gate on.
pub async fn statefulsets_with_all_gates(name: &str) -> Sets {
    Sets::of(Kind::StatefulSet, scratch_with_all_gates(name).await.unwrap())
}

/// Names of the pods with these ordinals.
pub fn pods(ordinals: impl IntoIterator<Item = u32>) -> std::collections::BTreeSet<String> {
    ordinals.into_iter().map(|ordinal| format!("web-{ordinal}")).collect()
}
