//! The list. Each is one defect, as small as possible.

use http::{Method, StatusCode};
use kruise_api::labels::SPECIFIED_DELETE;
use serde_json::{Value, json};

use super::lens::{Ask, Lens};
use crate::json::put;

/// One planted bug.
pub struct Bug {
    pub name: &'static str,
    /// Scenarios that are tried first.
    pub scenarios: &'static [&'static str],
    pub lens: Lens,
}

/// All of them.
pub fn all() -> &'static [Bug] {
    &ALL
}

const fn bug(name: &'static str, scenarios: &'static [&'static str], lens: Lens) -> Bug {
    Bug { name, scenarios, lens }
}

const fn forgets(name: &'static str, scenarios: &'static [&'static str], which: fn(&Ask) -> bool) -> Bug {
    bug(name, scenarios, Lens::Forgets(which))
}

/// Sees these objects otherwise.
const fn sees(
    name: &'static str,
    scenarios: &'static [&'static str],
    whose: &'static [&'static str],
    change: fn(&mut Value),
) -> Bug {
    bug(name, scenarios, Lens::Sees { whose, change })
}

const SETS: &[&str] = &["clonesets", "statefulsets"];
const PODS: &[&str] = &["pods"];

static ALL: [Bug; 39] = [
    // Writes that are forgotten.
    forgets("never stores a revision", &["in-place"], |ask| ask.is(&Method::POST, "controllerrevisions")),
    forgets("never writes the status", &["create"], is_status_of_set),
    forgets("never marks a pod unready", &["in-place"], |ask| says(ask, "\"False\"")),
    forgets("never marks a pod ready again", &["in-place"], |ask| says(ask, "\"True\"")),
    forgets("never changes a pod", &["in-place"], is_pod_patch),
    forgets("never deletes a pod", &["scale-in"], |ask| ask.is(&Method::DELETE, "pods")),
    forgets("never creates a claim", &["claims"], |ask| ask.is(&Method::POST, "persistentvolumeclaims")),
    // Writes that are wrong.
    bug("creates pods twice", &["scale-out"], Lens::Doubles { which: is_pod_creation, change: rename }),
    sends("creates pods without owner", &["create"], is_pod_creation, |body| {
        drop_key(body, "/metadata", "ownerReferences");
    }),
    sends("creates pods of an old image", &["recreate"], is_pod_creation, |body| {
        set(body, "/spec/containers/0/image", json!("nginx:1"));
    }),
    sends("patches another image", &["in-place"], is_pod_patch, another_image),
    sends("counts one pod too many", &["create"], is_status_of_set, |body| {
        add_to(body, "/status/replicas", 1);
    }),
    sends("forgets which generation it saw", &["in-place"], is_status_of_set, |body| {
        drop_key(body, "/status", "observedGeneration");
    }),
    sends("stores another template", &["rollback", "in-place"], is_revision_creation, |body| {
        set(body, "/data/spec/template/spec/containers/0/image", json!("nginx:1"));
    }),
    sends("creates claims of another size", &["claims"], is_claim_creation, |body| {
        set(body, "/spec/resources/requests/storage", json!("2Gi"));
    }),
    // Writes of controllers without pods of their own.
    sends("forgets where other pods ran", &["comes-back", "scaled"], is_record, |body| {
        for_first_record(body, |records, first| {
            // Only one way: two that drop each other would be written for ever.
            if first == "web-0" {
                records.insert("web-1".to_owned(), Value::Null);
            }
        });
    }),
    sends("records another node", &["comes-back"], is_record, |body| {
        for_first_record(body, |records, first| {
            records.insert(first.to_owned(), json!({"nodeName": "node-x"}));
        });
    }),
    sends(
        "opens all barriers at once",
        &["ordered"],
        |ask| ask.is(&Method::POST, "configmaps"),
        |body| {
            for key in ["p_0", "p_-1", "p_-2"] {
                put(body, "/data", key, "true");
            }
        },
    ),
    forgets("never opens the second barrier", &["ordered"], |ask| ask.is(&Method::PATCH, "configmaps")),
    forgets("never opens the readiness gate", &["bare"], |ask| says(ask, "KruisePodReady")),
    sends(
        "opens readiness gates with nothing",
        &["bare"],
        |ask| says(ask, "KruisePodReady"),
        |body| {
            conditions(body, "False");
        },
    ),
    // Numbers that are read wrong.
    sees("one replica too many", &["create"], SETS, |set| add_to(set, "/spec/replicas", 1)),
    sees("one replica too few", &["create"], SETS, |set| add_to(set, "/spec/replicas", -1)),
    sees("ignores the partition", &["partition"], SETS, |object| {
        set(object, "/spec/updateStrategy/rollingUpdate/partition", json!(0));
    }),
    sees("keeps one pod more than the partition", &["partition"], SETS, |set| {
        add_to(set, "/spec/updateStrategy/rollingUpdate/partition", 1);
    }),
    sees("rounds maxUnavailable up", &["in-place", "recreate"], SETS, |set| {
        add_to(set, "/spec/updateStrategy/rollingUpdate/maxUnavailable", 1);
    }),
    sees("rounds maxSurge up", &["surge"], SETS, |set| {
        add_to(set, "/spec/updateStrategy/rollingUpdate/maxSurge", 1);
    }),
    sees("replaces instead of updating in place", &["in-place"], SETS, |object| {
        set(object, "/spec/updateStrategy/rollingUpdate/podUpdatePolicy", json!("ReCreate"));
    }),
    sees("never sees a new image", &["in-place"], SETS, |object| {
        set(object, "/spec/template/spec/containers/0/image", json!("nginx:1"));
    }),
    // Pods that are seen wrong.
    sees("ignores pods that are to be deleted", &["specified"], PODS, |pod| {
        drop_key(pod, "/metadata/labels", SPECIFIED_DELETE);
    }),
    sees("takes every pod for ready", &["in-place", "recreate"], PODS, |pod| conditions(pod, "True")),
    sees("takes no pod for ready", &["in-place"], PODS, |pod| conditions(pod, "False")),
    sees("takes leaving pods for living ones", &["recreate", "scale-in"], PODS, |pod| {
        drop_key(pod, "/metadata", "deletionTimestamp");
    }),
    overlooks("does not see pods before they run", &["create"], |plural, _, object| {
        plural == "pods" && object.pointer("/status/phase") == Some(&json!("Pending"))
    }),
    overlooks("forgets that pods went", &["specified", "recreate"], |plural, word, _| {
        plural == "pods" && word == "DELETED"
    }),
    overlooks("never sees a revision", &["in-place"], |plural, _, _| plural == "controllerrevisions"),
    overlooks("never sees a claim", &["claims"], |plural, _, _| plural == "persistentvolumeclaims"),
    // Answers that are heard wrong.
    bug(
        "does not wait for its own writes",
        &["create", "scale-out", "surge"],
        Lens::Hears(|_, answer| set(answer, "/metadata/resourceVersion", json!("0"))),
    ),
    bug(
        "takes refusals for successes",
        &["in-place", "create"],
        Lens::Hears(|code, answer| {
            if code.is_client_error() || code.is_server_error() {
                *code = StatusCode::OK;
                *answer = json!({"metadata": {"name": "x", "resourceVersion": "0"}});
            }
        }),
    ),
];

const fn sends(
    name: &'static str,
    scenarios: &'static [&'static str],
    which: fn(&Ask) -> bool,
    change: fn(&mut Value),
) -> Bug {
    bug(name, scenarios, Lens::Sends { which, change })
}

const fn overlooks(
    name: &'static str,
    scenarios: &'static [&'static str],
    what: fn(&str, &str, &Value) -> bool,
) -> Bug {
    bug(name, scenarios, Lens::Overlooks(what))
}

fn is_pod_creation(ask: &Ask) -> bool {
    ask.is(&Method::POST, "pods")
}

fn is_pod_patch(ask: &Ask) -> bool {
    ask.is(&Method::PATCH, "pods") && ask.part.is_empty()
}

/// Where pods ran.
fn is_record(ask: &Ask) -> bool {
    ask.plural == "persistentpodstates" && ask.part == "status"
}

fn for_first_record(body: &mut Value, change: impl Fn(&mut serde_json::Map<String, Value>, &str)) {
    let records = body.pointer_mut("/status/podStates").and_then(Value::as_object_mut);
    if let Some((records, first)) =
        records.and_then(|all| all.keys().next().cloned().map(|first| (all, first)))
    {
        change(records, &first);
    }
}

fn is_revision_creation(ask: &Ask) -> bool {
    ask.is(&Method::POST, "controllerrevisions")
}

fn is_claim_creation(ask: &Ask) -> bool {
    ask.is(&Method::POST, "persistentvolumeclaims")
}

fn is_status_of_set(ask: &Ask) -> bool {
    SETS.contains(&ask.plural.as_str()) && ask.part == "status"
}

/// A change of a pod's conditions to this.
fn says(ask: &Ask, word: &str) -> bool {
    ask.is(&Method::PATCH, "pods") && ask.part == "status" && ask.body.to_string().contains(word)
}

/// The second one must have another name.
fn rename(body: &mut Value) {
    drop_key(body, "/metadata", "name");
    put(body, "/metadata", "generateName", "web-");
}

fn another_image(body: &mut Value) {
    for operation in body.as_array_mut().into_iter().flatten() {
        let path = operation.pointer("/path").and_then(Value::as_str).unwrap_or_default();
        if path.ends_with("/image") && operation.pointer("/op") != Some(&json!("test")) {
            set(operation, "/value", json!("nginx:9"));
        }
    }
}

/// Sets what is there; adds nothing.
fn set(object: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = object.pointer_mut(pointer) {
        *place = value;
    }
}

fn add_to(object: &mut Value, pointer: &str, more: i64) {
    if let Some(place) = object.pointer_mut(pointer)
        && let Some(number) = place.as_i64()
    {
        *place = json!((number + more).max(0));
    }
}

fn drop_key(object: &mut Value, parent: &str, key: &str) {
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.shift_remove(key);
    }
}

fn conditions(pod: &mut Value, status: &str) {
    let all = pod.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in all.into_iter().flatten() {
        set(condition, "/status", json!(status));
    }
}
