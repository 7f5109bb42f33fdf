//! Revisions and pods as the original recorded them.

use super::*;
use crate::golden;
use crate::revision::gojson;

#[test]
fn as_9_as_10_as_11_first_revisions_match_the_recorded_ones_byte_by_byte() {
    let mut checked = 0;
    for (file, recorded) in golden::folder("statefulset") {
        let Some(wanted) = recorded["revisions"].get(0) else { continue };
        let plan = plan(&View::alone(&recorded["stored_v1beta1"], Vec::new(), Vec::new()), now());

        let body = plan.chains[0].writes[0].created().expect(&file);
        assert_eq!(body["metadata"]["name"], wanted["name"], "{file}");
        assert_eq!(body["metadata"]["labels"], wanted["labels"], "{file}");
        assert_eq!(body["revision"], wanted["revision"], "{file}");
        assert_eq!(gojson::in_order(&body["data"]), gojson::in_order(&wanted["data"]), "{file}");
        checked += 1;
    }
    assert!(checked >= 14, "{checked}");
}

#[test]
fn as_20_as_71_new_pods_have_the_recorded_shape() {
    let mut checked = 0;
    for (file, recorded) in golden::folder("statefulset") {
        let pod = &recorded["pod"];
        if !pod.is_object() {
            continue;
        }
        let view = View::alone(&recorded["stored_v1beta1"], Vec::new(), Vec::new());
        let first = plan(&view, now()).chains[0].writes[0].created().expect(&file);
        let mut view = view.with(Vec::new(), vec![Arc::new(Revision::read(&first).unwrap())]);
        view.gates = Gates::default().with(Gate::StatefulSetStartOrdinal);
        let plan = plan(&view, now());
        let made = plan
            .writes()
            .filter_map(crate::chain::Write::created)
            .find(|body| body["kind"] == "Pod" && body["metadata"]["name"] == pod["metadata"]["name"]);
        let made = made.unwrap_or_else(|| panic!("{file}: {:?}", plan.chains));
        let mut labels = pod["metadata"]["labels"].clone();
        // The API server copies it from the node when the pod is bound.
        labels.as_object_mut().unwrap().remove("topology.kubernetes.io/zone");
        assert_eq!(made["metadata"]["labels"], labels, "{file}");
        assert_eq!(made["metadata"]["generateName"], pod["metadata"]["generateName"], "{file}");
        for field in ["hostname", "subdomain", "readinessGates"] {
            assert_eq!(made["spec"][field], pod["spec"][field], "{file}: {field}");
        }
        let volumes = made["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        let recorded_volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        let names = |all: &[Value]| all.iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
        assert!(names(&recorded_volumes).starts_with(&names(&volumes)), "{file}");
        checked += 1;
    }
    assert!(checked >= 12, "{checked}");
}
