//! The list. Each function is one defect, as small as possible.

use http::{Method, StatusCode};
use kruise_api::labels::{REVISION, SPECIFIED_DELETE};
use serde_json::{Value, json};

use super::lens::{Ask, Lens, Sent, Sight};

/// One planted bug.
pub struct Bug {
    pub name: &'static str,
    /// Scenarios that are tried first.
    pub scenarios: &'static [&'static str],
    pub lens: Lens,
}

/// One of them by name.
pub fn find(name: &str) -> Option<&'static Bug> {
    all().iter().find(|bug| bug.name == name)
}

const fn asks(name: &'static str, scenarios: &'static [&'static str], lens: fn(&mut Ask) -> Sent) -> Bug {
    Bug { name, scenarios, lens: Lens::Asks(lens) }
}

const fn sees(
    name: &'static str,
    scenarios: &'static [&'static str],
    lens: fn(&str, &str, &mut Value) -> Sight,
) -> Bug {
    Bug { name, scenarios, lens: Lens::Sees(lens) }
}

const fn hears(
    name: &'static str,
    scenarios: &'static [&'static str],
    lens: fn(&mut StatusCode, &mut Value),
) -> Bug {
    Bug { name, scenarios, lens: Lens::Hears(lens) }
}

/// All of them.
pub fn all() -> &'static [Bug] {
    &ALL
}

static ALL: [Bug; 34] = [
    // Writes that are forgotten.
    asks("never stores a revision", &["in-place"], |ask| {
        unless(is(ask, Method::POST, "controllerrevisions"))
    }),
    asks("never writes the status", &["create"], |ask| unless(is_status_of_set(ask))),
    asks("never marks a pod unready", &["in-place"], |ask| unless(says(ask, "pods", "\"False\""))),
    asks("never marks a pod ready again", &["in-place"], |ask| unless(says(ask, "pods", "\"True\""))),
    asks("never changes a pod", &["in-place"], |ask| {
        unless(is(ask, Method::PATCH, "pods") && ask.part.is_empty())
    }),
    asks("never deletes a pod", &["scale-in"], |ask| unless(is(ask, Method::DELETE, "pods"))),
    asks("never creates a claim", &["claims"], |ask| unless(is(ask, Method::POST, "persistentvolumeclaims"))),
    // Writes that are wrong.
    asks("creates pods twice", &["scale-out"], creates_twice),
    asks("creates pods without owner", &["create"], |ask| {
        on(is(ask, Method::POST, "pods"), ask, |body| drop_key(&mut body["metadata"], "ownerReferences"))
    }),
    asks("creates pods without revision", &["create"], |ask| {
        on(is(ask, Method::POST, "pods"), ask, |body| {
            drop_key(&mut body["metadata"]["labels"], REVISION);
        })
    }),
    asks("creates pods of an old image", &["recreate"], |ask| {
        on(is(ask, Method::POST, "pods"), ask, |body| set(body, "/spec/containers/0/image", json!("nginx:1")))
    }),
    asks("patches another image", &["in-place"], |ask| {
        on(is(ask, Method::PATCH, "pods") && ask.part.is_empty(), ask, another_image)
    }),
    asks("counts one pod too many", &["create"], |ask| {
        on(is_status_of_set(ask), ask, |body| add_to(body, "/status/replicas", 1))
    }),
    asks("forgets which generation it saw", &["in-place"], |ask| {
        on(is_status_of_set(ask), ask, |body| drop_key(&mut body["status"], "observedGeneration"))
    }),
    asks("stores another template than it was given", &["rollback"], |ask| {
        on(is(ask, Method::POST, "controllerrevisions"), ask, |body| {
            set(body, "/data/spec/template/spec/containers/0/image", json!("nginx:1"));
        })
    }),
    asks("creates claims of another size", &["claims"], |ask| {
        on(is(ask, Method::POST, "persistentvolumeclaims"), ask, |body| {
            set(body, "/spec/resources/requests/storage", json!("2Gi"));
        })
    }),
    // Numbers that are read wrong.
    sees("one replica too many", &["create"], |plural, _, object| {
        spec(plural, object, |object| add_to(object, "/spec/replicas", 1))
    }),
    sees("one replica too few", &["create"], |plural, _, object| {
        spec(plural, object, |object| add_to(object, "/spec/replicas", -1))
    }),
    sees("ignores the partition", &["partition"], |plural, _, object| {
        spec(plural, object, |object| set(object, "/spec/updateStrategy/rollingUpdate/partition", json!(0)))
    }),
    sees("keeps one pod more than the partition", &["partition", "in-place"], |plural, _, object| {
        spec(plural, object, |object| {
            add_to(object, "/spec/updateStrategy/rollingUpdate/partition", 1);
        })
    }),
    sees("rounds maxUnavailable up", &["in-place", "recreate"], |plural, _, object| {
        spec(plural, object, |object| {
            add_to(object, "/spec/updateStrategy/rollingUpdate/maxUnavailable", 1);
            set(object, "/spec/podManagementPolicy", json!("Parallel"));
        })
    }),
    sees("rounds maxSurge up", &["surge"], |plural, _, object| {
        spec(plural, object, |object| add_to(object, "/spec/updateStrategy/rollingUpdate/maxSurge", 1))
    }),
    sees("replaces instead of updating in place", &["in-place"], |plural, _, object| {
        spec(plural, object, |object| {
            set(object, "/spec/updateStrategy/rollingUpdate/podUpdatePolicy", json!("ReCreate"));
        })
    }),
    sees("never sees a new image", &["in-place"], |plural, _, object| {
        spec(plural, object, |object| set(object, "/spec/template/spec/containers/0/image", json!("nginx:1")))
    }),
    sees("ignores pods that are to be deleted", &["specified"], |plural, _, object| {
        pods(plural, object, |pod| drop_key(&mut pod["metadata"]["labels"], SPECIFIED_DELETE))
    }),
    // Pods that are seen wrong.
    sees("takes every pod for ready", &["in-place", "recreate"], |plural, _, object| {
        pods(plural, object, |pod| conditions(pod, "True"))
    }),
    sees("takes no pod for ready", &["in-place"], |plural, _, object| {
        pods(plural, object, |pod| conditions(pod, "False"))
    }),
    sees("takes leaving pods for living ones", &["recreate", "scale-in"], |plural, _, object| {
        pods(plural, object, |pod| drop_key(&mut pod["metadata"], "deletionTimestamp"))
    }),
    sees("does not see pods before they are ready", &["create"], |plural, _, object| {
        hide(plural == "pods" && object["status"]["phase"] == "Pending")
    }),
    sees("forgets that pods went", &["specified", "recreate"], |plural, word, _| {
        hide(plural == "pods" && word == "DELETED")
    }),
    sees("never sees a revision", &["in-place"], |plural, _, _| hide(plural == "controllerrevisions")),
    sees("never sees a claim", &["claims"], |plural, _, _| hide(plural == "persistentvolumeclaims")),
    // Answers that are heard wrong.
    hears("does not wait for its own writes", &["create", "scale-out", "surge"], |_, answer| {
        if answer["metadata"]["resourceVersion"].is_string() {
            answer["metadata"]["resourceVersion"] = json!("0");
        }
    }),
    hears("takes refusals for successes", &["in-place", "create"], |code, answer| {
        if code.is_client_error() || code.is_server_error() {
            *code = StatusCode::OK;
            *answer = json!({"metadata": {"name": "x", "resourceVersion": "0"}});
        }
    }),
];

fn is(ask: &Ask, method: Method, plural: &str) -> bool {
    ask.method == method && ask.plural == plural
}

fn is_status_of_set(ask: &Ask) -> bool {
    matches!(ask.plural.as_str(), "clonesets" | "statefulsets") && ask.part == "status"
}

fn says(ask: &Ask, plural: &str, word: &str) -> bool {
    is(ask, Method::PATCH, plural) && ask.part == "status" && ask.body.to_string().contains(word)
}

fn unless(swallowed: bool) -> Sent {
    if swallowed { Sent::Never } else { Sent::Once }
}

fn on(applies: bool, ask: &mut Ask, change: fn(&mut Value)) -> Sent {
    if applies {
        change(&mut ask.body);
    }
    Sent::Once
}

/// The second one under another name, where names are drawn.
fn creates_twice(ask: &mut Ask) -> Sent {
    if !is(ask, Method::POST, "pods") {
        return Sent::Once;
    }
    drop_key(&mut ask.body["metadata"], "name");
    ask.body["metadata"]["generateName"] = json!("web-");
    Sent::Twice
}

fn another_image(body: &mut Value) {
    for operation in body.as_array_mut().into_iter().flatten() {
        if operation["path"].as_str().is_some_and(|path| path.ends_with("/image"))
            && operation["op"] != "test"
        {
            operation["value"] = json!("nginx:9");
        }
    }
}

fn spec(plural: &str, object: &mut Value, change: fn(&mut Value)) -> Sight {
    if matches!(plural, "clonesets" | "statefulsets") {
        change(object);
    }
    Sight::Shown
}

fn pods(plural: &str, object: &mut Value, change: fn(&mut Value)) -> Sight {
    if plural == "pods" {
        change(object);
    }
    Sight::Shown
}

fn hide(hidden: bool) -> Sight {
    if hidden { Sight::Hidden } else { Sight::Shown }
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

fn drop_key(object: &mut Value, key: &str) {
    if let Some(object) = object.as_object_mut() {
        object.shift_remove(key);
    }
}

fn conditions(pod: &mut Value, status: &str) {
    for condition in pod["status"]["conditions"].as_array_mut().into_iter().flatten() {
        condition["status"] = json!(status);
    }
}
