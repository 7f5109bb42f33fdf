//! Many CloneSets at once.
//!
//! The specification's size (100 of 500 pods) takes this kind of machine the better part of an hour, because its API server makes
//! about 150 writes a second; here it is a five-hundredth of that, since other tests run beside it. How long a reconcile takes
//! is no matter for a test on a busy machine either: the benchmark measures both (docs/performance.md).

use futures::future::join_all;
use kruise_testbed::scratch;
use serde_json::json;

use super::{Kind, Live, Sets, web};
use crate::workload::Counted;
use crate::workload::web::image;

const SETS: usize = 10;
const PODS: u32 = 10;

/// Scenario 33: writes per updated pod are three and a bounded number of status writes.
#[tokio::test]
async fn scenario_33_many_clonesets_roll_out_side_by_side() {
    let scratch = scratch("many").await.unwrap();
    let counted = Counted::in_namespace(&scratch);
    let sets = Sets::of(Kind::CloneSet, scratch);
    let all: Vec<Live> = join_all((0..SETS).map(|number| {
        let name = format!("web-{number}");
        sets.create(web(PODS).named(&name).labelled(&name).rolling(&json!({"maxUnavailable": "20%"})))
    }))
    .await;
    join_all(all.iter().map(|set| set.until_available(PODS as usize))).await;
    let mark = counted.mark();

    join_all(all.iter().map(|set| set.change(image("nginx:1.26")))).await;
    join_all(all.iter().map(|set| set.until_updated(PODS as usize))).await;

    let writes = counted.since(mark);
    let pods = SETS as u64 * u64::from(PODS);
    assert!((3 * pods..=3 * pods + pods / 10).contains(&writes.of(" pods")), "{writes:?}");
    // A fifth of the pods at a time: five batches, and in each a pod goes down, is changed, comes back.
    let batches = 5 * SETS as u64;
    assert!(writes.of("clonesets/status") <= 4 * batches, "a few for each batch: {writes:?}");
}
