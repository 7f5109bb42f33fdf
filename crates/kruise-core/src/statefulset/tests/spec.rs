use super::*;
use crate::amount::Amount;
use crate::rollout::{Mode, Policy};

fn read(spec: &Value) -> Spec {
    Spec::read(spec).unwrap()
}

#[test]
fn defaults_are_those_of_the_webhook() {
    let spec = read(&json!({"selector": {"matchLabels": {"a": "b"}}, "template": {}}));

    assert_eq!((spec.replicas, spec.history_limit, spec.start), (1, 10, 0));
    assert_eq!((spec.management, spec.mode), (Management::OrderedReady, Mode::RollingUpdate));
    assert_eq!((spec.rolling.partition, spec.rolling.max_unavailable), (0, Amount::Pods(1)));
    assert_eq!((spec.rolling.policy, &spec.rolling.order), (Policy::ReCreate, &Order::Ordinal));
    assert_eq!((spec.claim_update, spec.retention), (ClaimUpdate::OnDelete, Retention::KEEP_ALL));
    assert_eq!(spec.scale_limit(), None);
}

#[test]
fn as_37_as_46_budgets_round_down_and_are_at_least_one() {
    for (written, replicas, limit) in [
        (json!("20%"), 9, 1),
        (json!("50%"), 5, 2),
        (json!("1%"), 5, 1),
        (json!(3), 5, 3),
        (json!("100%"), 4, 4),
    ] {
        let fixture = parallel().replicas(replicas);
        let fixture = fixture.rolling("maxUnavailable", written.clone());
        let spec = read(&fixture.set("/scaleStrategy", json!({"maxUnavailable": written})).object["spec"]);

        assert_eq!(
            (spec.update_limit(), spec.scale_limit()),
            (limit, Some(limit)),
            "{written} of {replicas}"
        );
    }
}

#[test]
fn as_82_an_unknown_word_in_the_policy_keeps_everything() {
    for (policy, deleted, scaled) in [
        (json!({}), Keep::Retain, Keep::Retain),
        (json!({"whenDeleted": "Delete"}), Keep::Delete, Keep::Retain),
        (json!({"whenScaled": "Delete"}), Keep::Retain, Keep::Delete),
        (json!({"whenDeleted": "Delete", "whenScaled": "Recycle"}), Keep::Retain, Keep::Retain),
    ] {
        let spec =
            read(&ordered().set("/persistentVolumeClaimRetentionPolicy", policy.clone()).object["spec"]);
        assert_eq!(spec.retention, Retention { when_deleted: deleted, when_scaled: scaled }, "{policy}");
    }
}

#[test]
fn as_16_the_start_acts_only_with_its_gate() {
    let spec = read(&ordered().replicas(2).set("/ordinals", json!({"start": 5})).object["spec"]);
    let first = |gates: &Gates| spec.slots(gates).iter().next();

    assert_eq!(first(&Gates::default()), Some(Ordinal::new(0)));
    assert_eq!(first(&Gates::default().with(Gate::StatefulSetStartOrdinal)), Some(Ordinal::new(5)));
}

#[test]
fn a_field_that_cannot_be_read_touches_nothing() {
    for (path, value) in [
        ("/replicas", json!(-1)),
        ("/podManagementPolicy", json!("Random")),
        ("/updateStrategy/rollingUpdate/maxUnavailable", json!("half")),
        ("/updateStrategy/rollingUpdate/partition", json!("1")),
        ("/ordinals/start", json!(-1)),
    ] {
        let plan = ordered().set(path, value).pods([old(), new()]).plan();

        assert!(plan.chains.is_empty() && plan.status.is_some(), "{path}");
        assert!(matches!(reason(&plan, "web-0"), Reason::UnreadableSpec { .. }), "{path}");
    }
}
