//! Scenario 19: what OpenKruise left behind is continued without a new version of a tag.

use crate::fixtures::images::Cluster;
use crate::golden;
use crate::imagepulljob::ImagePullJob;
use crate::lookup::Slim;
use crate::object::ObjectRef;

#[test]
fn pj_15_recorded_job_sees_no_write() {
    let all = golden::folder("takeover");
    let (_, state) = all.into_iter().find(|(file, _)| file == "ip-always.json").unwrap();
    let mut cluster: Cluster = crate::fixtures::images::cluster(&[]);
    for object in state["objects"].as_array().unwrap().iter().filter(|one| one["kind"] != "Namespace") {
        cluster.put(object);
    }
    cluster.now = state["recorded_at"].as_str().and_then(crate::time::read).unwrap();
    let job = ObjectRef::new(ImagePullJob::RESOURCE, "to-ip-always", "j");
    let stored = cluster.get(&job).clone();
    let plan = cluster.plan_stored("to-ip-always", "j");
    assert_eq!(plan.writes().count(), 0, "{:?}", plan.writes().collect::<Vec<_>>());
    assert_eq!(stored["status"]["active"], 2);
    assert_eq!(
        plan.reason_of("fake-0002").unwrap().to_string(),
        "waiting for a slot: parallelism 2 of 2 in use"
    );
}
