use serde_json::{Value, json};

use super::*;
use crate::persistentpodstate::Supported;
use crate::persistentpodstate::admission::{Known, validate};

fn fields(spec: &Value, old: Option<&Value>, rival: Option<&str>) -> Vec<String> {
    let supported = Supported::read(None);
    validate(spec, old, &Known { rival, supported: &supported })
        .iter()
        .map(|fault| fault.field.clone())
        .collect()
}

/// Section 6, rules 2, 3, 4 and 6.
#[test]
fn what_is_refused() {
    let good = object()["spec"].clone();
    let changed = |field: &str, value: Value| with(good.clone(), &format!("/{field}"), value);
    let reference = |field: &str, value: &str| {
        let mut spec = good.clone();
        spec["targetRef"][field] = json!(value);
        spec
    };
    let none =
        with(changed("requiredPersistentTopology", Value::Null), "/preferredPersistentTopology", json!([]));
    for (spec, rival, expected) in [
        (good.clone(), None, vec![]),
        (changed("requiredPersistentTopology", Value::Null), None, vec![]),
        (changed("preferredPersistentTopology", json!([])), None, vec![]),
        (reference("apiVersion", ""), None, vec!["spec.targetRef.apiVersion"]),
        (reference("kind", ""), None, vec!["spec.targetRef.kind"]),
        (reference("name", ""), None, vec!["spec.targetRef.name"]),
        (reference("kind", "Deployment"), None, vec!["spec.targetRef"]),
        (none, None, vec!["spec"]),
        (good.clone(), Some("first"), vec!["spec.targetRef"]),
    ] {
        assert_eq!(fields(&spec, None, rival), expected, "{spec}");
    }
}

/// Section 6, rule 5: even another version of the same workload is a change.
#[test]
fn target_cannot_be_changed() {
    let old = object()["spec"].clone();
    let mut new = old.clone();
    new["targetRef"]["apiVersion"] = json!("apps/v1beta2");
    assert_eq!(fields(&new, Some(&old), None), ["spec.targetRef"]);
    assert_eq!(fields(&old, Some(&old), None), Vec::<String>::new());
}

/// persistentpodstate/D6: a broken list refuses only what needs it, and says why.
#[test]
fn persistentpodstate_d6_broken_list_refuses_only_other_kinds() {
    let broken = Supported::read(Some("{"));
    let known = Known { rival: None, supported: &broken };
    let good = object()["spec"].clone();
    assert!(validate(&good, None, &known).is_empty());
    let mut other = good;
    other["targetRef"]["kind"] = json!("GameServerSet");
    assert!(validate(&other, None, &known).to_string().contains("cannot be read"));
}
