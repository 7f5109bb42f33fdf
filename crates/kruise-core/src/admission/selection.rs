//! For which pods the pod webhook is registered: those that some object of ours concerns, and no others. With none of
//! them no pod request leaves the API server, so a cluster in which nothing of ours acts on pods does not notice that the
//! manager is down.
//!
//! One entry of a webhook configuration has one selector of each sort. Where a union does not fit, the selectors are
//! wider than the concerns and the match condition is exact; a server without conditions (before 1.28) asks for some
//! pods too many, which are then let pass.

use std::collections::BTreeSet;

use kruise_api::kubernetes::operator;
use kruise_api::{annotations, env, labels};
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
    /// Those that say themselves in which order their containers start. Only a condition can tell them from others: a
    /// server without conditions is never asked about them.
    Launching,
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
    let owners = Owners::of(concerns);
    let is_everybody = concerns.contains(&Concern::Everybody);
    let is_launching = concerns.contains(&Concern::Launching) && conditions == Conditions::Known;
    let mut expressions = vec![
        json!({"key": labels::NAMESPACE_NAME, "operator": operator::NOT_IN, "values": [NEVER, own_namespace]}),
    ];
    if !is_everybody && !is_launching && owners.are_in_few_namespaces() && !owners.keys.is_empty() {
        let values = &owners.namespaces;
        expressions.push(json!({"key": labels::NAMESPACE_NAME, "operator": operator::IN, "values": values}));
    }
    let condition = match conditions {
        Conditions::Known if is_launching => owners.condition().map(|owned| match owned.as_str() {
            "" => launching(),
            _ => format!("{} || ({owned})", launching()),
        }),
        Conditions::Known => owners.condition().filter(|owned| !owned.is_empty()),
        Conditions::Unknown => None,
    };
    let match_conditions = match condition.filter(|_| !is_everybody) {
        Some(expression) => json!([{"name": "concerned", "expression": expression}]),
        None => json!([]),
    };
    let is_anybody = is_everybody || is_launching || !owners.keys.is_empty();
    Selection {
        namespace_selector: json!({"matchExpressions": expressions}),
        object_selector: if is_anybody { json!({}) } else { nobody() },
        match_conditions,
    }
}

/// The workloads whose pods are asked about.
#[derive(Default)]
struct Owners<'a> {
    namespaces: BTreeSet<&'a str>,
    /// `namespace/kind/name`.
    keys: BTreeSet<String>,
}

impl<'a> Owners<'a> {
    fn of(concerns: &'a BTreeSet<Concern>) -> Self {
        let mut owners = Self::default();
        for concern in concerns {
            match concern {
                Concern::Everybody | Concern::Launching => {}
                // No pod has an owner of another kind or name: the API server takes no such object.
                Concern::OwnedBy { kind, name, .. } if !(is_name(kind) && is_name(name)) => {}
                Concern::OwnedBy { namespace, kind, name } => {
                    owners.namespaces.insert(namespace);
                    owners.keys.insert(format!("{namespace}/{kind}/{name}"));
                }
            }
        }
        owners
    }

    fn are_in_few_namespaces(&self) -> bool {
        self.namespaces.len() <= NAMESPACES_MAX
    }

    /// Empty for no pod; absent where they are too many to be told from others.
    fn condition(&self) -> Option<String> {
        if self.keys.len() <= OWNERS_MAX {
            return Some(if self.keys.is_empty() { String::new() } else { owned_by_one_of(&self.keys) });
        }
        self.are_in_few_namespaces().then(|| format!("request.namespace in [{}]", quoted(&self.namespaces)))
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
fn owned_by_one_of(keys: &BTreeSet<String>) -> String {
    format!(
        "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && \
         o.controller && (request.namespace + '/' + o.kind + '/' + o.name) in [{}])",
        quoted(keys)
    )
}

fn quoted<T: AsRef<str>>(texts: &BTreeSet<T>) -> String {
    texts.iter().map(|text| format!("'{}'", text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// SM-95: more than one container, and an order by annotation or by a variable.
fn launching() -> String {
    format!(
        "(has(object.spec.containers) && object.spec.containers.size() > 1 && \
         ((has(object.metadata.annotations) && '{}' in object.metadata.annotations) || \
         object.spec.containers.exists(c, has(c.env) && c.env.exists(e, has(e.name) && e.name == '{}'))))",
        annotations::CONTAINER_LAUNCH_PRIORITY,
        env::CONTAINER_PRIORITY
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

    /// SM-95: pods that say themselves that they need us; all others stay with the API server.
    #[test]
    fn sm_95_pods_with_an_order_are_told_from_others_by_the_condition_alone() {
        let expression = |all: &Selection| all.match_conditions[0]["expression"].as_str().unwrap().to_owned();
        let alone = selection([Concern::Launching]);
        let both = selection([Concern::Launching, owned("shop", "db")]);

        for one in [&alone, &both] {
            assert_eq!(one.object_selector, json!({}));
            assert_eq!(one.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
            assert!(expression(one).contains("'KRUISE_CONTAINER_PRIORITY'"), "{one:?}");
        }
        assert!(expression(&both).ends_with(")) || (has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && (request.namespace + '/' + o.kind + '/' + o.name) in ['shop/StatefulSet/db']))"), "{both:?}");
        let old = select(&BTreeSet::from([Concern::Launching]), "kruise-system", Conditions::Unknown);
        assert_eq!(old, selection([]), "a server without conditions would ask about every pod");
        let crowd = (0..=OWNERS_MAX).map(|i| owned(&format!("n{i}"), "db")).chain([Concern::Launching]);
        assert_eq!(selection(crowd).match_conditions, json!([]), "never less than the concerns");
    }

    #[test]
    fn old_server_and_too_many_owners_select_more_and_never_less() {
        let concerns = BTreeSet::from([owned("shop", "db")]);
        let old = select(&concerns, "kruise-system", Conditions::Unknown);
        assert_eq!(old.match_conditions, json!([]));
        assert_eq!(old.namespace_selector["matchExpressions"][1]["values"], json!(["shop"]));

        let many = selection((0..=OWNERS_MAX).map(|i| owned("shop", &format!("db{i}"))));
        assert_eq!(many.match_conditions[0]["expression"], "request.namespace in ['shop']");
        let wide = selection((0..=NAMESPACES_MAX).map(|i| owned(&format!("n{i}"), "db")));
        assert_eq!(wide.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
        assert_ne!(wide.match_conditions, json!([]));
    }
}
