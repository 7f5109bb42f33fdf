use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::server::{Part, Server, Verb, resources};

/// A CloneSet of two pods, one of which may be down, and one is: who takes the other one out of service?
fn broken_when_drained_by(who: &'static str) -> (Vec<String>, u64) {
    let server = Server::new(1, Arc::new(|| Timestamp::UNIX_EPOCH));
    let ledger = Ledger::new(Duration::ZERO);
    server.lock().observe(Box::new(ledger.clone()));
    let kind = |group: &str, version: &str, plural: &str| resources::find(group, version, plural).unwrap();
    let (sets, pods) = (kind("apps.kruise.io", "v1beta1", "clonesets"), kind("", "v1", "pods"));
    let ask = |asker: &'static str, call: &Call| server.ask(asker, call).unwrap();
    let namespace = json!({"metadata": {"name": "default"}});
    ask("user", &Call::object(Verb::Create, kind("", "v1", "namespaces"), ("", ""), namespace));
    let containers = json!([{"name": "main", "image": "nginx:1"}]);
    let set = json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}},
        },
    });
    let uid =
        ask("user", &Call::object(Verb::Create, sets, ("default", ""), set)).object.unwrap().uid().to_owned();
    let ready = |name: &str, status: &str| {
        let body =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}});
        Call::object(Verb::MergePatch, pods, ("default", name), body).part(Part::Status)
    };
    for name in ["a", "b"] {
        let owner =
            json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "web", "uid": uid});
        let pod = json!({"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"containers": containers}});
        ask(manager::WHO, &Call::object(Verb::Create, pods, ("default", ""), pod));
    }
    ask("kubelet", &ready("a", "True"));

    ask(who, &ready("a", "False"));

    (ledger.broken(), ledger.late_ghosts())
}

#[tokio::test(start_paused = true)]
async fn budget_is_charged_for_a_ghost_but_not_for_a_late_one() {
    for who in [manager::WHO, GHOST] {
        let (broken, late) = broken_when_drained_by(who);
        assert_eq!((broken.len(), late), (1, 0), "{who}: {broken:?}");
        assert!(broken[0].contains("changing pod a leaves 0 in service"), "{broken:?}");
    }

    assert_eq!(broken_when_drained_by(LATE_GHOST), (Vec::new(), 1));
}
