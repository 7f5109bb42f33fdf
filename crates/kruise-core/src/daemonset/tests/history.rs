//! DS-41 … DS-45.

use super::*;

#[test]
fn ds_42_ds_43_a_new_template_is_stored_before_any_pod_is_touched() {
    let plan =
        set(2).spec("template", template("nginx:3")).annotated("note", "kept").pods([new("n1")]).plan();

    let stored = &created(&plan, "ControllerRevision")[0];
    let wanted = hash(&template("nginx:3"));
    assert_eq!(stored["metadata"]["name"], format!("web-{wanted}"));
    assert_eq!(stored["metadata"]["labels"], json!({"app": "web", "controller-revision-hash": wanted}));
    assert_eq!(stored["metadata"]["annotations"], json!({"note": "kept"}));
    assert_eq!(stored["revision"], 3);
    assert_eq!(plan.writes().count(), 1);
    assert_eq!(*reason(&plan, "new-n1"), Reason::RevisionFirst);
    assert_eq!(*reason(&plan, "n2"), Reason::RevisionFirst);
}

/// DS-45, DS-41: spelling, key order, a literal `$patch` and null times make no new revision.
#[test]
fn ds_45_ds_41_spelling_makes_no_new_revision() {
    let spelled = json!({
        "$patch": "replace",
        "spec": {"containers": [{"resources": {}, "image": "nginx:2", "name": "main", "command": []}], "volumes": null},
        "metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
    });
    let plan = set(1).spec("template", spelled).pods([new("n1")]).plan();
    assert!(plan.chains.is_empty(), "{:?}", plan.chains);
}

/// B11: only pods of the duplicate change their label; and nobody is restarted.
#[test]
fn ds_42_daemonset_b11_duplicates_are_merged_into_the_newest() {
    let mut twins = set(3);
    let mut twin = revision(&template("nginx:2"), 1);
    twin["metadata"]["name"] = json!("web-twin");
    twin["metadata"]["uid"] = json!("uid-twin");
    twin["metadata"]["labels"]["controller-revision-hash"] = json!("twin");
    twins.revisions.push(twin);
    let of_twin = new("n2").label("controller-revision-hash", "twin");
    let paused = twins.rolling("paused", json!(true));

    let plan = paused.clone().pods([new("n1"), of_twin, old("n3")]).plan();
    assert_eq!(touched(&plan, Purpose::Refresh), ["new-n2"]);
    assert!(deleted(&plan).is_empty());
    assert_eq!(count(&plan, Purpose::History), 0, "still used");
    assert_eq!(written(&plan)["updatedNumberScheduled"], 2);

    let again = paused.pods([new("n1"), new("n2"), old("n3")]).plan();
    let gone = again.chains.iter().find(|chain| chain.purpose == Purpose::History).unwrap();
    assert_eq!(gone.writes[0].object.name(), "web-twin");
}

/// B2: a name that belongs to others is counted in the status of this very object.
#[test]
fn daemonset_b2_a_taken_name_is_counted_in_its_own_status() {
    let mut set = set(1).spec("template", template("nginx:3"));
    let mut taken = revision(&template("nginx:3"), 1);
    taken["data"] = json!({"spec": {"template": template("other")}});
    taken["metadata"]["ownerReferences"][0]["uid"] = json!("somebody");
    set.revisions.push(taken);

    let plan = set.plan();

    let write = plan.writes().next().unwrap();
    assert_eq!(write.object.name(), "web");
    assert!(format!("{:?}", write.act).contains("collisionCount"), "{write:?}");
}

/// daemonset/B21: a revision without labels gets its own.
#[test]
fn ds_42_a_revision_without_the_label_gets_it() {
    let mut set = set(1).pods([new("n1")]);
    set.revisions[1]["metadata"]["labels"] = Value::Null;
    let plan = set.plan();
    let write = &plan.chains.iter().find(|chain| chain.purpose == Purpose::Revision).unwrap().writes[0];
    let wanted = format!("web-{}", hash(&template("nginx:2")));
    assert!(
        format!("{write:?}").contains(&format!("\"controller-revision-hash\": String({wanted:?})")),
        "{write:?}"
    );
}

#[test]
fn ds_44_old_revisions_beyond_the_limit_go_but_none_that_a_pod_is_at() {
    let with = |limit: u32| {
        let mut set = set(2).spec("revisionHistoryLimit", json!(limit)).rolling("paused", json!(true));
        for number in 3..=5 {
            set.revisions.insert(0, revision(&template(&format!("old:{number}")), number - 10));
        }
        set.pods([new("n1"), old("n2")])
    };
    let gone = |limit: u32| -> usize {
        let plan = with(limit).plan();
        plan.chains
            .iter()
            .filter(|chain| chain.purpose == Purpose::History)
            .map(|chain| chain.writes.len())
            .sum()
    };
    // Four old ones, of which one is in use.
    assert_eq!((gone(10), gone(4), gone(3), gone(1), gone(0)), (0, 0, 1, 3, 3));
}

/// DS-9 for revisions: those of a namesake that is gone.
#[test]
fn ds_9_revisions_without_owner_are_adopted() {
    let mut set = set(1).pods([new("n1")]);
    set.revisions[1]["metadata"]["ownerReferences"] = json!([]);
    let plan = set.plan();
    let adopt = plan.chains.iter().find(|chain| chain.purpose == Purpose::Adopt).unwrap();
    assert!(adopt.confirm.is_some() && created(&plan, "ControllerRevision").is_empty());
}
