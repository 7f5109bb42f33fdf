//! The recorded requests: every verb, patch type, endpoint and refusal that the manager relies on.
//!
//! `<namespace>`, `<uid of step>` and `<version of step>` are filled in per server.

use kruise_sim::server::Verb;
use serde_json::{Value, json};

pub struct Step {
    /// Later steps refer to its answer by this name.
    pub name: &'static str,
    pub verb: Verb,
    pub path: String,
    pub body: Option<Value>,
    pub accept: &'static str,
}

const PODS: &str = "/api/v1/namespaces/<namespace>/pods";
const CLAIMS: &str = "/api/v1/namespaces/<namespace>/persistentvolumeclaims";
const EVENTS: &str = "/api/v1/namespaces/<namespace>/events";
const REVISIONS: &str = "/apis/apps/v1/namespaces/<namespace>/controllerrevisions";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/<namespace>/leases";
const CLONESETS: &str = "/apis/apps.kruise.io/v1beta1/namespaces/<namespace>/clonesets";
const STATEFULSETS: &str = "/apis/apps.kruise.io/v1beta1/namespaces/<namespace>/statefulsets";

const WHOLE: &str = "application/json";
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

pub fn all() -> Vec<Step> {
    let pods =
        [pods(), pods_patched(), tests_for_nothing(), pod_parts(), pod_ends(), pods_resized_and_evicted()];
    let others = [claims(), revisions(), leases_and_events()];
    let ours = [clonesets(), clonesets_end(), statefulsets(), watches()];
    pods.into_iter().chain(others).chain(ours).flatten().collect()
}

fn step(name: &'static str, verb: Verb, path: impl Into<String>, body: Value) -> Step {
    let body = Some(body).filter(|body| !body.is_null());
    Step { name, verb, path: path.into(), body, accept: WHOLE }
}

fn briefly(step: Step) -> Step {
    Step { accept: METADATA_ONLY, ..step }
}

/// No scheduler takes it.
fn pod(metadata: &Value) -> Value {
    let container = json!({"name": "main", "image": "nginx:1.25", "ports": [{"containerPort": 80}]});
    let spec = json!({
        "schedulerName": "nobody", "containers": [container, {"name": "side", "image": "busybox"}],
        "readinessGates": [{"conditionType": "InPlaceUpdateReady"}],
    });
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn pods() -> Vec<Step> {
    use Verb::{Create, Get};
    let a = format!("{PODS}/a");
    vec![
        step("pod", Create, PODS, pod(&json!({"name": "a", "labels": {"one": "1"}, "generateName": "a-"}))),
        step("pod exists", Create, PODS, pod(&json!({"name": "a"}))),
        step("pod without a name", Create, PODS, pod(&json!({}))),
        step("pod with a bad name", Create, PODS, pod(&json!({"name": "A_"}))),
        step("pod of another namespace", Create, PODS, pod(&json!({"name": "x", "namespace": "default"}))),
        step("pod in no namespace", Create, "/api/v1/namespaces/nowhere/pods", pod(&json!({"name": "x"}))),
        step("pod tried", Create, format!("{PODS}?dryRun=All"), pod(&json!({"name": "tried"}))),
        step("pod tried is not there", Get, format!("{PODS}/tried"), Value::Null),
        step("pod that is not there", Get, format!("{PODS}/x"), Value::Null),
        step("pod read", Get, &*a, Value::Null),
        step(
            "pod without containers",
            Create,
            PODS,
            json!({"metadata": {"name": "x"}, "spec": {"containers": []}}),
        ),
        briefly(step("pod read briefly", Get, &*a, Value::Null)),
    ]
}

fn pods_patched() -> Vec<Step> {
    use Verb::{Get, JsonPatch, MergePatch};
    let a = format!("{PODS}/a");
    vec![
        briefly(step(
            "image by JSON patch",
            JsonPatch,
            &*a,
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "<uid of pod>"},
                {"op": "test", "path": "/spec/containers/0/name", "value": "main"},
                {"op": "replace", "path": "/spec/containers/0/image", "value": "nginx:1.26"},
                {"op": "add", "path": "/metadata/labels/two", "value": "2"},
            ]),
        )),
        step("image read", Get, &*a, Value::Null),
        step(
            "failed test",
            JsonPatch,
            &*a,
            json!([{"op": "test", "path": "/metadata/uid", "value": "other"}]),
        ),
        step(
            "old version",
            JsonPatch,
            &*a,
            json!([
                {"op": "test", "path": "/metadata/resourceVersion", "value": "<version of pod>"},
                {"op": "add", "path": "/metadata/labels/x", "value": "x"},
            ]),
        ),
        step("missing path", JsonPatch, &*a, json!([{"op": "remove", "path": "/metadata/labels/none"}])),
        step(
            "missing parent",
            JsonPatch,
            &*a,
            json!([{"op": "add", "path": "/metadata/annotations/a", "value": "b"}]),
        ),
        step("nothing changes", MergePatch, &*a, json!({"metadata": {"labels": {"two": "2"}}})),
        step("label by merge", MergePatch, &*a, json!({"metadata": {"labels": {"two": null, "three": "3"}}})),
        step(
            "merge with an old version",
            MergePatch,
            &*a,
            json!({"metadata": {"resourceVersion": "<version of pod>", "labels": {"x": "y"}}}),
        ),
        step(
            "merge with another uid",
            MergePatch,
            &*a,
            json!({"metadata": {"uid": "other", "labels": {"x": "y"}}}),
        ),
    ]
}

/// What a test for null says about what is not there.
fn tests_for_nothing() -> Vec<Step> {
    use Verb::JsonPatch;
    let a = format!("{PODS}/a");
    vec![
        step(
            "nothing is null",
            JsonPatch,
            &*a,
            json!([
                {"op": "test", "path": "/metadata/labels/absent", "value": null},
                {"op": "add", "path": "/metadata/labels/absent", "value": "x"},
            ]),
        ),
        step(
            "something is not null",
            JsonPatch,
            &*a,
            json!([{"op": "test", "path": "/metadata/labels/absent", "value": null}]),
        ),
        step(
            "nothing in nothing is not null",
            JsonPatch,
            &*a,
            json!([{"op": "test", "path": "/metadata/nothing/absent", "value": null}]),
        ),
        step(
            "beyond a list is not null",
            JsonPatch,
            &*a,
            json!([{"op": "test", "path": "/spec/containers/7", "value": null}]),
        ),
    ]
}

/// Status and spec, each by its endpoint.
fn pod_parts() -> Vec<Step> {
    use Verb::{Get, JsonPatch, MergePatch, StrategicPatch, Update};
    let (a, status) = (format!("{PODS}/a"), format!("{PODS}/a/status"));
    let condition = json!({"type": "InPlaceUpdateReady", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    vec![
        step(
            "condition by strategic patch",
            StrategicPatch,
            &*status,
            json!({
                "metadata": {"uid": "<uid of pod>", "labels": {"state": "Normal"}, "annotations": {"a": "b"}, "finalizers": ["kruise.io/x"]},
                "status": {"conditions": [condition]},
            }),
        ),
        step("strategic with another uid", StrategicPatch, &*status, json!({"metadata": {"uid": "other"}})),
        step(
            "finalizer taken off",
            StrategicPatch,
            &*a,
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["kruise.io/x"]}}),
        ),
        step(
            "condition by JSON patch",
            JsonPatch,
            &*status,
            json!([
                {"op": "test", "path": "/status/conditions/0/type", "value": "InPlaceUpdateReady"},
                {"op": "replace", "path": "/status/conditions/0/status", "value": "False"},
                {"op": "add", "path": "/status/conditions/-", "value": {"type": "Ready", "status": "False"}},
            ]),
        ),
        step(
            "status endpoint leaves the spec",
            MergePatch,
            &*status,
            json!({"spec": {"nodeName": "x"}, "status": {"phase": "Pending"}}),
        ),
        step(
            "spec endpoint leaves the status",
            MergePatch,
            &*a,
            json!({"metadata": {"labels": {"four": "4"}}, "status": {"phase": "Failed"}}),
        ),
        step("field that may not change", MergePatch, &*a, json!({"spec": {"hostNetwork": true}})),
        step(
            "update with an old version",
            Update,
            &*a,
            pod(&json!({"name": "a", "resourceVersion": "<version of pod>"})),
        ),
        step(
            "patch of nothing",
            MergePatch,
            format!("{PODS}/x"),
            json!({"metadata": {"labels": {"a": "b"}}}),
        ),
        step("pod at the end", Get, &*a, Value::Null),
    ]
}

/// Deletion in all its forms.
fn pod_ends() -> Vec<Step> {
    use Verb::{Create, Delete, Get, JsonPatch, MergePatch};
    let (a, bound) = (format!("{PODS}/a"), format!("{PODS}/bound"));
    let delete = json!({"preconditions": {"uid": "<uid of bound>"}, "propagationPolicy": "Background"});
    let target = json!({"apiVersion": "v1", "kind": "Node", "name": "nowhere"});
    let binding =
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bound"}, "target": target});
    vec![
        step("another uid", Delete, &*a, json!({"preconditions": {"uid": "other"}})),
        step(
            "an old version",
            Delete,
            &*a,
            json!({"preconditions": {"uid": "<uid of pod>", "resourceVersion": "<version of pod>"}}),
        ),
        briefly(step(
            "gone at once",
            Delete,
            &*a,
            json!({"preconditions": {"uid": "<uid of pod>"}, "propagationPolicy": "Background"}),
        )),
        step("gone before", Delete, &*a, Value::Null),
        step("bound", Create, PODS, pod(&json!({"name": "bound", "finalizers": ["kruise.io/x"]}))),
        step("binding", Create, format!("{bound}/binding"), binding.clone()),
        step("bound read", Get, &*bound, Value::Null),
        step("binding again", Create, format!("{bound}/binding"), binding),
        step("bound ends", Delete, &*bound, delete.clone()),
        step("ends again", Delete, &*bound, delete),
        step(
            "no new finalizer",
            MergePatch,
            &*bound,
            json!({"metadata": {"finalizers": ["kruise.io/x", "kruise.io/y"]}}),
        ),
        step(
            "held by its finalizer",
            Delete,
            &*bound,
            json!({"gracePeriodSeconds": 0, "preconditions": {"uid": "<uid of bound>"}}),
        ),
        step(
            "last finalizer",
            JsonPatch,
            &*bound,
            json!([
                {"op": "test", "path": "/metadata/finalizers/0", "value": "kruise.io/x"},
                {"op": "remove", "path": "/metadata/finalizers/0"},
            ]),
        ),
        step("gone with it", Get, &*bound, Value::Null),
    ]
}

fn pods_resized_and_evicted() -> Vec<Step> {
    use Verb::{Create, Get, StrategicPatch};
    let resized = json!({"resources": {"requests": {"cpu": "200m"}, "limits": {"cpu": "200m"}}});
    let mut sized = pod(&json!({"name": "sized"}));
    sized["spec"]["containers"] =
        json!([{"name": "main", "image": "nginx:1.25", "resources": {"limits": {"cpu": "100m"}}}]);
    vec![
        step("sized", Create, PODS, sized),
        step(
            "resized",
            StrategicPatch,
            format!("{PODS}/sized/resize"),
            json!({"spec": {"containers": [{"name": "main", "resources": resized["resources"]}]}}),
        ),
        step("sized read", Get, format!("{PODS}/sized"), Value::Null),
        step(
            "evicted",
            Create,
            format!("{PODS}/sized/eviction"),
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "sized"}}),
        ),
        step("sized is gone", Get, format!("{PODS}/sized"), Value::Null),
    ]
}

fn claims() -> Vec<Step> {
    use Verb::{Create, Delete, Get, JsonPatch, MergePatch};
    let one = format!("{CLAIMS}/data");
    // Of a class that nobody serves, so that it stays as it is.
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}});
    vec![
        step("claim", Create, CLAIMS, json!({"metadata": {"name": "data"}, "spec": spec})),
        step(
            "claim without modes",
            Create,
            CLAIMS,
            json!({"metadata": {"name": "x"}, "spec": {"resources": spec["resources"]}}),
        ),
        step("claim changed", MergePatch, &*one, json!({"spec": {"accessModes": ["ReadWriteMany"]}})),
        step(
            "claim owned",
            JsonPatch,
            &*one,
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "<uid of claim>"},
                {"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "<uid of claim>"}]},
                {"op": "remove", "path": "/metadata/ownerReferences"},
            ]),
        ),
        briefly(step(
            "claim ends",
            Delete,
            &*one,
            json!({"preconditions": {"uid": "<uid of claim>"}, "propagationPolicy": "Background"}),
        )),
        step("claim that is not there", Get, format!("{CLAIMS}/x"), Value::Null),
    ]
}

fn revisions() -> Vec<Step> {
    use Verb::{Create, Delete, Get, JsonPatch, MergePatch};
    let one = format!("{REVISIONS}/web-1");
    vec![
        step(
            "revision",
            Create,
            REVISIONS,
            json!({"metadata": {"name": "web-1", "labels": {"a": "b"}}, "data": {"spec": {"x": 1}}, "revision": 1}),
        ),
        step(
            "revision exists",
            Create,
            REVISIONS,
            json!({"metadata": {"name": "web-1"}, "data": {}, "revision": 2}),
        ),
        step(
            "revision counted",
            JsonPatch,
            &*one,
            json!([
                {"op": "test", "path": "/metadata/resourceVersion", "value": "<version of revision>"},
                {"op": "replace", "path": "/revision", "value": 3},
            ]),
        ),
        step("revision's data", MergePatch, &*one, json!({"data": {"spec": {"x": 2}}})),
        step("revision read", Get, &*one, Value::Null),
        step(
            "revision gone",
            Delete,
            &*one,
            json!({"preconditions": {"uid": "<uid of revision>"}, "propagationPolicy": "Background"}),
        ),
    ]
}

fn leases_and_events() -> Vec<Step> {
    use Verb::{Create, Get, Update};
    let time = "2026-01-01T00:00:00.000000Z";
    let one = format!("{LEASES}/leader");
    let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": time, "renewTime": time, "leaseTransitions": 0});
    let lease = |version: Value| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {"name": "leader", "namespace": "<namespace>", "resourceVersion": version},
        })
    };
    let involved =
        json!({"apiVersion": "v1", "kind": "Pod", "namespace": "<namespace>", "name": "a", "uid": "u"});
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1", "namespace": "<namespace>"},
        "involvedObject": involved, "type": "Normal", "reason": "SuccessfulCreate", "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "cloneset-controller"}, "reportingComponent": "cloneset-controller",
    });
    vec![
        step("no lease", Get, &*one, Value::Null),
        step("lease", Create, LEASES, lease(Value::Null)),
        step("lease exists", Create, LEASES, lease(Value::Null)),
        step("lease renewed", Update, &*one, lease("<version of lease>".into())),
        step("lease too late", Update, &*one, lease("1".into())),
        step("event", Create, EVENTS, event),
    ]
}

fn cloneset(metadata: &Value, more: &Value) -> Value {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]}});
    let mut spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": metadata, "spec": spec, "status": {"replicas": 9}})
}

/// Ours: made, refused, counted.
fn clonesets() -> Vec<Step> {
    use Verb::{Create, MergePatch, StrategicPatch};
    let (web, status) = (format!("{CLONESETS}/web"), format!("{CLONESETS}/web/status"));
    let counted = json!({"status": {
        "observedGeneration": 1, "replicas": 3, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 3,
        "updatedReadyReplicas": 1, "labelSelector": "app=web", "currentRevision": "web-1", "updateRevision": "web-1",
    }});
    vec![
        step("set", Create, CLONESETS, cloneset(&json!({"name": "web"}), &json!({"nonsense": {"a": 1}}))),
        step(
            "set of a wrong type",
            Create,
            CLONESETS,
            cloneset(&json!({"name": "x"}), &json!({"replicas": "three"})),
        ),
        step(
            "set with a wrong word",
            Create,
            CLONESETS,
            cloneset(&json!({"name": "x"}), &json!({"updateStrategy": {"type": "Never"}})),
        ),
        step(
            "set without a template",
            Create,
            CLONESETS,
            json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "x"}, "spec": {"replicas": 1}}),
        ),
        step(
            "set with nulls",
            Create,
            CLONESETS,
            cloneset(&json!({"name": "nulls"}), &json!({"lifecycle": null, "volumeClaimTemplates": null})),
        ),
        briefly(step("set counted", MergePatch, &*status, counted.clone())),
        step("set counted again", MergePatch, &*status, counted),
        step(
            "status leaves spec and labels",
            MergePatch,
            &*status,
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 7}}),
        ),
        step(
            "spec leaves status",
            MergePatch,
            &*web,
            json!({"spec": {"replicas": 4}, "status": {"replicas": 7}}),
        ),
        step("label is no generation", MergePatch, &*web, json!({"metadata": {"labels": {"a": "b"}}})),
        step("set patched wrongly", MergePatch, &*web, json!({"spec": {"replicas": "x"}})),
        step("strategic patch of a set", StrategicPatch, &*web, json!({"spec": {"replicas": 1}})),
    ]
}

/// Ours: changed by others, scaled, listed, deleted.
fn clonesets_end() -> Vec<Step> {
    use Verb::{Delete, Get, JsonPatch, MergePatch, Update};
    let (web, status, scale) =
        (format!("{CLONESETS}/web"), format!("{CLONESETS}/web/status"), format!("{CLONESETS}/web/scale"));
    vec![
        step(
            "set by JSON patch",
            JsonPatch,
            &*web,
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "<uid of set>"},
                {"op": "add", "path": "/spec/scaleStrategy", "value": {"podsToDelete": ["a", "b"]}},
            ]),
        ),
        step("set updated without a version", Update, &*web, cloneset(&json!({"name": "web"}), &json!({}))),
        step(
            "set updated too late",
            Update,
            &*web,
            cloneset(&json!({"name": "web", "resourceVersion": "<version of set>"}), &json!({})),
        ),
        step("scale", Get, &*scale, Value::Null),
        step("scaled", MergePatch, &*scale, json!({"spec": {"replicas": 5}})),
        step("set read", Get, &*web, Value::Null),
        step("sets", Get, CLONESETS, Value::Null),
        step("first page", Get, format!("{CLONESETS}?limit=1"), Value::Null),
        step(
            "kind that nobody serves",
            Get,
            "/apis/apps.kruise.io/v1beta1/namespaces/<namespace>/nothings",
            Value::Null,
        ),
        step("set deleted by another's uid", Delete, &*web, json!({"preconditions": {"uid": "other"}})),
        step("set deleted", Delete, &*web, json!({"propagationPolicy": "Background"})),
        step("set is gone", Get, &*web, Value::Null),
        step("patch of a set that is gone", MergePatch, &*status, json!({"status": {"replicas": 1}})),
    ]
}

fn statefulsets() -> Vec<Step> {
    use Verb::{Create, Delete, MergePatch};
    let template = json!({"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]}});
    let spec = json!({"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template});
    let head = json!({"metadata": {"name": "db"}, "spec": spec});
    let set = json!({"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "metadata": {"name": "db", "finalizers": ["kruise.io/x"]}, "spec": spec});
    let one = format!("{STATEFULSETS}/db");
    vec![
        step("stateful without its kind", Create, STATEFULSETS, head),
        step("stateful", Create, STATEFULSETS, set),
        step("stateful ends", Delete, &*one, json!({"propagationPolicy": "Background"})),
        step("stateful is let go", MergePatch, &*one, json!({"metadata": {"finalizers": null}})),
        step("stateful is gone", Verb::Get, &*one, Value::Null),
    ]
}

fn watches() -> Vec<Step> {
    use Verb::{Create, Delete, MergePatch, Watch};
    let query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=60";
    let one = format!("{REVISIONS}/w");
    vec![
        step(
            "watched",
            Create,
            REVISIONS,
            json!({"metadata": {"name": "w"}, "data": {"a": 1}, "revision": 1}),
        ),
        step(
            "all and then more",
            Watch,
            format!("{REVISIONS}?{query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            Value::Null,
        ),
        step("watched changes", MergePatch, &*one, json!({"revision": 2})),
        step("watched goes", Delete, &*one, Value::Null),
        step(
            "what happened since",
            Watch,
            format!("{REVISIONS}?{query}&resourceVersion=<version of watched>"),
            Value::Null,
        ),
        // Not from version 1: whether a busy server still knows that far back is not the same in two runs.
        step(
            "initial events without a match",
            Watch,
            format!("{REVISIONS}?{query}&sendInitialEvents=true"),
            Value::Null,
        ),
        step(
            "match without initial events",
            Watch,
            format!("{REVISIONS}?{query}&resourceVersionMatch=NotOlderThan&resourceVersion=1"),
            Value::Null,
        ),
        step(
            "all sets",
            Watch,
            format!("{CLONESETS}?{query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            Value::Null,
        ),
    ]
}
