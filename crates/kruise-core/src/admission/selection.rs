//! For which pods the pod webhook is registered: those that some object of ours concerns, and no others. With none of
//! them no pod request leaves the API server, so a cluster in which nothing of ours acts on pods does not notice that the
//! manager is down.
//!
//! One entry of a webhook configuration has one selector of each sort. Where a union does not fit, the selectors are
//! wider than the concerns and the match condition is exact; a server without conditions (before 1.28) asks for some
//! pods too many, which are then let pass.

use std::collections::BTreeSet;

use kruise_api::kubernetes::operator;
use kruise_api::labels;
use serde_json::{Value, json};

/// Namespaces that never depend on us (HA-2): the cluster's own, and ours is added.
const NEVER: &str = "kube-system";
/// More names make the entry too long to be looked at for every pod; then all namespaces are selected.
const NAMESPACES_MAX: usize = 100;
/// More owners are not told apart any more: then all pods of their namespaces are asked for.
const OWNERS_MAX: usize = 500;

/// Some pods that something of ours acts on when they are created.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// All of them, by a feature gate.
    Everybody,
    /// Those whose controller is this workload.
    OwnedBy { namespace: String, kind: String, name: String },
}

/// Whether the API server knows match conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conditions {
    Known,
    Unknown,
}

/// The narrowing fields of an entry, as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub namespace_selector: Value,
    pub object_selector: Value,
    pub match_conditions: Value,
}

/// The narrowest selection that has all pods of the concerns.
pub fn select(concerns: &BTreeSet<Concern>, own_namespace: &str, conditions: Conditions) -> Selection {
    let mut owners: BTreeSet<(&str, String)> = BTreeSet::new();
    let mut everybody = false;
    for concern in concerns {
        match concern {
            Concern::Everybody => everybody = true,
            // No pod has an owner of another kind or name: the API server takes no such object.
            Concern::OwnedBy { kind, name, .. } if !(is_name(kind) && is_name(name)) => {}
            Concern::OwnedBy { namespace, kind, name } => {
                owners.insert((namespace, format!("{namespace}/{kind}/{name}")));
            }
        }
    }
    let namespaces: BTreeSet<&str> = owners.iter().map(|(namespace, _)| *namespace).collect();
    let narrow = !everybody && namespaces.len() <= NAMESPACES_MAX;
    let mut expressions = vec![
        json!({"key": labels::NAMESPACE_NAME, "operator": operator::NOT_IN, "values": [NEVER, own_namespace]}),
    ];
    if narrow && !namespaces.is_empty() {
        expressions
            .push(json!({"key": labels::NAMESPACE_NAME, "operator": operator::IN, "values": namespaces}));
    }
    let is_exact = !everybody && !owners.is_empty() && owners.len() <= OWNERS_MAX;
    let match_conditions = if is_exact && conditions == Conditions::Known {
        let keys: Vec<&str> = owners.iter().map(|(_, key)| key.as_str()).collect();
        json!([{"name": "concerned", "expression": owned_by_one_of(&keys)}])
    } else {
        json!([])
    };
    Selection {
        namespace_selector: json!({"matchExpressions": expressions}),
        object_selector: if everybody || !owners.is_empty() { json!({}) } else { nobody() },
        match_conditions,
    }
}

/// Matches no object at all, also where there are no labels.
fn nobody() -> Value {
    json!({"matchExpressions": [
        {"key": labels::CONCERNS_NOBODY, "operator": operator::EXISTS},
        {"key": labels::CONCERNS_NOBODY, "operator": operator::DOES_NOT_EXIST},
    ]})
}

/// What can stand in CEL as it is. Concerns are read from objects of users, who may write anything there.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '.'))
}

/// The keys are made of names, see [`is_name`].
fn owned_by_one_of(keys: &[&str]) -> String {
    let list = keys.iter().map(|key| format!("'{key}'")).collect::<Vec<_>>().join(", ");
    format!(
        "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && \
         o.controller && (request.namespace + '/' + o.kind + '/' + o.name) in [{list}])"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(namespace: &str, name: &str) -> Concern {
        Concern::OwnedBy { namespace: namespace.into(), kind: "StatefulSet".into(), name: name.into() }
    }

    fn selection(concerns: impl IntoIterator<Item = Concern>) -> Selection {
        select(&concerns.into_iter().collect(), "kruise-system", Conditions::Known)
    }

    #[test]
    fn ha_2_own_namespace_and_that_of_the_cluster_are_never_selected() {
        for concerns in [vec![], vec![Concern::Everybody], vec![owned("shop", "db")]] {
            let first = selection(concerns).namespace_selector["matchExpressions"][0].clone();
            assert_eq!(first["operator"], "NotIn");
            assert_eq!(first["values"], json!(["kube-system", "kruise-system"]));
        }
    }

    #[test]
    fn without_concerns_no_pod_is_selected() {
        let nothing = selection([]);
        let expressions = nothing.object_selector["matchExpressions"].as_array().unwrap().clone();
        assert_eq!(expressions[0]["key"], expressions[1]["key"], "asked for and forbidden");
        assert_eq!(
            (&expressions[0]["operator"], &expressions[1]["operator"]),
            (&json!("Exists"), &json!("DoesNotExist"))
        );
    }

    #[test]
    fn owned_pods_are_selected_by_namespace_and_owner() {
        let two = selection([owned("shop", "db"), owned("shop", "cache"), owned("mail", "db")]);

        assert_eq!(two.namespace_selector["matchExpressions"][1]["values"], json!(["mail", "shop"]));
        assert_eq!(two.object_selector, json!({}));
        let expression = two.match_conditions[0]["expression"].as_str().unwrap().to_owned();
        assert!(
            expression
                .ends_with("in ['mail/StatefulSet/db', 'shop/StatefulSet/cache', 'shop/StatefulSet/db'])"),
            "{expression}"
        );
    }

    /// What a user writes into an object never becomes part of the expression as code: else one object of one namespace
    /// would make the configuration unreadable for all.
    #[test]
    fn text_that_is_no_name_concerns_no_pod() {
        let nothing = selection([]);
        for odd in ["db'] || true || 'x' in ['", "a\\", "a\nb", "a b", ""] {
            assert_eq!(selection([owned("shop", odd)]), nothing, "{odd:?}");
            let kind =
                Concern::OwnedBy { namespace: "shop".into(), kind: odd.to_owned(), name: "db".to_owned() };
            assert_eq!(selection([kind]), nothing, "{odd:?}");
        }
    }

    #[test]
    fn gate_for_everybody_selects_all_other_namespaces() {
        let all = selection([Concern::Everybody, owned("shop", "db")]);
        assert_eq!(all.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
        assert_eq!((all.object_selector, all.match_conditions), (json!({}), json!([])));
    }

    #[test]
    fn old_server_and_too_many_owners_select_more_and_never_less() {
        let concerns = BTreeSet::from([owned("shop", "db")]);
        let old = select(&concerns, "kruise-system", Conditions::Unknown);
        assert_eq!(old.match_conditions, json!([]));
        assert_eq!(old.namespace_selector["matchExpressions"][1]["values"], json!(["shop"]));

        let many = selection((0..=OWNERS_MAX).map(|i| owned("shop", &format!("db{i}"))));
        assert_eq!(many.match_conditions, json!([]));
        let wide = selection((0..=NAMESPACES_MAX).map(|i| owned(&format!("n{i}"), "db")));
        assert_eq!(wide.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
        assert_ne!(wide.match_conditions, json!([]));
    }
}
