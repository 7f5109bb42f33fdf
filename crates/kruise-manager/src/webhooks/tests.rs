//! The list of entries and what is derived from it.

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::names::NAMESPACE;
use kruise_core::admission::{Request, Subresource};
use serde_json::{Value, json};

use super::entry::{Presence, Sort};
use super::simulated;
use super::*;

/// Section 7.1 of the platform's specification, without the groups: path, entry, resource, operations.
const OF_THE_SPECIFICATION: [(&str, &str, &str, &str); 10] = [
    ("/mutate-pod", "mpod.kb.io", "pods", "CREATE"),
    ("/mutate-apps-kruise-io-broadcastjob", "mbroadcastjob.kb.io", "broadcastjobs", "CREATE UPDATE"),
    ("/validate-apps-kruise-io-broadcastjob", "vbroadcastjob.kb.io", "broadcastjobs", "CREATE UPDATE"),
    (
        "/validate-apps-kruise-io-v1alpha1-ephemeraljob",
        "vephemeraljobs.kb.io",
        "ephemeraljobs",
        "CREATE UPDATE",
    ),
    ("/mutate-apps-kruise-io-cloneset", "mcloneset.kb.io", "clonesets", "CREATE UPDATE"),
    ("/mutate-apps-kruise-io-statefulset", "mstatefulset.kb.io", "statefulsets", "CREATE UPDATE"),
    ("/validate-apps-kruise-io-cloneset", "vcloneset.kb.io", "clonesets", "CREATE UPDATE DELETE"),
    ("/validate-apps-kruise-io-statefulset", "vstatefulset.kb.io", "statefulsets", "CREATE UPDATE DELETE"),
    (
        "/validate-apps-kruise-io-persistentpodstate",
        "vpersistentpodstate.kb.io",
        "persistentpodstates",
        "CREATE UPDATE",
    ),
    ("/validate-pod", "vpod.kb.io", "pods", ""),
];

#[test]
fn entries_are_those_of_the_original() {
    let all: BTreeMap<String, Entry> =
        entries().into_iter().map(|entry| (entry.name.clone(), entry)).collect();
    assert_eq!(all.len(), entries().len(), "each name once");
    for (path, name, plural, operations) in OF_THE_SPECIFICATION {
        let entry = &all[name];
        let words: Vec<&str> = entry.rule.operations.iter().map(|operation| operation.text()).collect();
        assert_eq!((entry.paths[0].as_str(), entry.rule.plural), (path, plural));
        assert_eq!(words.join(" "), operations, "{name}");
        let sort = if name.starts_with('m') { Sort::Mutating } else { Sort::Validating };
        assert_eq!((entry.sort, entry.timeout_seconds), (sort, 30), "{name}");
    }
}

/// 7.1: also the paths that charts up to 1.8 call, and those of kinds that have no rules here yet.
#[tokio::test]
async fn every_path_of_the_original_is_served() {
    let cx = Arc::new(Context::for_tests());
    let served = routes(&cx);
    let kinds = |verb: &str, names: &[&str]| -> Vec<String> {
        let both =
            |kind: &&str| ["", "v1alpha1-"].map(|older| format!("/{verb}-apps-kruise-io-{older}{kind}"));
        names.iter().flat_map(both).collect()
    };
    let mutated = "advancedcronjob broadcastjob cloneset containerrecreaterequest daemonset imagelistpulljob imagepulljob nodeimage sidecarset statefulset uniteddeployment";
    let validated = "advancedcronjob broadcastjob cloneset daemonset ephemeraljob imagelistpulljob imagepulljob nodeimage persistentpodstate podprobemarker resourcedistribution sidecarset statefulset uniteddeployment workloadspread";
    let others = "/mutate-pod /validate-pod /validate-apps-deployment /validate-apps-replicaset /validate-apps-statefulset /validate-customresourcedefinition /validate-namespace /validate-service /validate-ingress /validate-policy-kruise-io-podunavailablebudget";
    let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
    let all = kinds("mutate", &words(mutated)).into_iter().chain(kinds("validate", &words(validated)));
    for path in all.chain(words(others).into_iter().map(str::to_owned)) {
        assert!(served.contains_key(&path), "{path}");
    }
    assert_eq!(served["/validate-apps-kruise-io-sidecarset"].resources, ["sidecarsets"], "labels of counts");
    assert_eq!(served["/mutate-apps-kruise-io-v1alpha1-cloneset"].resources, ["clonesets"]);
}

#[test]
fn every_kruise_resource_has_an_entry_or_is_known_to_have_none() {
    let webhooks = simulated::Webhooks::default();
    for crd in kruise_api::crd::all_crds() {
        let text = |at: &str| crd.pointer(at).and_then(Value::as_str).unwrap().to_owned();
        let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
        let mut request = Request::create(json!({"apiVersion": format!("{group}/v1beta1"), "kind": kind}));
        request.resource.plural = text("/spec/names/plural");
        for sort in [Sort::Mutating, Sort::Validating] {
            assert!(webhooks.asked(sort, &request).is_ok(), "{kind}");
        }
    }
    let entries = entries();
    for one in not_yet::not_yet() {
        assert!(!entries.iter().any(|entry| entry.is_about(one.group, one.plural)), "{one:?} has rules");
    }
}

#[test]
fn simulated_admission_fails_for_a_kruise_resource_that_was_forgotten() {
    let webhooks = simulated::Webhooks::default();
    let asked = |api_version: &str, kind: &str| {
        let request = Request::create(json!({"apiVersion": api_version, "kind": kind}));
        webhooks.asked(Sort::Validating, &request).map(|all| all.len())
    };
    for group in ["apps.kruise.io/v1beta1", "policy.kruise.io/v1beta1"] {
        let forgotten = asked(group, "Novelty").map_err(|error| error.to_string()).unwrap_err();
        assert!(forgotten.contains("noveltys"), "{forgotten}");
    }
    assert_eq!(asked("v1", "ConfigMap").unwrap(), 0, "of others, only what an entry names");
    assert_eq!(asked("apps.kruise.io/v1beta1", "CloneSet").unwrap(), 1);
    assert_eq!(asked("apps.kruise.io/v1beta1", "WorkloadSpread").unwrap(), 0);
}

#[test]
fn entry_is_asked_by_its_rule_alone() {
    let webhooks = simulated::Webhooks::default();
    let names = |sort: Sort, request: &Request| -> Vec<&str> {
        webhooks.asked(sort, request).unwrap().iter().map(|entry| entry.name.as_str()).collect()
    };
    let set = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet"});
    assert_eq!(names(Sort::Mutating, &Request::create(set.clone())), ["mcloneset.kb.io"]);
    assert_eq!(names(Sort::Mutating, &Request::delete(set.clone())), Vec::<&str>::new());
    assert_eq!(names(Sort::Validating, &Request::delete(set.clone())), ["vcloneset.kb.io"]);
    let status = Request::update(set.clone(), set).to(Subresource::Status);
    assert_eq!(names(Sort::Validating, &status), Vec::<&str>::new());
    let pod = json!({"apiVersion": "v1", "kind": "Pod"});
    assert_eq!(names(Sort::Mutating, &Request::create(pod)), ["mpod.kb.io"]);
}

/// Validation of pods has no step yet: the original's entries are answered, and none is installed.
#[test]
fn entries_without_a_step_are_not_installed() {
    let foreign: Vec<String> = entries()
        .into_iter()
        .filter(|entry| entry.presence == Presence::Foreign)
        .map(|entry| entry.name)
        .collect();
    assert_eq!(foreign, ["vpod.kb.io", "vpodeviction.kb.io"]);
    assert_eq!(configuration::live(), ["mpod.kb.io"]);
    let installed = |all: Vec<Value>| -> BTreeSet<String> {
        all.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(installed(configuration::validating(NAMESPACE)).iter().all(|name| !foreign.contains(name)));
    assert!(installed(configuration::mutating(NAMESPACE)).contains("mpod.kb.io"));
}

/// A pod is patched on creation only, with what the manager's context knows.
#[tokio::test]
async fn pw_1_pod_is_patched_on_creation_only() {
    let cx = Context::for_tests();
    let mutating = entries().into_iter().find(|entry| entry.name == "mpod.kb.io").unwrap();
    let owner = json!({"apiVersion": "apps.kruise.io/v1beta1", "controller": true});
    let pod = json!({"metadata": {"ownerReferences": [owner]}, "spec": {"containers": []}});
    let answer = |request: Request| cx.judge(&mutating.judge, request, &Live::default());

    assert_eq!(json!(answer(Request::create(pod.clone())).patch[0])["path"], "/spec/readinessGates");
    assert_eq!(answer(Request::update(pod.clone(), pod)), Answer::allowed());
}
