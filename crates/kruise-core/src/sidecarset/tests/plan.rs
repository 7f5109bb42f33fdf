//! Upgrades of pods that run.

use serde_json::{Value, json};

use super::{Case, new_pod, run, set};
use crate::chain::{Act, Pace, Patch, Purpose};
use crate::gates::{Gate, Gates};
use crate::plan::Plan;
use crate::sidecarset::census::Member;

fn touched(plan: &Plan) -> Vec<String> {
    let chains = plan.chains.iter().filter(|chain| chain.purpose == Purpose::UpdateInPlace);
    chains.map(|chain| chain.item.as_ref().unwrap().name().to_owned()).collect()
}

fn why(plan: &Plan, pod: &str) -> String {
    plan.reason_of(pod).map(|reason| reason.name().to_owned()).unwrap_or_default()
}

fn rolling(more: Value) -> Value {
    let mut spec = json!({});
    spec["updateStrategy"] = more;
    set("s", spec)
}

/// SS-52 … SS-59, SS-70, SS-79 … SS-82: images, notes, condition and status of a rollout.
#[test]
fn ss_70_ss_79_ss_80_ss_82_an_image_change_reaches_all_pods() {
    let mut case = Case::of(set("s", json!({})), 2);
    assert_eq!(case.status(), [2, 2, 2, 2]);
    case.change("/containers/0/image", json!("side:2"));
    let first = case.plan();
    assert_eq!(touched(&first).len(), 0, "SS-53: the revision first");
    assert_eq!(why(&first, "p0"), "RevisionFirst");
    case.settle();
    assert_eq!(case.status(), [2, 2, 2, 2]);
    for pod in 0..2 {
        assert_eq!(case.image(pod, "side"), "side:2");
        assert_eq!(case.image(pod, "main"), "main:1", "nothing else is touched");
        let notes: Value = serde_json::from_str(&case.annotation(pod, "kruise.io/sidecarset-hash")).unwrap();
        assert_eq!(notes["s"]["hash"], case.set["metadata"]["annotations"]["kruise.io/sidecarset-hash"]);
        assert_eq!(notes["s"]["controllerRevision"], case.set["status"]["latestRevision"]);
        let state: Value =
            serde_json::from_str(&case.annotation(pod, "kruise.io/sidecarset-inplace-update-state")).unwrap();
        assert_eq!(state["s"]["lastContainerStatuses"], json!({"side": {"imageID": "sha256:side:1"}}));
        let conditions = case.pods[pod]["status"]["conditions"].as_array().unwrap();
        let said = conditions.iter().find(|one| one["type"] == "SidecarSetUpgradable").unwrap();
        assert_eq!(
            (&said["status"], &said["reason"], &said["message"]),
            (&json!("True"), &json!("AllSidecarsetUpgradable"), &json!("{\"s\":true}"))
        );
    }
    assert_eq!(case.revisions.len(), 2);
}

/// SS-78, 8.1 no. 11 and 17: a bad image stops at maxUnavailable, a good one goes on; a pod that is down is repaired for free.
#[test]
fn ss_78_bad_image_stops_at_max_unavailable() {
    let mut case = Case::of(rolling(json!({"maxUnavailable": "50%"})), 4);
    case.change("/containers/0/image", json!("side:bad"));
    case.settle();
    assert_eq!(case.status(), [4, 2, 2, 0]);
    assert_eq!(why(&case.plan(), "p3"), "MaxUnavailable");
    case.change("/containers/0/image", json!("side:3"));
    case.settle();
    assert_eq!(case.status(), [4, 4, 4, 4]);
    let mut one = Case::of(set("s", json!({})), 2);
    one.change("/containers/0/image", json!("side:bad"));
    one.settle();
    assert_eq!(one.status(), [2, 1, 1, 0], "one by default");
}

/// SS-72, SS-81, 8.1 no. 12.
#[test]
fn ss_72_more_than_images_makes_pods_not_upgradable() {
    let mut case = Case::of(
        set(
            "s",
            json!({"containers": [{"name": "side", "image": "side:1", "env": [{"name": "A", "value": "1"}]}]}),
        ),
        1,
    );
    case.change("/containers/0/env", json!([{"name": "A", "value": "2"}]));
    case.settle();
    assert_eq!(case.status(), [1, 0, 1, 0]);
    let plan = case.plan();
    assert_eq!(why(&plan, "p0"), "NotUpgradable");
    assert!(plan.events.iter().any(|event| event.reason == "NotUpgradablePods"));
    let conditions = case.pods[0]["status"]["conditions"].as_array().unwrap();
    let said = conditions.iter().find(|one| one["type"] == "SidecarSetUpgradable").unwrap();
    assert_eq!(
        (&said["status"], &said["reason"], &said["message"]),
        (&json!("False"), &json!("UpdateImmutableField"), &json!("{\"s\":false}"))
    );
    case.add("fresh", json!({}));
    case.change("/containers/0/image", json!("side:2"));
    case.settle();
    assert_eq!(case.status(), [2, 1, 2, 1]);
}

/// SS-53, 8.1 no. 14; SS-84: nothing moves while paused or with NotUpdate.
#[test]
fn ss_53_paused_and_not_update_leave_pods_alone() {
    for (strategy, reason) in
        [(json!({"paused": true}), "Paused"), (json!({"type": "NotUpdate"}), "NotUpdate")]
    {
        let mut case = Case::of(rolling(strategy), 2);
        case.change("/containers/0/image", json!("side:2"));
        case.settle();
        assert_eq!(case.status(), [2, 0, 2, 0]);
        assert_eq!(why(&case.plan(), "p0"), reason);
    }
}

/// SS-54: by the label of its name, in the namespace of the manager, its own or without an owner; the oldest first.
#[test]
fn ss_54_revisions_of_the_set_are_found_and_sorted() {
    let mut case = Case::of(set("s", json!({})), 0);
    let first = case.revisions[0].clone();
    let mut add = |name: &str, number: i64, created: &str, more: Value| {
        let mut one = first.clone();
        super::merge(
            &mut one,
            json!({"metadata": {"name": name, "uid": name, "creationTimestamp": created}, "revision": number}),
        );
        super::merge(&mut one, more);
        case.revisions.push(one);
    };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    add("s-b", 5, late, json!({}));
    add("s-c", 5, early, json!({}));
    add("s-a", 5, late, json!({}));
    add("s-orphan", 4, late, json!({"metadata": {"ownerReferences": []}}));
    add(
        "s-foreign",
        6,
        late,
        json!({"metadata": {"ownerReferences": [{"apiVersion": "apps.kruise.io/v1beta1", "uid": "another", "controller": true}]}}),
    );
    add("s-elsewhere", 7, late, json!({"metadata": {"namespace": "shop"}}));
    add("t-other", 8, late, json!({"metadata": {"labels": {"kruise.io/sidecarset-name": "t"}}}));

    let names: Vec<String> = case.view().revisions.iter().map(|one| one.name.to_string()).collect();

    let own = first["metadata"]["name"].as_str().unwrap();
    assert_eq!(names, [own, "s-orphan", "s-c", "s-a", "s-b"]);
}

/// SS-61: running, ready, not going, and of a hot sidecar the twin that does not work is empty.
#[test]
fn ss_61_pod_is_ready_when_it_serves_and_its_idle_twins_are_empty() {
    let is_ready = |case: &Case, more: Value| {
        let (view, mut pod) = (case.view(), case.pods[0].clone());
        super::merge(&mut pod, more);
        let pod = serde_json::from_value(pod).unwrap();
        Member::of(&pod, &view, &view.spec.as_ref().unwrap().sidecars).is_ready
    };
    let case = Case::of(hot(), 1);
    let (first, second) = (case.image(0, "mesh-1"), case.image(0, "mesh-2"));
    assert_eq!((first.as_str(), second.as_str()), ("mesh:1", "empty:1"));
    let twin =
        |image: &str| json!([{"name": "mesh-1", "image": "mesh:1"}, {"name": "mesh-2", "image": image}]);

    assert!(is_ready(&case, json!({})));
    assert!(!is_ready(&case, json!({"status": {"phase": "Pending"}})));
    assert!(!is_ready(&case, json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})));
    assert!(!is_ready(&case, json!({"metadata": {"deletionTimestamp": "2026-06-01T12:00:00Z"}})));
    assert!(is_ready(&case, json!({"spec": {"containers": twin("empty:1")}})));
    assert!(!is_ready(&case, json!({"spec": {"containers": twin("empty:2")}})));
}

/// SS-83, sidecarset/B13: unlike with the original, pods are upgraded side by side, and one that fails ends only its own upgrade.
#[test]
fn ss_83_upgrades_do_not_depend_on_each_other() {
    let mut case = Case::of(rolling(json!({"maxUnavailable": 3})), 3);
    case.change("/containers/0/image", json!("side:2"));
    let revision = case.plan();
    case.apply(&revision);

    let plan = case.plan();

    assert_eq!(touched(&plan), ["p0", "p1", "p2"]);
    let chains = plan.chains.iter().filter(|chain| chain.purpose == Purpose::UpdateInPlace);
    for chain in chains {
        assert_eq!((chain.pace, chain.failed), (Pace::Free, Some("FailedUpgrade")));
    }
}

/// sidecarset/B10: the partition counts waiting pods only, and a pod that is not ready is upgraded beyond maxUnavailable, as with the
/// original; every pod that stays old has its reason, and the condition counts those that will never move.
#[test]
fn sidecarset_b10_pods_that_stay_old_are_counted_with_their_reason() {
    let strategy = json!({"partition": 1, "maxUnavailable": 1});
    let env = |value: &str| json!([{"name": "A", "value": value}]);
    let sidecar = json!({"name": "side", "image": "side:1", "env": env("1")});
    let mut case = Case::of(set("s", json!({"containers": [sidecar], "updateStrategy": strategy})), 1);
    case.change("/containers/0/env", env("2"));
    case.settle();
    case.add("p1", json!({}));
    case.add("p2", json!({}));
    case.change("/containers/0/image", json!("side:2"));
    case.settle();

    assert_eq!(case.status(), [3, 1, 3, 1], "one of two waiting pods, not two of three");
    let plan = case.plan();
    assert_eq!(why(&plan, "p0"), "NotUpgradable");
    let kept: Vec<&str> = ["p1", "p2"].into_iter().filter(|pod| why(&plan, pod) == "Partition").collect();
    assert_eq!(kept.len(), 1);
    let conditions = case.set["status"]["conditions"].to_string();
    assert!(conditions.contains("NotUpgradable") && conditions.contains("1 of 3 pods"), "{conditions}");

    let mut down = Case::of(rolling(json!({"maxUnavailable": 1})), 3);
    down.change("/containers/0/image", json!("side:2"));
    let revision = down.plan();
    down.apply(&revision);
    for pod in &mut down.pods {
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    }
    assert_eq!(touched(&down.plan()).len(), 3);
}

/// SS-71, 8.1 no. 15.
#[test]
fn ss_71_only_selected_pods_are_upgraded() {
    let mut case = Case::of(rolling(json!({"selector": {"matchLabels": {"track": "canary"}}})), 1);
    case.add("c", json!({"metadata": {"labels": {"track": "canary"}}}));
    case.change("/containers/0/image", json!("side:2"));
    case.settle();
    assert_eq!((case.image(0, "side"), case.image(1, "side")), ("side:1".into(), "side:2".into()));
    assert_eq!(why(&case.plan(), "p0"), "NotSelected");
}

/// SS-77, 8.1 no. 16.
#[test]
fn ss_77_partition_keeps_pods_old() {
    for (partition, pods, updated) in [
        (json!("50%"), 2, 1),
        (json!(1), 3, 2),
        (json!("99%"), 2, 1),
        (json!("100%"), 2, 0),
        (json!(5), 2, 0),
    ] {
        let mut case = Case::of(rolling(json!({"partition": partition})), pods);
        case.change("/containers/0/image", json!("side:2"));
        case.settle();
        assert_eq!(case.status()[1], updated, "{partition}");
    }
}

/// SS-74, SS-75, SS-76: the order.
#[test]
fn ss_74_ss_75_ss_76_order_by_readiness_priority_and_scatter() {
    let mut case = Case::of(set("s", json!({})), 3);
    case.change("/containers/0/image", json!("side:2"));
    let plan = case.plan();
    case.apply(&plan);
    merge_condition(&mut case.pods[1], "False");
    assert_eq!(touched(&case.plan())[0], "p1", "not ready first, and for free");

    let weighted = json!({"priorityStrategy": {"weightPriority": [{"weight": 10, "matchSelector": {"matchLabels": {"w": "1"}}}]}});
    let mut case_then = Case::of(rolling(weighted), 2);
    case_then.add("heavy", json!({"metadata": {"labels": {"w": "1"}}}));
    case_then.change("/containers/0/image", json!("side:2"));
    let then = case_then.plan();
    case_then.apply(&then);
    assert_eq!(touched(&case_then.plan()), ["heavy"]);

    let scattered = json!({"scatterStrategy": [{"key": "zone", "value": "*"}], "maxUnavailable": 2});
    let mut case_again = Case::of(rolling(scattered), 0);
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b"), ("b3", "b")] {
        case_again.add(name, json!({"metadata": {"labels": {"zone": zone}}}));
    }
    case_again.change("/containers/0/image", json!("side:2"));
    let again = case_again.plan();
    case_again.apply(&again);
    let batch = touched(&case_again.plan());
    assert_eq!(
        batch.iter().map(|name| &name[..1]).collect::<std::collections::BTreeSet<_>>().len(),
        2,
        "{batch:?}"
    );
}

fn merge_condition(pod: &mut Value, status: &str) {
    for one in pod["status"]["conditions"].as_array_mut().unwrap() {
        if one["type"] == "Ready" {
            one["status"] = json!(status);
        }
    }
}

/// SS-73: a pod whose last upgrade is still rolling is not touched again.
#[test]
fn ss_73_pod_in_the_middle_of_an_upgrade_waits() {
    let mut case = Case::of(set("s", json!({})), 1);
    case.change("/containers/0/image", json!("side:2"));
    for _ in 0..2 {
        let plan = case.plan();
        case.apply(&plan);
    }
    assert_eq!(case.image(0, "side"), "side:2");
    case.change("/containers/0/image", json!("side:3"));
    let plan = case.plan();
    case.apply(&plan);
    let again = case.plan();
    assert_eq!((touched(&again).len(), why(&again, "p0")), (0, "Updating".to_owned()));
}

/// SS-85: back to the image before, pods that still have it are updated at once.
#[test]
fn ss_85_rollback_needs_no_write_for_pods_that_were_not_upgraded() {
    let mut case = Case::of(rolling(json!({"partition": 1})), 2);
    case.change("/containers/0/image", json!("side:2"));
    case.settle();
    assert_eq!(case.status()[1], 1);
    case.set["spec"]["updateStrategy"]["partition"] = json!(0);
    case.change("/containers/0/image", json!("side:1"));
    case.settle();
    assert_eq!((case.status(), case.revisions.len()), ([2, 2, 2, 2], 2));
    let numbers: Vec<i64> = case.revisions.iter().map(|one| one["revision"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [3, 2], "SS-55: the older one is the newest again");
}

/// SS-57, 8.1 no. 19.
#[test]
fn ss_55_ss_57_history_keeps_ten_and_reuses_old_content() {
    let mut case = Case::of(set("s", json!({})), 0);
    for i in 2..=15 {
        case.change("/containers/0/image", json!(format!("side:{i}")));
        case.settle();
    }
    let numbers = |one: &Case| {
        let mut all: Vec<i64> = one.revisions.iter().map(|one| one["revision"].as_i64().unwrap()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(numbers(&case), (6..=15).collect::<Vec<_>>());
    case.change("/containers/0/image", json!("side:12"));
    case.settle();
    assert_eq!(numbers(&case), [6, 7, 8, 9, 10, 11, 13, 14, 15, 16]);
}

/// SS-57: what a pod has and what is pinned stays.
#[test]
fn ss_57_revisions_in_use_stay() {
    let mut case = Case::of(rolling(json!({"type": "NotUpdate"})), 1);
    case.set["spec"]["revisionHistoryLimit"] = json!(1);
    let first = case.set["status"]["latestRevision"].clone();
    for i in 2..=4 {
        case.change("/containers/0/image", json!(format!("side:{i}")));
        case.settle();
    }
    let names: Vec<&Value> = case.revisions.iter().map(|one| &one["metadata"]["name"]).collect();
    assert_eq!(names, [&first, &case.set["status"]["latestRevision"]]);
}

/// SS-14, SS-16, SS-56, B20.
#[test]
fn ss_14_ss_16_ss_56_sidecarset_b20_what_a_revision_records() {
    let mut case = Case::of(set("s", json!({"customVersion": "v1", "imagePullSecrets": [{"name": "a"}]})), 0);
    let mut fresh = case.set.clone();
    fresh["metadata"]["labels"] = json!({"team": "x"});
    fresh["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
    let mut case_with_labels = Case::of(fresh, 0);
    let one = case_with_labels.revisions.remove(0);
    let spec = one["data"]["spec"].as_object().unwrap();
    assert_eq!(
        spec.keys().collect::<Vec<_>>(),
        ["$patch", "containers", "imagePullSecrets", "initContainers", "patchPodMetadata", "volumes"]
    );
    assert_eq!(one["metadata"]["labels"]["team"], "x");
    assert_eq!(one["metadata"]["labels"]["apps.kruise.io/sidecarset-custom-version"], "v1");
    assert_eq!(one["metadata"]["annotations"].get("kubectl.kubernetes.io/last-applied-configuration"), None);
    assert_eq!(one["metadata"]["namespace"], super::NAMESPACE);
    case.change("/customVersion", json!("v2"));
    case.settle();
    assert_eq!(case.revisions[0]["metadata"]["labels"]["apps.kruise.io/sidecarset-custom-version"], "v2");
    assert_eq!(case.revisions.len(), 1);
}

/// SS-55: a name that another object has is not overwritten.
#[test]
fn ss_55_collision_is_counted() {
    let mut case = Case::of(set("s", json!({})), 0);
    case.revisions[0]["data"]["spec"]["containers"][0]["image"] = json!("other");
    let plan = case.plan();
    let [write] = plan.writes().collect::<Vec<_>>()[..] else { panic!("{plan:?}") };
    let Act::Patch(Patch::Merge(body)) = &write.act else { panic!("{write:?}") };
    assert_eq!(body["status"]["collisionCount"], 1);
    case.settle();
    assert_eq!(case.revisions.len(), 2);
}

fn hot() -> Value {
    let strategy = json!({"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"});
    set("s", json!({"containers": [{"name": "mesh", "image": "mesh:1", "upgradeStrategy": strategy}]}))
}

/// SS-87 … SS-89, 8.1 no. 25: twins take turns; a pod counts as down until the old one is idle.
#[test]
fn ss_87_ss_88_ss_89_hot_upgrades_alternate_the_twins() {
    let mut case = Case::of(hot(), 1);
    case.change("/containers/0/image", json!("mesh:2"));
    let version = case.set["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let plan = case.plan();
        case.apply(&plan);
    }
    assert_eq!((case.image(0, "mesh-1"), case.image(0, "mesh-2")), ("mesh:1".into(), "mesh:2".into()));
    assert_eq!(
        case.annotation(0, "kruise.io/sidecarset-working-hotupgrade-container"),
        "{\"mesh\":\"mesh-2\"}"
    );
    assert_eq!(case.annotation(0, "version.sidecarset.kruise.io/mesh-2"), version);
    assert_eq!(case.annotation(0, "versionalt.sidecarset.kruise.io/mesh-2"), "1");
    assert_eq!(case.annotation(0, "versionalt.sidecarset.kruise.io/mesh-1"), version);
    let plan = case.plan();
    assert_eq!(touched(&plan).len(), 0, "the new one does not run yet");
    assert_eq!(why(&plan, "p0"), "HotUpgrading");
    case.pods.iter_mut().for_each(run);
    let again = case.plan();
    case.apply(&again);
    assert_eq!(case.image(0, "mesh-1"), "empty:1");
    assert_eq!(case.annotation(0, "version.sidecarset.kruise.io/mesh-1"), "0");
    assert_eq!(case.annotation(0, "versionalt.sidecarset.kruise.io/mesh-2"), "0");
    case.pods.iter_mut().for_each(run);
    case.settle();
    assert_eq!(case.status(), [1, 1, 1, 1]);
    case.change("/containers/0/image", json!("mesh:3"));
    case.settle();
    assert_eq!((case.image(0, "mesh-1"), case.image(0, "mesh-2")), ("mesh:3".into(), "empty:1".into()));
}

/// SS-90, 8.1 no. 26.
#[test]
fn ss_90_failed_hot_upgrade_reuses_the_failed_twin() {
    let mut case = Case::of(hot(), 2);
    case.change("/containers/0/image", json!("mesh:bad"));
    case.settle();
    assert_eq!(case.status(), [2, 1, 1, 0]);
    case.change("/containers/0/image", json!("mesh:3"));
    case.settle();
    assert_eq!(case.status(), [2, 2, 2, 2]);
    for pod in 0..2 {
        assert_eq!(
            (case.image(pod, "mesh-1"), case.image(pod, "mesh-2")),
            ("empty:1".into(), "mesh:3".into())
        );
    }
}

/// SS-60, B14: a digest is complete when the runtime reports it, by whatever name.
#[test]
fn ss_60_sidecarset_b14_digests_are_compared_by_themselves() {
    let mut case = Case::of(set("s", json!({})), 1);
    case.change("/containers/0/image", json!("side@sha256:aa"));
    for _ in 0..2 {
        let plan = case.plan();
        case.apply(&plan);
    }
    let set_id =
        |one: &mut Case, id: &str| one.pods[0]["status"]["containerStatuses"][0]["imageID"] = json!(id);
    set_id(&mut case, "docker.io/library/side@sha256:bb");
    let plan = case.plan();
    case.apply(&plan);
    assert_eq!(case.status(), [1, 1, 0, 0]);
    set_id(&mut case, "mirror.example/x/side@sha256:aa");
    case.settle();
    assert_eq!(case.status(), [1, 1, 1, 1]);
}

/// SS-49, SS-81: metadata alone touches no pod; with an image it is patched again.
#[test]
fn ss_49_metadata_patches_wait_for_an_image() {
    let mut case = Case::of(
        set("s", json!({"patchPodMetadata": [{"annotations": {"a": "1"}, "patchPolicy": "Overwrite"}]})),
        1,
    );
    case.change("/patchPodMetadata/0/annotations/a", json!("2"));
    case.settle();
    assert_eq!((case.annotation(0, "a"), case.revisions.len()), ("1".into(), 2));
    case.change("/containers/0/image", json!("side:2"));
    case.settle();
    assert_eq!(case.annotation(0, "a"), "2");
}

/// Legacy form of the hash annotations (3.1, SS-80).
#[test]
fn ss_80_older_notes_are_read_and_rewritten() {
    let mut case = Case::of(set("s", json!({})), 1);
    for key in ["kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"] {
        let hash = case.set["metadata"]["annotations"][key].as_str().unwrap().to_owned();
        case.pods[0]["metadata"]["annotations"][key] = json!(json!({"s": hash}).to_string());
    }
    assert_eq!(case.plan().writes().count(), 0, "nothing is rewritten without need");
    case.change("/containers/0/image", json!("side:2"));
    case.settle();
    let note: Value =
        serde_json::from_str(&case.annotation(0, "kruise.io/sidecarset-hash-without-image")).unwrap();
    assert_eq!(note["s"]["sidecarSetName"], "s");
    assert_eq!(case.status(), [1, 1, 1, 1]);
}

/// SS-52: which pods are managed; each other one that lists the set has a reason.
#[test]
fn ss_52_pods_that_are_not_selected_any_more_are_not_managed() {
    let mut case = Case::of(set("s", json!({})), 2);
    case.pods[0]["metadata"]["labels"]["app"] = json!("other");
    case.pods[1]["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
    case.settle();
    assert_eq!(case.status(), [0, 0, 0, 0]);
    assert_eq!(why(&case.plan(), "p0"), "NotManaged");
}

/// SS-58.
#[test]
fn ss_58_deleted_set_leaves_its_pods_alone() {
    let mut case = Case::of(set("s", json!({})), 1);
    case.change("/containers/0/image", json!("side:2"));
    case.set["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
    assert_eq!(case.plan().writes().count(), 0);
}

/// Pods without sidecars that they should have are counted, with a reason and examples.
#[test]
fn sidecarset_b11_pods_that_are_not_injected_are_told() {
    let mut case = Case::of(set("s", json!({})), 1);
    let pod = |name: &str, created: &str| {
        let mut pod = new_pod(
            json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": created}}),
        );
        run(&mut pod);
        pod
    };
    case.pods.push(pod("early", "2025-01-01T00:00:00Z"));
    case.pods.push(pod("late", "2026-03-01T00:00:00Z"));
    let plan = case.plan();
    assert!(plan.events.iter().any(|event| event.reason == "NotInjectedPods"));
    case.settle();
    let said = case.set["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["type"] == "NotInjected")
        .unwrap();
    let message = said["message"].as_str().unwrap();
    for part in ["2 pods match", "created before the SidecarSet (shop/early)", "shop/late"] {
        assert!(message.contains(part), "{message}");
    }
    case.pods.truncate(1);
    case.settle();
    assert!(case.set["status"]["conditions"].as_array().unwrap().is_empty());
}

/// B5: a lost pin is told by condition and event.
#[test]
fn sidecarset_b5_lost_pin_is_told() {
    let mut case = Case::of(set("s", json!({})), 0);
    case.set["spec"]["injectionStrategy"]["revision"] = json!({"revisionName": "gone"});
    let plan = case.plan();
    assert!(plan.events.iter().any(|event| event.reason == "PinnedRevisionMissing"));
    case.settle();
    assert_eq!(case.set["status"]["conditions"][0]["type"], "RevisionMissing");
}

/// B13, 8.2 no. 41: with its gate, a budget is asked for each pod on its own.
#[test]
fn sidecarset_b13_budgets_are_asked_pod_by_pod() {
    let mut case = Case::of(rolling(json!({"maxUnavailable": 2})), 2);
    case.gates = Gates::default().with(Gate::PodUnavailableBudgetUpdate);
    for pod in &mut case.pods {
        pod["metadata"]["annotations"]["pub.kruise.io/related-pub"] = json!("budget");
    }
    case.change("/containers/0/image", json!("side:2"));
    let plan = case.plan();
    case.apply(&plan);
    let again = case.plan();
    assert_eq!(touched(&again).len(), 2);
    assert!(again.chains.iter().all(|chain| chain.allowance.is_some()));
}

/// 8.2 no. 43: at most two writes for a pod.
#[test]
fn sidecarset_b12_two_writes_per_pod_at_most_and_each_on_the_version_that_was_seen() {
    let mut case = Case::of(set("s", json!({})), 1);
    case.change("/containers/0/image", json!("side:2"));
    let plan = case.plan();
    case.apply(&plan);
    let then = case.plan();
    let [chain] = &then.chains[..] else { panic!("{then:?}") };
    assert_eq!(chain.writes.len(), 2);
    let text = format!("{:?}", chain.writes[0]);
    assert!(text.contains("/metadata/resourceVersion"), "{text}");
    case.settle();
    case.change("/containers/0/image", json!("side:3"));
    let again = case.plan();
    case.apply(&again);
    assert_eq!(case.plan().chains[0].writes.len(), 1, "its condition says it already");
}

/// B22: regressions of the original. #855 and #850: another upgrade type in the pod; #2472: a pod without statuses.
#[test]
fn sidecarset_b22_odd_pods_do_not_stop_a_rollout() {
    let mut case = Case::of(hot(), 1);
    case.pods[0]["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .remove("kruise.io/sidecarset-working-hotupgrade-container");
    case.settle();
    assert_eq!(case.status(), [0, 0, 0, 0], "kruise#855: without a working twin it is not managed");
    let mut case_then = Case::of(set("s", json!({})), 1);
    case_then.pods[0]["status"] = json!({"phase": "Pending"});
    case_then.change("/containers/0/image", json!("side:2"));
    let plan = case_then.plan();
    case_then.apply(&plan);
    assert_eq!(touched(&case_then.plan()), ["p0"], "kruise#2472");
    let mut case_again = Case::of(rolling(json!({"maxUnavailable": "1%"})), 2);
    case_again.change("/containers/0/image", json!("side:2"));
    case_again.settle();
    assert_eq!(case_again.status()[1], 2, "kruise#1812: a small percentage is one pod");
}
