//! ContainerRecreateRequest v1alpha1: snapshot and unready time are annotations, the live protocol with the node
//! agents of released upstream versions.

use k8s_openapi::jiff::Timestamp;
use schemars::Schema;
use serde_json::{Value, json};

use super::v1beta1::{
    ContainerRecreateRequestSpec, ContainerRecreateRequestStatus, ContainerSnapshot, RecreatePhase,
};
use crate::{
    annotations::{CRR_SYNC_CONTAINER_STATUSES, CRR_UNREADY_ACQUIRED},
    conditions::PRE_RECREATE_GRACE,
    convert::json::{Object, annotation, child, child_mut, set_annotation, text},
    crd::{
        older::{loosen, without},
        rules,
    },
    kind::kind,
    kubernetes::status,
    names::APPS_GROUP,
    read::read_part,
    reasons,
};

kind! {
    /// Asks the node agent to restart containers of a running pod.
    Namespaced ContainerRecreateRequest(APPS_GROUP, "v1alpha1", "containerrecreaterequests") {
        /// What is restarted. Cannot be changed.
        #[schemars(transform = rules::immutable, transform = older_spec)]
        spec: ContainerRecreateRequestSpec,
        #[schemars(transform = older_status)]
        status: ContainerRecreateRequestStatus,
    }
}

/// Released versions of the original take any number here.
fn older_spec(schema: &mut Schema) {
    loosen(schema, &["ttlSecondsAfterFinished"]);
    loosen(schema, &["strategy", "minStartedSeconds"]);
}

/// Agents of other releases may write other phases.
fn older_status(schema: &mut Schema) {
    without(schema, &[CONDITIONS, SNAPSHOT]);
    loosen(schema, &["phase"]);
    loosen(schema, &["containerRecreateStates", "*", "phase"]);
}

/// Status fields that this version does not have.
const CONDITIONS: &str = "conditions";
const SNAPSHOT: &str = "containerStatusSnapshot";

/// Annotations that can be read become status fields; they stay, because old agents read them.
pub(crate) fn up(object: &mut Object) {
    let snapshot = annotation(object, CRR_SYNC_CONTAINER_STATUSES).and_then(snapshot_of);
    let unready =
        annotation(object, CRR_UNREADY_ACQUIRED).filter(|time| time.parse::<Timestamp>().is_ok()).map(grace);
    if snapshot.is_none() && unready.is_none() {
        return;
    }
    let Some(status) = child_mut(object, "status") else {
        return;
    };
    // A status must have a phase; where there was none, nothing has begun.
    status.entry("phase").or_insert_with(|| json!(RecreatePhase::Pending));
    if let Some(snapshot) = snapshot {
        status.insert(SNAPSHOT.to_owned(), snapshot);
    }
    if let Some(unready) = unready {
        status.insert(CONDITIONS.to_owned(), json!([unready]));
    }
}

/// Status fields become annotations; conditions other than the one that has an annotation are kept aside.
pub(crate) fn down(object: &mut Object) {
    let Some(status) = child(object, "status") else {
        return;
    };
    let snapshot = status.shift_remove(SNAPSHOT);
    let conditions = status.shift_remove(CONDITIONS);
    if let Some(snapshot) = snapshot {
        set_annotation(object, CRR_SYNC_CONTAINER_STATUSES, &snapshot.to_string());
    }
    let holds =
        |condition: &&Value| condition["type"] == PRE_RECREATE_GRACE && condition["status"] == status::TRUE;
    let acquired = conditions.as_ref().and_then(Value::as_array).and_then(|all| all.iter().find(holds));
    if let Some(time) = acquired.and_then(|condition| condition.get("lastTransitionTime")) {
        set_annotation(object, CRR_UNREADY_ACQUIRED, &text(time));
    }
}

fn snapshot_of(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    read_part::<Vec<ContainerSnapshot>>(value.clone()).is_ok().then_some(value)
}

fn grace(time: &str) -> Value {
    json!({
        "type": PRE_RECREATE_GRACE,
        "status": status::TRUE,
        "lastTransitionTime": time,
        "reason": reasons::condition::PRE_RECREATE_GRACE,
        "message": reasons::PRE_RECREATE_GRACE_MESSAGE,
    })
}
