//! Whatever users do: foreign objects and protected namespaces are never written, and what settles is what was asked for.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[derive(Debug, Clone)]
enum Deed {
    Target(Vec<usize>),
    Content(u8),
    Label(u8),
    Edit(usize),
    Delete(usize),
    Foreign(usize),
    Refuse(usize),
    Restart,
}

const NAMES: [&str; 5] = ["a", "b", "c", "kube-system", "kube-public"];

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        proptest::collection::vec(0..5_usize, 0..5).prop_map(Deed::Target),
        any::<u8>().prop_map(Deed::Content),
        any::<u8>().prop_map(Deed::Label),
        (0..3_usize).prop_map(Deed::Edit),
        (0..5_usize).prop_map(Deed::Delete),
        (0..3_usize).prop_map(Deed::Foreign),
        (0..3_usize).prop_map(Deed::Refuse),
        Just(Deed::Restart),
    ];
    proptest::collection::vec(deed, 1..12)
}

fn act(world: &mut World, deed: &Deed) {
    match deed {
        Deed::Target(names) => {
            let names: Vec<&str> = names.iter().map(|i| NAMES[*i]).collect();
            world.edit(&itself(), |one| one["spec"]["targets"] = included(&names));
        }
        Deed::Content(byte) => {
            world.edit(&itself(), |one| one["spec"]["resource"]["data"]["k"] = json!(byte.to_string()));
        }
        Deed::Label(byte) => {
            world.edit(&itself(), |one| {
                one["spec"]["resource"]["metadata"]["labels"] = json!({"l": byte.to_string()});
            });
        }
        Deed::Edit(i) => {
            if world.at(NAMES[*i]).is_some() {
                world.edit_copy(NAMES[*i], |one| one["data"]["edited"] = json!("1"));
            }
        }
        Deed::Delete(i) => {
            if let Some(copy) = world.at(NAMES[*i]).cloned() {
                world.remove(&copy);
            }
        }
        Deed::Foreign(i) => {
            let mut foreign = config_map();
            foreign["metadata"]["namespace"] = json!(NAMES[*i]);
            foreign["data"] = json!({"foreign": "1"});
            world.put(&foreign);
        }
        Deed::Refuse(i) => world.refused = BTreeSet::from([NAMES[*i].to_owned()]),
        Deed::Restart => {
            world.checked = Checked::default();
            world.failed.clear();
        }
    }
}

proptest! {
    #[test]
    fn rd_9_rd_14_what_settles_is_what_was_asked_for(deeds in deeds()) {
        let mut world = world(&NAMES).with(&distribution(&config_map(), &included(&["a", "b"])));
        for deed in &deeds {
            act(&mut world, deed);
            let foreign: Vec<Value> = world.objects.values().filter(|one| one["data"]["foreign"] == "1").cloned().collect();
            let plan = world.plan();
            world.apply(&plan);
            for one in &foreign {
                prop_assert!(world.objects.values().any(|other| other == one), "a foreign object was touched");
            }
        }
        world.refused.clear();
        world.settle();
        let object: ResourceDistribution = serde_json::from_value(world.objects[&itself()].clone()).unwrap();
        let spec = object.spec.as_ref().unwrap();
        for name in NAMES {
            let is_wanted = spec.targets.wants(name, Some(&BTreeMap::new()));
            let found = world.at(name);
            let is_own = found.is_some_and(|one| one["metadata"]["ownerReferences"][0]["uid"] == "d-1");
            if is_own {
                prop_assert!(is_wanted, "{name} has a copy");
                prop_assert_eq!(&found.unwrap()["data"], &spec.resource.body["data"]);
            } else {
                prop_assert_eq!(found.is_some(), found.is_some_and(|one| one["data"]["foreign"] == "1"));
                prop_assert!(!is_wanted || found.is_some(), "{name} has no copy");
            }
        }
        prop_assert_eq!(world.settle(), 0);
    }
}
