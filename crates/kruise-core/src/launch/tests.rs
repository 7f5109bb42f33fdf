//! SM-95 … SM-99.

use kruise_api::kubernetes::CONTAINERS_READY;
use kruise_api::resource::{CONFIG_MAPS, PODS};
use serde_json::{Value, json};

use super::*;
use crate::chain::{Act, Patch};
use crate::fixtures::{Pod, pod, t0};
use crate::ids::{ResourceVersion, Uid};

fn with_env(priorities: &[Option<&str>]) -> Value {
    let containers: Vec<Value> = priorities
        .iter()
        .enumerate()
        .map(|(i, priority)| match priority {
            Some(value) => json!({"name": format!("c{i}"), "env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": value}]}),
            None => json!({"name": format!("c{i}")}),
        })
        .collect();
    json!({"metadata": {"name": "p", "annotations": {}}, "spec": {"containers": containers}})
}

#[test]
fn sm_95_priorities_come_from_the_environment_or_from_the_order() {
    assert_eq!(priorities(&with_env(&[None, Some("10")])), Ok(Some(vec![0, 10])));
    assert_eq!(priorities(&with_env(&[None, None])), Ok(None));
    assert_eq!(priorities(&with_env(&[Some("3"), Some("3")])), Ok(None), "all equal");
    assert_eq!(priorities(&with_env(&[Some("3")])), Ok(None), "one container");
    let mut ordered = with_env(&[None, Some("10"), None]);
    ordered["metadata"]["annotations"]["apps.kruise.io/container-launch-priority"] = json!("Ordered");
    assert_eq!(priorities(&ordered), Ok(Some(vec![0, -1, -2])), "the environment is ignored");
    assert!(matches!(priorities(&with_env(&[None, Some("high")])), Err(Refusal::NotANumber { .. })));
}

#[test]
fn sm_96_every_container_gets_its_barrier_last_and_once() {
    let mut pod = with_env(&[None, Some("10")]);
    pod["spec"]["containers"][0]["env"] = json!(null);

    admit(&mut pod, || unreachable!("it has a name")).unwrap();
    let once = pod.clone();
    admit(&mut pod, || unreachable!("it has a name")).unwrap();

    assert_eq!(pod, once, "shared-machinery acceptance 15: no second barrier");
    let barrier = |at: usize, env: usize| {
        pod["spec"]["containers"][at]["env"][env]["valueFrom"]["configMapKeyRef"].clone()
    };
    assert_eq!(barrier(0, 0), json!({"name": "p-barrier", "key": "p_0"}));
    assert_eq!(barrier(1, 1), json!({"name": "p-barrier", "key": "p_10"}));
    assert_eq!(key(-2), "p_-2");
}

#[test]
fn sm_96_pod_without_a_name_gets_one() {
    let mut pod = with_env(&[None, Some("10")]);
    pod["metadata"] = json!({"generateName": "n".repeat(80)});

    admit(&mut pod, || "abcde".to_owned()).unwrap();

    let name = format!("{}abcde", "n".repeat(58));
    assert_eq!(pod["metadata"]["name"], name);
    let barrier = &pod["spec"]["containers"][0]["env"][0]["valueFrom"]["configMapKeyRef"]["name"];
    assert_eq!(*barrier, format!("{name}-barrier"));
    let mut even = with_env(&[None, None]);
    even["metadata"] = json!({"generateName": "n"});
    let before = even.clone();
    admit(&mut even, || unreachable!("not needed")).unwrap();
    assert_eq!(even, before);
}

fn leveled(ready: &[(&str, i64, bool)]) -> Pod {
    let containers: Vec<Value> = ready
        .iter()
        .map(|(name, priority, _)| {
            json!({"name": name, "env": [{"name": "KRUISE_CONTAINER_BARRIER",
            "valueFrom": {"configMapKeyRef": {"name": "a-barrier", "key": key(*priority)}}}]})
        })
        .collect();
    let mut pod = pod("a").containers(json!(containers));
    for (name, _, is_ready) in ready {
        pod = pod.container_status(name, "i", "id");
        let at = pod.0["status"]["containerStatuses"].as_array().unwrap().len() - 1;
        pod.0["status"]["containerStatuses"][at]["ready"] = json!(is_ready);
    }
    pod
}

fn open(keys: &[&str]) -> Barrier {
    let data: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!("true"))).collect();
    Barrier::read(&json!({
        "metadata": {"uid": "cm", "resourceVersion": "1", "ownerReferences": [{"kind": "Pod", "uid": "uid-a"}]},
        "data": data,
    }))
}

fn level(key: &str, last: Last) -> Level {
    Level { key: key.to_owned(), last }
}

#[test]
fn sm_97_sm_98_levels_open_from_the_highest_down() {
    let both = leveled(&[("low", 0, false), ("high", 10, false)]).view();
    let half = leveled(&[("low", 0, false), ("high", 10, true)]).view();
    let uid = Uid::new("cm");

    assert_eq!(step(&both, None), Step::Create(level("p_10", Last::No)));
    assert_eq!(
        step(&both, Some(&open(&[]))),
        Step::Open { uid: uid.clone(), level: level("p_10", Last::No) }
    );
    assert_eq!(step(&both, Some(&open(&["p_10"]))), Step::Nothing, "the high level is not ready yet");
    assert_eq!(step(&half, Some(&open(&["p_10"]))), Step::Open { uid, level: level("p_0", Last::Yes) });
    assert_eq!(step(&half, Some(&open(&["p_10", "p_0"]))), Step::Complete);
    let done = leveled(&[("low", 0, false)])
        .annotation("apps.kruise.io/container-launch-priority-completed", "true");
    assert_eq!(step(&done.view(), Some(&open(&["p_0"]))), Step::Nothing);
}

#[test]
fn sm_98_config_map_is_made_with_its_first_level_and_the_pod_is_marked_with_the_last() {
    let both = leveled(&[("low", 0, false), ("high", 10, false)]).view();
    let half = leveled(&[("low", 0, false), ("high", 10, true)]).view();

    let first = plan(&both, None, t0());
    let last = plan(&half, Some(&open(&["p_10"])), t0());

    let made = first.writes().next().unwrap();
    let body = made.created().unwrap();
    assert_eq!((made.object.resource, made.object.name()), (CONFIG_MAPS, "a-barrier"));
    assert_eq!(body["data"], json!({"p_10": "true"}));
    let owner = &body["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"], owner.get("controller")),
        (&json!("Pod"), &json!("uid-a"), None)
    );
    assert_eq!(first.writes().count(), 1, "the pod is not done yet");
    let writes: Vec<_> = last.writes().collect();
    let Act::Patch(Patch::Merge(opened)) = &writes[0].act else { panic!("{writes:?}") };
    assert_eq!(*opened, json!({"metadata": {"uid": "cm"}, "data": {"p_0": "true"}}));
    assert_eq!((writes.len(), writes[1].object.resource), (2, PODS));
    let waits = plan(&both, Some(&open(&["p_10"])), t0());
    assert_eq!((waits.writes().count(), waits.revisit_at.is_some()), (0, true), "looked at again");
}

#[test]
fn sm_99_pods_without_barriers_and_pods_that_are_up_or_over_are_left_alone() {
    let ready = leveled(&[("low", 0, true)]).condition(CONTAINERS_READY, "True", "2026-01-01T00:00:00Z");
    let mut over = leveled(&[("low", 0, false), ("high", 1, false)]);
    over.0["status"]["phase"] = json!("Failed");
    for one in [pod("a"), ready, over] {
        assert_eq!(plan(&one.view(), None, t0()), crate::plan::Plan::default());
    }
}

#[test]
fn shared_machinery_m10_a_config_map_of_an_earlier_pod_is_replaced() {
    let pod = leveled(&[("low", 0, false), ("high", 10, false)]).view();
    let foreign = Barrier { owner: Some(Uid::new("gone")), ..open(&["p_10", "p_0"]) };
    let done = leveled(&[("low", 0, false)])
        .annotation("apps.kruise.io/container-launch-priority-completed", "true");

    let replaced = plan(&pod, Some(&foreign), t0());

    let acts: Vec<&Act> = replaced.writes().map(|write| &write.act).collect();
    let [Act::Delete { uid, version }, Act::Create(_)] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!((uid.as_str(), version.as_ref().map(ResourceVersion::as_str)), ("cm", Some("1")));
    let users = Barrier { owner: None, ..open(&[]) };
    assert!(matches!(step(&pod, Some(&users)), Step::Open { .. }), "what a user made is never deleted");
    assert_eq!(
        step(&done.view(), None),
        Step::Create(level("p_0", Last::Yes)),
        "also when the pod was completed"
    );
}
