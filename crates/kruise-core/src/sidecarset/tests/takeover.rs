//! Namespaces that OpenKruise left in the middle of work: nothing is written that its own controller would not write.

use serde_json::Value;

use super::Case;
use crate::admission::Request;
use crate::golden;
use crate::sidecarset::{SidecarSet, admission};

fn cases() -> Vec<(String, Case)> {
    let all = golden::folder("takeover").into_iter().filter(|(file, _)| file.starts_with("sc-"));
    all.map(|(file, recorded)| {
        let of = |kind: &str| {
            let objects = recorded["objects"].as_array().unwrap().iter();
            objects.filter(|one| one["kind"] == kind).cloned().collect::<Vec<Value>>()
        };
        let mut case = Case::of(of("SidecarSet").remove(0), 0);
        case.set = of("SidecarSet").remove(0);
        case.pods = of("Pod");
        case.revisions = of("ControllerRevision");
        case.namespaces = of("Namespace");
        (file, case)
    })
    .collect()
}

/// 8.2 no. 35: same status, same revision, no write to any pod.
#[test]
fn ss_35_taken_over_sets_are_continued_without_a_write() {
    let all = cases();
    assert_eq!(all.len(), 5);
    for (file, case) in all {
        let plan = case.plan();
        let writes: Vec<_> = plan.writes().collect();
        assert!(writes.is_empty(), "{file}: {writes:#?} {:?}", plan.reasons);
    }
}

/// 8.2 no. 36: our admission leaves what OpenKruise stored as it is.
#[test]
fn ss_36_stored_sets_pass_our_webhook_unchanged() {
    for (file, case) in cases() {
        assert!(SidecarSet::read(&case.set).spec.is_ok(), "{file}");
        let request = Request::update(case.set.clone(), case.set.clone());
        assert!(admission::mutate(&request).patch.is_empty(), "{file}");
    }
}
