//! Requests to the node agent (ST-13, ST-14) and sidecars that come back (T1).

use super::*;
use crate::chain::EventKind;
use crate::containerrecreaterequest::ContainerRecreateRequest;
use crate::fixtures::at;
use crate::lookup::{Lookup, Memory};

fn usual() -> Job {
    job("OnFailure").main(&done(0)).sidecar("side", &[BY_AGENT], &runs())
}

#[test]
fn st_14_request_has_the_known_name_owner_and_strategy() {
    let plan = usual().plan();
    let body = plan.writes().next().unwrap().created().unwrap();
    assert_eq!(body["apiVersion"], "apps.kruise.io/v1beta1");
    assert_eq!(body["metadata"]["name"], "sidecar-termination-uid-p");
    let owner = &body["metadata"]["ownerReferences"][0];
    let expected = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": true, "blockOwnerDeletion": true});
    assert_eq!(*owner, expected, "sidecarterminator/T11");
    assert_eq!(body["spec"]["podName"], "p");
    assert_eq!(body["spec"]["strategy"], json!({"forceRecreate": true, "failurePolicy": "Ignore"}));
    assert!(body["spec"].get("activeDeadlineSeconds").is_none());
    assert_eq!(body["spec"]["ttlSecondsAfterFinished"], 3_600, "sidecarterminator/T7");
    let told = plan.chains[0].done.clone().unwrap();
    assert!(told.message.ends_with("side using crr"), "{}", told.message);
}

/// Scenarios 16 and 20: also one that the original has made.
#[test]
fn st_13_request_that_is_there_is_enough() {
    let plan = usual().request(None).plan();
    assert_eq!((acts(&plan), plan.events.len()), (Vec::new(), 0));
    assert!(plan.reason_of("p").unwrap().to_string().contains("node agent"));
}

/// Scenario 12.
#[test]
fn sidecarterminator_t1_sidecar_that_comes_back_is_stopped_again_and_the_job_ends() {
    let back = usual().request(Some("2026-01-01T00:00:00Z"));
    let early = back.plan_at(at("2026-01-01T00:00:09Z"));
    assert_eq!((acts(&early), early.revisit_at), (Vec::new(), Some(at("2026-01-01T00:00:10Z"))));

    let again = back.plan_at(at("2026-01-01T00:00:10Z"));
    assert_eq!(again.writes().next().unwrap().object.name(), "sidecar-termination-uid-p-1");
    assert_eq!(again.events[0].kind, EventKind::Warning);
    assert!(again.events[0].message.contains("IGNORE_EXIT_CODE"), "{}", again.events[0].message);

    let thrice = back.request(Some("2026-01-01T00:01:00Z")).request(Some("2026-01-01T00:02:00Z"));
    assert_eq!(acts(&thrice.plan_at(at("2026-01-01T00:02:39Z"))), Vec::<String>::new());
    assert_eq!(acts(&thrice.plan_at(at("2026-01-01T00:02:40Z"))), ["Succeeded"]);
}

/// The names that are looked up; a node that is gone is no error.
#[test]
fn st_6_sidecarterminator_t6_view_finds_requests_and_does_without_a_node() {
    let mut stored = Memory::default();
    for name in ["sidecar-termination-uid-p", "sidecar-termination-uid-p-1", "other"] {
        let mut request = usual().request(None).requests.remove(0);
        request["metadata"]["name"] = json!(name);
        stored.put(Arc::new(ContainerRecreateRequest::read(&request)));
    }
    let mut object = usual().pod;
    object["metadata"]["namespace"] = json!("n");
    let pod = Arc::new(serde_json::from_value(object).unwrap());
    let seen = View::assemble(Arc::clone(&pod), &Lookup::new(&stored));
    assert_eq!((seen.requests.len(), seen.host), (2, Host::Ordinary));

    let node = json!({"metadata": {"name": "n1", "uid": "n1", "resourceVersion": "1", "labels": {"type": "virtual-kubelet"}}});
    stored.put(Arc::new(serde_json::from_value::<crate::cluster::node::Node>(node).unwrap()));
    assert_eq!(View::assemble(pod, &Lookup::new(&stored)).host, Host::Virtual);
}
