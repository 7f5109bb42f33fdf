//! StatefulSets as the original left them in the middle of work (AS-97, AS-98, AS-100).

use serde_json::json;

use super::{at_revision, names, text, uids};
use crate::workload::takeover::{reached_partition_goes_on, running_grace_goes_on};
use crate::workload::web::rolling;
use crate::workload::{Kind, Takeover};
use kube::ResourceExt;

/// AS-49, AS-97: a partition that is reached sees no write; lowering it goes on in place with the pods as they are.
#[tokio::test]
async fn ss_partition_that_is_reached() {
    reached_partition_goes_on(Kind::StatefulSet, "ss-partition").await;
}

/// AS-81, AS-82: retained claims of ordinals that are gone stay, and are used again.
#[tokio::test]
async fn ss_claims_of_a_smaller_set_stay_and_are_used_again() {
    let over = Takeover::of(Kind::StatefulSet, "ss-claims-scaled-in").await;
    over.begin().await;
    assert_eq!(over.writes(), []);
    over.nothing_moved().await;
    let claims = |all: Vec<k8s_openapi::api::core::v1::PersistentVolumeClaim>| {
        all.iter().map(|claim| claim.uid().unwrap()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = claims(over.web.claims_now().await);

    over.nodes_run();
    over.web.scale(3).await;

    let after = over.web.until_available(3).await;
    assert!(uids(&over.before).is_subset(&uids(&after)));
    assert_eq!(claims(over.web.claims_now().await), before);
    assert_eq!(over.web.revisions_now().await.len(), 1);
    over.end();
}

/// AS-60: a grace period that runs is neither cut short nor begun again.
#[tokio::test]
async fn ss_grace_period_that_runs() {
    running_grace_goes_on(Kind::StatefulSet, "ss-grace").await;
}

/// AS-22, AS-32: in the middle of an ordered start the next pod waits for the first to be available long enough; then the
/// others come up at the update revision and the first is updated last, in place.
#[tokio::test]
async fn ss_ordered_start_in_the_middle_of_an_update() {
    let over = Takeover::of(Kind::StatefulSet, "ss-ordered-middle").await;
    over.begin().await;
    over.nothing_moved().await;

    over.nodes_run();
    over.web.change(rolling(&json!({"minReadySeconds": 0}))).await;

    let (status, after) = over.web.until_updated(3).await;
    assert_eq!(names(&after), ["w-0", "w-1", "w-2"].map(str::to_owned).into());
    assert!(uids(&over.before).is_subset(&uids(&after)), "the first pod was never replaced");
    assert_eq!(status["updateRevision"], over.status["updateRevision"]);
    assert_eq!(at_revision(&after, text(&status, "updateRevision")), 3);
    over.end();
}
