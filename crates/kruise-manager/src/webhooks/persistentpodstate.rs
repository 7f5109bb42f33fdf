//! Admission of PersistentPodStates (section 6 of their specification), and the way of a new pod to the object that places it.

use kruise_api::names::{CONFIGURATION, CONFIGURATION_PERSISTENT_POD_STATE};
use kruise_api::{Kind, apps::persistentpodstate, convert};
use kruise_core::admission::Faults;
use kruise_core::persistentpodstate::admission::{Known, validate as judge};
use kruise_core::persistentpodstate::placement::{chosen, place, target_of};
use kruise_core::persistentpodstate::{NotAWhitelist, Supported, Target};
use kruise_runtime::webhook::{Answer, Denial, Operation, Request};
use kube::Client;
use serde_json::Value;

use crate::objects::{index, target_entry};
use crate::stores::Stores;

/// Refuses what the schema cannot, always as a bad request.
pub fn validate(
    request: &Request,
    rival: Option<&str>,
    supported: &Result<Supported, NotAWhitelist>,
) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    let denial = match judged(request, rival, supported) {
        Ok(faults) => (!faults.is_empty()).then(|| refused(faults.to_string())),
        Err(error) => Some(refused(error)),
    };
    Answer { denial, ..Answer::default() }
}

/// Another object of the namespace with the same target; which of two came first does not matter here.
pub fn rival(stores: &Stores, request: &Request) -> Option<String> {
    let target = Target::read(request.object.pointer("/spec/targetRef").unwrap_or(&Value::Null));
    let found = stores.pod_states.by(index::TARGET, &target_entry(&request.namespace, &target));
    let mut names = found.iter().map(|one| one.meta.name.as_ref()).filter(|name| *name != request.name);
    names.next().map(str::to_owned)
}

/// The kinds that the administrator lists; asked for at each object, so that a change counts at once (D14).
pub async fn supported(client: &Client, namespace: &str) -> Result<Supported, NotAWhitelist> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{CONFIGURATION}");
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError);
    let asked = async { client.request::<Value>(request?).await };
    match asked.await {
        Ok(found) => {
            let list = found.pointer("/data").and_then(|data| data.get(CONFIGURATION_PERSISTENT_POD_STATE));
            Supported::read(list.and_then(Value::as_str))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Supported::default()),
        Err(error) => Err(NotAWhitelist::unread(&error)),
    }
}

/// Steers a new pod to where it was ready last (PP-17 … PP-25): one look-up by its owner, nothing for all other pods.
pub fn placed(stores: &Stores, namespace: &str, pod: &mut Value) {
    let Some(target) = target_of(pod, &stores.custom.supported()) else { return };
    let objects = stores.pod_states.by(index::TARGET, &target_entry(namespace, &target));
    if let Some(object) = chosen(objects.iter().map(|object| &object.object)) {
        place(pod, object);
    }
}

fn judged(
    request: &Request,
    rival: Option<&str>,
    supported: &Result<Supported, NotAWhitelist>,
) -> Result<Faults, String> {
    const HUB: &str = persistentpodstate::PersistentPodState::VERSION;
    let spec = |object: &Value| -> Result<Value, String> {
        let mut object = convert(object.clone(), HUB).map_err(|error| error.to_string())?;
        Ok(object.get_mut("spec").map(Value::take).unwrap_or_default())
    };
    let old = if request.old.is_null() { None } else { Some(spec(&request.old)?) };
    Ok(judge(&spec(&request.object)?, old.as_ref(), &Known { rival, supported }))
}

fn refused(message: String) -> Denial {
    Denial { code: 400, message, causes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::PersistentPodState;
    use crate::stores::Optional;
    use crate::webhooks::{Context, pods::mutate};
    use kruise_runtime::cache::Cached;

    fn object(version: &str, keys: &str) -> Value {
        json!({
            "apiVersion": format!("apps.kruise.io/{version}"), "kind": "PersistentPodState",
            "metadata": {"name": "web", "namespace": "n", "uid": "p", "resourceVersion": "1"},
            "spec": {
                "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
                "requiredPersistentTopology": {(keys): ["zone"]},
            },
            "status": {"podStates": {"web-0": {"nodeName": "a", "nodeTopologyLabels": {"zone": "z"}}}},
        })
    }

    fn request(name: &str, object: Value, old: Value) -> Request {
        let version = object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let operation = if old.is_null() { Operation::Create } else { Operation::Update };
        Request {
            operation,
            version,
            kind: "PersistentPodState".into(),
            namespace: "n".into(),
            name: name.into(),
            object,
            old,
        }
    }

    fn stores() -> Stores {
        let stores = Stores::new(Optional::default());
        let known = object("v1beta1", "keys").to_string();
        stores.caches().refresh(PersistentPodState::RESOURCE, &known).unwrap();
        stores
    }

    /// Section 6: both versions, code 400, one object per target.
    #[test]
    fn both_versions_are_judged_by_the_same_rules() {
        let supported = Ok(Supported::default());
        for (version, keys) in [("v1alpha1", "nodeTopologyKeys"), ("v1beta1", "keys")] {
            let good = request("web", object(version, keys), Value::Null);
            assert_eq!(
                validate(&good, rival(&stores(), &good).as_deref(), &supported),
                Answer::allowed(),
                "{version}"
            );

            let second = request("second", object(version, keys), Value::Null);
            let denial = validate(&second, rival(&stores(), &second).as_deref(), &supported).denial.unwrap();
            assert_eq!(denial.code, 400);
            assert!(denial.message.contains("web remembers the pods"), "{}", denial.message);

            let mut moved = object(version, keys);
            moved["spec"]["targetRef"]["name"] = json!("other");
            let moving =
                validate(&request("web", moved, object(version, keys)), None, &supported).denial.unwrap();
            assert!(moving.message.contains("cannot be changed"), "{}", moving.message);
        }
    }

    /// PP-25: only creation places a pod.
    #[tokio::test]
    async fn pp_25_change_of_a_pod_places_nothing() {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true});
        let pod = json!({"apiVersion": "v1", "metadata": {"name": "web-0", "ownerReferences": [owner]}, "spec": {}});
        let create = request("web-0", pod.clone(), Value::Null);
        let update = request("web-0", pod.clone(), pod);

        let cx = Context::for_tests(stores());
        assert!(!mutate(&create, &cx).patch.is_empty());
        assert_eq!(mutate(&update, &cx), Answer::allowed());
    }

    /// PP-17, PP-18: a pod is placed by the object of its owner's name and group, and only by that.
    #[test]
    fn pp_17_pod_finds_its_object_by_owner() {
        let pod = |api: &str| {
            let owner = json!({"apiVersion": api, "kind": "StatefulSet", "name": "web", "controller": true});
            json!({"metadata": {"name": "web-0", "ownerReferences": [owner]}, "spec": {}})
        };
        for (api, expected) in [("apps/v1", json!({"zone": "z"})), ("apps.kruise.io/v1beta1", Value::Null)] {
            let mut one = pod(api);
            placed(&stores(), "n", &mut one);
            assert_eq!(one["spec"]["nodeSelector"], expected, "{api}");
        }
    }
}
