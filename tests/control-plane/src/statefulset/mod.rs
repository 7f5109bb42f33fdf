//! StatefulSets on the real control plane: the acceptance scenarios of the specification, laid out as those of CloneSets.

mod claims;
mod crash;
mod denied;
mod expansion;
mod growth;
mod hooks;
mod large;
mod migrate;
mod ordinals;
mod pacing;
mod predownload;
mod scale;
mod stuck;
mod takeover;
mod update;

use kube::api::{Patch, PatchParams};
use serde_json::json;

pub use crate::workload::{statefulset as web, *};

/// A namespace of the shared cluster.
pub async fn statefulsets(name: &str) -> Sets {
    Sets::shared(Kind::StatefulSet, name).await
}

/// A namespace of the shared cluster whose manager runs with every alpha gate on.
pub async fn statefulsets_with_all_gates(name: &str) -> Sets {
    Sets::with_all_gates(Kind::StatefulSet, name).await
}

/// Names of the pods with these ordinals.
pub fn pods(ordinals: impl IntoIterator<Item = u32>) -> std::collections::BTreeSet<String> {
    ordinals.into_iter().map(|ordinal| format!("web-{ordinal}")).collect()
}

/// A node under pressure ends this pod.
pub async fn evict(web: &Live, pod: &str) {
    let status = json!({"status": {"phase": "Failed", "reason": "Evicted"}});
    web.pods.patch_status(pod, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}
