//! The manager dies (section 8.2: after each step, no duplicate action).

use serde_json::json;

use super::{Kind, web};
use crate::workload::crash::dies_after_every_write;

/// In order, with the hook and the conditions of an in-place update.
#[tokio::test]
async fn ordered_set_survives_a_death_after_every_write() {
    dies_after_every_write(Kind::StatefulSet, "ss-crash-ordered", web(2)).await;
}

/// In parallel, with claims that go with their pods: after the claim, after the pod, after the claim's owner.
#[tokio::test]
async fn parallel_set_with_claims_survives_a_death_after_every_write() {
    let policy =
        json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}});
    let object = web(2).parallel().spec(policy).spec(json!({"volumeClaimTemplates": [{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]}));
    dies_after_every_write(Kind::StatefulSet, "ss-crash-claims", object).await;
}
