//! What a new pod gets.

use serde_json::{Value, json};

use super::{Case, NAMESPACE, World, new_pod, set};
use crate::admission::selection::{Concern, Namespaces};
use crate::admission::{Request, pod::PodSteps};
use crate::gates::{Gate, Gates};
use crate::sidecarset::inject::pod_step;

fn names(pod: &Value, list: &str) -> Vec<String> {
    let items = pod["spec"][list].as_array().cloned().unwrap_or_default();
    items.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

fn container(pod: &Value, name: &str) -> Value {
    let all = ["containers", "initContainers"]
        .map(|list| pod["spec"][list].as_array().cloned().unwrap_or_default());
    all.concat().into_iter().find(|one| one["name"] == name).unwrap()
}

fn sidecar(name: &str, more: Value) -> Value {
    let mut one = json!({"name": name, "image": "side:1"});
    super::merge(&mut one, more);
    one
}

/// SS-25, 8.1 no. 1.
#[test]
fn ss_25_pod_that_no_set_selects_stays_as_it_is() {
    let pod = new_pod(json!({"metadata": {"labels": {"app": "other"}}}));
    assert!(World::of(&[&set("s", json!({}))]).ask(&pod).patch.is_empty());
}

/// SS-19: what goes wrong denies the pod with 500 and changes nothing; what goes well is one patch, or none.
#[test]
fn ss_19_errors_deny_with_500_and_no_change_is_no_patch() {
    let by_label = set("s", json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}));
    let (lost, _) = pinned(json!({"revisionName": "s-gone"}), json!({}));
    for world in [World::of(&[&by_label]), lost] {
        let answer = world.ask(&new_pod(json!({})));
        assert_eq!((answer.code(), answer.patch.len()), (500, 0), "{answer:?}");
    }
    let world = World::of(&[&set("s", json!({}))]);
    let answer = world.ask(&new_pod(json!({})));
    assert_eq!((answer.code(), answer.patch.is_empty()), (200, false));
    let stranger = world.ask(&new_pod(json!({"metadata": {"labels": {"app": "other"}}})));
    assert_eq!((stranger.code(), stranger.patch.len()), (200, 0));
}

/// SS-21, SS-42.
#[test]
fn ss_21_ss_42_pods_that_are_over_and_updates_get_nothing() {
    let world = World::of(&[&set("s", json!({}))]);
    for over in [
        json!({"status": {"phase": "Failed"}}),
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    ] {
        assert!(world.ask(&new_pod(over)).patch.is_empty());
    }
    let pod = new_pod(json!({}));
    let steps = PodSteps::new([pod_step()]);
    assert!(steps.mutate(&Request::update(pod.clone(), pod), &world.around.known()).patch.is_empty());
}

/// SS-23: paused sets, empty selectors and other namespaces; B3: a name needs no Namespace object, labels do.
#[test]
fn ss_23_sidecarset_b3_namespaces_decide_and_what_is_unknown_denies() {
    let by_name =
        set("s", json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}));
    assert_eq!(names(&World::of(&[&by_name]).create(new_pod(json!({}))), "containers"), ["side", "main"]);
    let elsewhere = new_pod(json!({"metadata": {"namespace": "mail"}}));
    assert!(World::of(&[&by_name]).ask(&elsewhere).patch.is_empty());
    let by_label = set("s", json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}));
    let world = World::of(&[&by_label]);
    assert!(world.refused(&new_pod(json!({}))).contains("not known yet"));
    assert!(world.namespace("shop", json!({"team": "b"})).ask(&new_pod(json!({}))).patch.is_empty());
    let world_again = World::of(&[&by_label]).namespace("shop", json!({"team": "a"}));
    assert_eq!(names(&world_again.create(new_pod(json!({}))), "containers"), ["side", "main"]);
    let paused = set("s", json!({"injectionStrategy": {"paused": true}}));
    assert!(World::of(&[&paused]).ask(&new_pod(json!({}))).patch.is_empty());
}

/// SS-32, SS-33, SS-22, B1, 8.1 no. 3.
#[test]
fn ss_22_ss_32_ss_33_sidecarset_b1_order_of_containers() {
    let many = json!({
        "containers": [sidecar("z", json!({})), sidecar("a", json!({"podInjectPolicy": "AfterAppContainer"}))],
        "initContainers": [{"name": "j", "image": "i"}, {"name": "b", "image": "i"}, {"name": "first", "image": "i", "podInjectPolicy": "BeforeAppContainer"}],
    });
    let everywhere = set("a-set", json!({"containers": [sidecar("e", json!({}))]}));
    let mut here = many.clone();
    super::merge(
        &mut here,
        json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}),
    );
    let here = set("z-set", here);
    let mut world = World::of(&[&everywhere, &here]);
    let pod = new_pod(json!({"spec": {"initContainers": [{"name": "own", "image": "i"}]}}));
    let created = world.create(pod.clone());
    assert_eq!(names(&created, "containers"), ["z", "e", "main", "a"], "sets of the namespace first");
    assert_eq!(names(&created, "initContainers"), ["first", "own", "b", "j"]);
    world.around.gates = Gates::default().with(Gate::EnableSortSidecarContainerByName);
    assert_eq!(names(&world.create(pod), "containers"), ["e", "z", "main", "a"]);
}

/// SS-34.
#[test]
fn ss_34_container_of_the_same_name_is_overwritten_in_its_place() {
    let pod = new_pod(
        json!({"spec": {"containers": [{"name": "x", "image": "x"}, {"name": "side", "image": "own"}, {"name": "main", "image": "m"}]}}),
    );
    let created = World::of(&[&set("s", json!({}))]).create(pod);
    assert_eq!(names(&created, "containers"), ["x", "side", "main"]);
    assert_eq!(container(&created, "side")["image"], "side:1");
}

/// SS-35, SS-36, 8.1 no. 4 and 5.
#[test]
fn ss_35_ss_36_mounts_are_shared_with_the_variables_that_they_need() {
    let sidecar = sidecar(
        "side",
        json!({
            "shareVolumePolicy": {"type": "enabled"}, "shareVolumeDevicePolicy": {"type": "enabled"},
            "volumeMounts": [{"name": "v", "mountPath": "/same"}], "env": [{"name": "POD", "value": "own"}],
        }),
    );
    let set = set(
        "s",
        json!({"containers": [sidecar], "volumes": [{"name": "v", "emptyDir": {}}, {"name": "unused", "emptyDir": {}}]}),
    );
    let pod = new_pod(json!({"spec": {
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [
            {"name": "main", "image": "m", "env": [{"name": "POD", "value": "p"}, {"name": "DIR", "value": "d"}, {"name": "OTHER", "value": "o"}],
             "volumeMounts": [{"name": "data", "mountPath": "/same"}, {"name": "data", "mountPath": "/d", "subPathExpr": "$(POD)/$(DIR)/$(9X)"}],
             "volumeDevices": [{"name": "data", "devicePath": "/dev/a"}, {"name": "data", "devicePath": "/d"}]},
            {"name": "injected", "image": "i", "env": [{"name": "IS_INJECTED", "value": "true"}], "volumeMounts": [{"name": "data", "mountPath": "/no"}]},
        ],
    }}));
    let created = World::of(&[&set]).create(pod);
    let side = container(&created, "side");
    assert_eq!(
        side["volumeMounts"],
        json!([
            {"name": "v", "mountPath": "/same"},
            {"name": "data", "mountPath": "/d", "subPathExpr": "$(POD)/$(DIR)/$(9X)"},
        ])
    );
    assert_eq!(side["volumeDevices"], json!([{"name": "data", "devicePath": "/dev/a"}]));
    let variables: Vec<&str> =
        side["env"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(variables, ["POD", "IS_INJECTED", "DIR"]);
    assert_eq!(side["env"][0]["value"], "own", "the first wins");
    let volumes: Vec<&str> = created["spec"]["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(volumes, ["data", "v"], "SS-38: only what is mounted");
}

/// SS-37, 8.1 no. 6 to 8.
#[test]
fn ss_37_variables_are_transferred_by_name_label_and_annotation() {
    for (from, more) in [
        (json!({"sourceContainerName": "main"}), json!({})),
        (
            json!({"sourceContainerNameFrom": {"fieldRef": {"fieldPath": "metadata.labels['from']"}}}),
            json!({"metadata": {"labels": {"from": "main"}}}),
        ),
        (
            json!({"sourceContainerName": "x", "sourceContainerNameFrom": {"fieldRef": {"fieldPath": "metadata.annotations['from']"}}}),
            json!({"metadata": {"annotations": {"from": "main"}}}),
        ),
    ] {
        let mut transfer = json!({"envName": "B", "envNames": ["A", "MISSING"]});
        super::merge(&mut transfer, from);
        let set = set("s", json!({"containers": [sidecar("side", json!({"transferEnv": [transfer]}))]}));
        let mut pod = new_pod(more);
        pod["spec"]["containers"][0]["env"] =
            json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]);
        let side = container(&World::of(&[&set]).create(pod), "side");
        let wanted = json!([{"name": "IS_INJECTED", "value": "true"}, {"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
        assert_eq!(side["env"], wanted);
    }
}

/// SS-38, SS-39.
#[test]
fn ss_38_ss_39_volumes_and_pull_secrets_of_the_pod_come_first() {
    let set = set(
        "s",
        json!({
            "containers": [sidecar("side", json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}))],
            "volumes": [{"name": "v", "emptyDir": {}}], "imagePullSecrets": [{"name": "b"}, {"name": "c"}],
        }),
    );
    let pod = new_pod(
        json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}], "imagePullSecrets": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}}),
    );
    let created = World::of(&[&set]).create(pod);
    assert_eq!(created["spec"]["volumes"], json!([{"name": "v", "hostPath": {"path": "/x"}}]));
    assert_eq!(created["spec"]["imagePullSecrets"], json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]));
}

/// SS-40, B17: notes of a template about other sets are dropped, and what cannot be read denies the pod.
#[test]
fn ss_40_sidecarset_b17_annotations_are_extended_and_foreign_entries_dropped() {
    let one = set("one", json!({}));
    let two = set("two", json!({"containers": [sidecar("second", json!({}))]}));
    let foreign = json!({"metadata": {"annotations": {
        "kruise.io/sidecarset-hash": "{\"gone\":{\"hash\":\"x\"}}", "kruise.io/sidecarset-injected-list": "gone",
    }}});
    let created = World::of(&[&one, &two]).create(new_pod(foreign));
    let annotations = &created["metadata"]["annotations"];
    assert_eq!(annotations["kruise.io/sidecarset-injected-list"], "one,two");
    let hashes: Value =
        serde_json::from_str(annotations["kruise.io/sidecarset-hash"].as_str().unwrap()).unwrap();
    assert_eq!(hashes.as_object().unwrap().keys().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(hashes["two"]["hash"], two["metadata"]["annotations"]["kruise.io/sidecarset-hash"]);
    assert_eq!(hashes["two"].get("controllerRevision"), None, "right after creation");
    let broken = new_pod(json!({"metadata": {"annotations": {"kruise.io/sidecarset-hash": "{"}}}));
    assert!(World::of(&[&one]).refused(&broken).contains("kruise.io/sidecarset-hash"));
}

/// SS-24, 8.1 no. 23.
#[test]
fn ss_24_canary_replaces_its_base() {
    let base = set("base", json!({}));
    let mut canary = set(
        "canary",
        json!({
            "containers": [sidecar("side", json!({"image": "side:2"}))], "updateStrategy": {"type": "NotUpdate"},
            "selector": {"matchLabels": {"app": "web", "track": "canary"}},
        }),
    );
    super::merge(
        &mut canary["metadata"],
        json!({"annotations": {"apps.kruise.io/sidecarset-canary": "true", "apps.kruise.io/sidecarset-base": "base"}}),
    );
    let world = World::of(&[&base, &canary]);
    let tracked = new_pod(json!({"metadata": {"labels": {"track": "canary"}}}));
    let created = world.create(tracked.clone());
    assert_eq!(container(&created, "side")["image"], "side:2");
    assert_eq!(created["metadata"]["annotations"]["kruise.io/sidecarset-injected-list"], "canary");
    assert_eq!(container(&world.create(new_pod(json!({}))), "side")["image"], "side:1");
    canary["spec"]["injectionStrategy"]["paused"] = json!(true);
    let paused = World::of(&[&base, &canary]).create(tracked);
    assert_eq!(container(&paused, "side")["image"], "side:1", "a paused canary does not hide its base");
}

/// SS-41, 8.1 no. 24.
#[test]
fn ss_41_hot_sidecar_is_injected_twice() {
    let hot = sidecar(
        "mesh",
        json!({"upgradeStrategy": {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"}}),
    );
    let created = World::of(&[&set("s", json!({"containers": [hot]}))]).create(new_pod(json!({})));
    assert_eq!(names(&created, "containers"), ["mesh-1", "mesh-2", "main"]);
    assert_eq!(container(&created, "mesh-2")["image"], "empty:1");
    let annotations = &created["metadata"]["annotations"];
    for (key, value) in [
        ("version.sidecarset.kruise.io/mesh-1", "1"),
        ("versionalt.sidecarset.kruise.io/mesh-1", "0"),
        ("version.sidecarset.kruise.io/mesh-2", "0"),
        ("versionalt.sidecarset.kruise.io/mesh-2", "1"),
        ("kruise.io/sidecarset-working-hotupgrade-container", "{\"mesh\":\"mesh-1\"}"),
    ] {
        assert_eq!(annotations[key], value, "{key}");
    }
}

fn with_policy(mode: &str, regex: &str, expressions: Value) -> Value {
    let mut policy = json!({"targetContainersMode": mode, "targetContainersNameRegex": regex});
    policy["resourcesExpr"] = expressions;
    set("s", json!({"containers": [sidecar("side", json!({"resourcesPolicy": policy}))]}))
}

fn with_resources(containers: Value) -> Value {
    let mut pod = json!({"spec": {}});
    pod["spec"]["containers"] = containers;
    new_pod(pod)
}

/// SS-43 … SS-45, 8.1 no. 27 to 34.
#[test]
fn ss_43_ss_44_ss_45_resources_follow_from_the_targets() {
    let pod = with_resources(json!([
        {"name": "large-engine", "image": "x", "resources": {"limits": {"cpu": "200m", "memory": "400Mi"}, "requests": {"cpu": "100m", "memory": "200Mi"}}},
        {"name": "small-engine", "image": "x", "resources": {"limits": {"cpu": "100m", "memory": "200Mi"}, "requests": {"cpu": "50m"}}},
        {"name": "other", "image": "x"},
    ]));
    let half = json!({"limits": {"cpu": "cpu*50%", "memory": "memory*50%"}, "requests": {"cpu": "cpu*50%", "memory": "memory*50%"}});
    let resources = |mode: &str, regex: &str| {
        container(&World::of(&[&with_policy(mode, regex, half.clone())]).create(pod.clone()), "side")["resources"].clone()
    };
    assert_eq!(
        resources("max", "^large.engine$"),
        json!({"limits": {"cpu": "100m", "memory": "200Mi"}, "requests": {"cpu": "50m", "memory": "100Mi"}})
    );
    assert_eq!(
        resources("sum", "engine"),
        json!({"limits": {"cpu": "150m", "memory": "300Mi"}, "requests": {"cpu": "75m", "memory": "100Mi"}})
    );
    assert_eq!(resources("max", "engine")["limits"]["cpu"], "100m");
    assert_eq!(resources("sum", ".*").get("limits"), None, "one without a limit is unlimited");
    assert_eq!(resources("sum", "^other$")["requests"], json!({"cpu": "0", "memory": "0"}));
    let constant =
        with_policy("sum", ".*", json!({"limits": {"memory": "200Mi"}, "requests": {"memory": "100Mi"}}));
    let side = container(&World::of(&[&constant]).create(pod.clone()), "side");
    assert_eq!(
        side["resources"],
        json!({"requests": {"memory": "100Mi"}}),
        "also a constant limit is skipped"
    );
    let nobody = World::of(&[&with_policy("sum", "nobody", half.clone())]).refused(&pod);
    assert!(nobody.contains("nobody") && nobody.contains("\"s\""), "{nobody}");
    let second = set(
        "t",
        json!({"containers": [{"name": "engine-side", "image": "x", "resources": {"limits": {"cpu": "9"}}}]}),
    );
    let both = World::of(&[&with_policy("sum", "engine", half), &second]).create(pod);
    assert_eq!(
        container(&both, "side")["resources"]["limits"]["cpu"],
        "150m",
        "other sidecars are no targets"
    );
}

/// SS-48, 8.2 no. 50.
#[test]
fn ss_48_metadata_is_patched_by_policy() {
    let patch =
        |policy: &str, key: &str, value: &str| json!({"patchPolicy": policy, "annotations": {key: value}});
    let set = set(
        "s",
        json!({"patchPodMetadata": [
            patch("Retain", "keep", "new"), patch("Retain", "absent", "new"), patch("Overwrite", "over", "new"),
            patch("MergePatchJson", "json", "{\"b\":{\"c\":2},\"gone\":null}"), patch("MergePatchJson", "fresh", "{\"x\":1}"),
        ]}),
    );
    let pod = new_pod(
        json!({"metadata": {"annotations": {"keep": "old", "over": "old", "json": "{\"b\":{\"a\":1},\"gone\":1}"}}}),
    );
    let annotations = World::of(&[&set]).create(pod)["metadata"]["annotations"].clone();
    for (key, value) in [
        ("keep", "old"),
        ("absent", "new"),
        ("over", "new"),
        ("json", "{\"b\":{\"a\":1,\"c\":2}}"),
        ("fresh", "{\"x\":1}"),
    ] {
        assert_eq!(annotations[key], value, "{key}");
    }
    let broken = new_pod(json!({"metadata": {"annotations": {"json": "no"}}}));
    assert!(World::of(&[&set]).refused(&broken).contains("annotation json"));
}

/// SS-31: a set without containers for this pod patches metadata only.
#[test]
fn ss_31_metadata_alone_is_kept() {
    let mut only = set("s", json!({"patchPodMetadata": [{"annotations": {"a": "b"}}]}));
    only["spec"]["containers"] = json!([]);
    let created = World::of(&[&only]).create(new_pod(json!({})));
    assert_eq!(created["metadata"]["annotations"], json!({"a": "b"}));
}

fn pinned(more: Value, partial: Value) -> (World, Value) {
    let mut case = Case::of(set("s", json!({"customVersion": "v1"})), 0);
    case.change("/containers/0/image", json!("side:2"));
    case.set["spec"]["customVersion"] = json!("v2");
    case.set["spec"]["injectionStrategy"]["revision"] = more;
    super::merge(&mut case.set["spec"]["updateStrategy"], partial);
    case.settle();
    let first = case.revisions[0].clone();
    let world = case.revisions.iter().fold(World::of(&[&case.set]), World::revision);
    (world, first)
}

/// SS-26 … SS-30, 8.1 no. 21 and 22; B4, B5.
#[test]
fn ss_27_ss_28_ss_29_ss_30_sidecarset_b4_sidecarset_b5_pinned_revisions_are_injected() {
    let image = |world: &World, pod: Value| container(&world.create(pod), "side")["image"].clone();
    let (world, first) = pinned(json!({"customVersion": "v1"}), json!({}));
    assert_eq!(image(&world, new_pod(json!({}))), "side:1");
    let created = world.create(new_pod(json!({})));
    let hashes: Value = serde_json::from_str(
        created["metadata"]["annotations"]["kruise.io/sidecarset-hash"].as_str().unwrap(),
    )
    .unwrap();
    assert_eq!(hashes["s"]["controllerRevision"], first["metadata"]["name"]);
    assert_eq!(hashes["s"]["hash"], first["metadata"]["annotations"]["kruise.io/sidecarset-hash"], "SS-30");

    let selected = json!({"selector": {"matchLabels": {"track": "canary"}}});
    let (canary, _) = pinned(json!({"customVersion": "v1", "policy": "Partial"}), selected);
    assert_eq!(image(&canary, new_pod(json!({}))), "side:1", "kept back by the selector");
    assert_eq!(image(&canary, new_pod(json!({"metadata": {"labels": {"track": "canary"}}}))), "side:2");
    let (partial, _) = pinned(json!({"customVersion": "v1", "policy": "Partial"}), json!({}));
    assert_eq!(image(&partial, new_pod(json!({}))), "side:2");
    for (partition, wanted) in [("100%", "side:1"), ("0%", "side:2")] {
        let (kept, _) =
            pinned(json!({"customVersion": "v1", "policy": "Partial"}), json!({"partition": partition}));
        assert_eq!(image(&kept, new_pod(json!({}))), wanted);
    }
    let (paused, _) = pinned(json!({"customVersion": "v1", "policy": "Partial"}), json!({"paused": true}));
    assert_eq!(image(&paused, new_pod(json!({}))), "side:1", "SS-28");

    let (gone, _) = pinned(json!({"revisionName": "s-gone"}), json!({}));
    assert!(gone.refused(&new_pod(json!({}))).contains("s-gone"));
    let (other, mut foreign) = pinned(json!({"revisionName": "foreign"}), json!({}));
    foreign["metadata"]["name"] = json!("foreign");
    foreign["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    assert!(other.revision(&foreign).ask(&new_pod(json!({}))).denial.is_some(), "B4: of another owner");
    assert_eq!(foreign["metadata"]["namespace"], NAMESPACE);
}

/// B6: fields that this release does not know stay where they are.
#[test]
fn sidecarset_b6_unknown_fields_stay_with_their_container() {
    let pod = with_resources(json!([{"name": "main", "image": "m", "newer": {"a": 1}}]));
    let set = set("s", json!({"containers": [sidecar("side", json!({"brandNew": true}))]}));
    let created = World::of(&[&set]).create(pod);
    assert_eq!(container(&created, "main")["newer"], json!({"a": 1}));
    assert_eq!(container(&created, "side")["brandNew"], json!(true));
    assert_eq!(container(&created, "side").get("newer"), None);
}

/// SS-17: which pods the API server has to ask about, for stored sets and for one that is about to be stored.
#[test]
fn ss_17_pods_of_sets_are_selected_before_and_after_they_are_stored() {
    let set =
        set("s", json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}));
    let world = World::of(&[&set]);
    let step = pod_step();
    let stored = (step.concerns)(world.around.lookup(), &Gates::default());
    assert_eq!(stored, (step.adds)(&Request::create(set.clone()), &Gates::default()));
    let one = stored.iter().next();
    let Some(Concern::Labelled { namespaces: Namespaces::Named(names), .. }) = one else {
        panic!("{stored:?}")
    };
    assert_eq!(names.iter().collect::<Vec<_>>(), ["shop"]);
    let alpha = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "SidecarSet", "metadata": {"name": "s"},
        "spec": {"namespace": "shop", "selector": {"matchLabels": {"app": "web"}}, "containers": []}});
    assert_eq!((step.adds)(&Request::create(alpha), &Gates::default()), stored, "the same in v1alpha1");
    let mut paused = set;
    paused["spec"]["injectionStrategy"]["paused"] = json!(true);
    assert!((step.adds)(&Request::create(paused), &Gates::default()).is_empty());
}

/// 8.2 no. 38: a replica that does not know all sets lets no pod pass.
#[test]
fn ss_38_of_8_2_replica_that_may_miss_a_set_denies() {
    let mut world = World::of(&[&set("s", json!({}))]);
    world.around.live.sidecarsets = Err("no answer".to_owned());
    assert!(world.refused(&new_pod(json!({}))).contains("no answer"));
}
