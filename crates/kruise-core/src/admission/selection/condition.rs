//! The match condition of an entry: a CEL expression that holds for the pods of all concerns.
//!
//! The texts in it come from objects of users. Only what can be a name or a label reaches the expression, so that one object of
//! one namespace can neither become code in it nor make it unreadable.

use std::collections::BTreeSet;

use kruise_api::{annotations, env};

use super::{Concern, Conditions, Namespaces, Sight, Width};
use crate::order::{Requirement, Selector};

/// Every replica of the API server compiles the expression and evaluates it for every pod request, within a bound on its cost
/// beyond which the request fails. A list of names costs about its length, so this is far from that bound.
pub(super) const EXPRESSION_BYTES_MAX: usize = 10 << 10;
/// More names make the entry too long to be looked at for every pod; then all namespaces are selected.
pub(super) const NAMESPACES_MAX: usize = 100;
/// No object has a longer name.
const NAME_BYTES_MAX: usize = 253;
/// No label has a longer value, nor a longer key after its prefix.
const LABEL_BYTES_MAX: usize = 63;

/// The pods that an entry has to match.
pub(super) enum Reach<'a> {
    Nobody,
    Everybody,
    Some(Pods<'a>),
}

/// Some pods, and how they are told from others.
pub(super) struct Pods<'a> {
    sight: Sight,
    conditions: Conditions,
    /// Where the pods of `owners` and `named` are.
    namespaces: BTreeSet<&'a str>,
    /// `namespace/kind/name` of controllers.
    owners: BTreeSet<String>,
    /// What holds for pods in some namespaces.
    named: Vec<String>,
    /// Namespaces all of whose pods are meant.
    whole: BTreeSet<&'a str>,
    /// What holds for pods wherever they are.
    anywhere: Vec<String>,
}

impl<'a> Reach<'a> {
    pub(super) fn of(concerns: &'a BTreeSet<Concern>, sight: Sight, conditions: Conditions) -> Self {
        let mut pods = Pods::none(sight, conditions);
        for concern in concerns {
            match concern {
                Concern::Everybody => return Self::Everybody,
                Concern::Launching if conditions == Conditions::Unknown => {}
                Concern::Launching => pods.anywhere.push(launching(pods.variable())),
                Concern::OwnedBy { namespace, kind, name } => pods.add_owner(namespace, kind, name),
                Concern::Annotated { namespaces, key } => {
                    let part = is_label_key(key).then(|| has_key(pods.variable(), "annotations", key));
                    pods.add(namespaces, part.map(|part| vec![part]));
                }
                Concern::Labelled { namespaces: Namespaces::All, selector } if selector.is_empty() => {
                    return Self::Everybody;
                }
                Concern::Labelled { namespaces, selector } => {
                    pods.add(namespaces, has_labels(pods.variable(), selector));
                }
            }
        }
        if !pods.anywhere.is_empty() && pods.are_told_by_namespace_only() {
            return Self::Everybody;
        }
        let is_nobody = pods.anywhere.is_empty() && pods.namespaces.is_empty();
        if is_nobody { Self::Nobody } else { Self::Some(pods) }
    }
}

impl<'a> Pods<'a> {
    fn none(sight: Sight, conditions: Conditions) -> Self {
        let (namespaces, owners, whole) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { sight, conditions, namespaces, owners, named: Vec::new(), whole, anywhere: Vec::new() }
    }

    /// The namespaces that a selector restricts the entry to, where there are no conditions; absent where they are too many, or all.
    pub(super) fn few_namespaces(&self) -> Option<&BTreeSet<&'a str>> {
        let are_few = self.anywhere.is_empty() && self.namespaces.len() <= NAMESPACES_MAX;
        are_few.then_some(&self.namespaces)
    }

    /// The narrowest condition that is not too long, absent for none, and how narrow the entry is with it.
    pub(super) fn narrowest(&self) -> (Option<String>, Width) {
        let candidates = if self.are_told_by_namespace_only() {
            vec![(is_in(&self.namespaces), Width::Exact)]
        } else {
            vec![(self.exactly(), Width::Exact), (self.by_namespace(), Width::Namespaces)]
        };
        let fitting = candidates.into_iter().find(|(expression, _)| expression.len() <= EXPRESSION_BYTES_MAX);
        fitting.map_or((None, Width::Everything), |(expression, width)| (Some(expression), width))
    }

    fn are_told_by_namespace_only(&self) -> bool {
        self.conditions == Conditions::Unknown || self.sight == Sight::Namespace
    }

    /// No pod has an owner of another kind or name: the API server takes no such object.
    fn add_owner(&mut self, namespace: &'a str, kind: &str, name: &str) {
        if [namespace, kind, name].into_iter().all(is_name) {
            self.namespaces.insert(namespace);
            self.owners.insert(format!("{namespace}/{kind}/{name}"));
        }
    }

    /// Pods for which all parts hold; without any, all pods of the namespaces. No pod where the parts are absent.
    fn add(&mut self, namespaces: &'a Namespaces, parts: Option<Vec<String>>) {
        let Some(mut parts) = parts else { return };
        match namespaces {
            Namespaces::All if parts.is_empty() => self.anywhere.push("true".to_owned()),
            Namespaces::All => self.anywhere.push(parts.join(" && ")),
            Namespaces::Named(names) => {
                let names: BTreeSet<&str> =
                    names.iter().map(String::as_str).filter(|name| is_name(name)).collect();
                if names.is_empty() {
                    return;
                }
                self.namespaces.extend(&names);
                if parts.is_empty() {
                    self.whole.extend(names);
                    return;
                }
                parts.insert(0, is_in(&names));
                self.named.push(parts.join(" && "));
            }
        }
    }

    fn exactly(&self) -> String {
        let owned = (!self.owners.is_empty()).then(|| owned_by_one_of(self.variable(), &self.owners));
        let parts = self.anywhere.iter().chain(&self.named).cloned().chain(owned).collect::<Vec<_>>();
        let told_by_pod = (!parts.is_empty()).then(|| self.seen(&any(&parts)));
        let whole = (!self.whole.is_empty()).then(|| is_in(&self.whole));
        any(&told_by_pod.into_iter().chain(whole).collect::<Vec<_>>())
    }

    fn by_namespace(&self) -> String {
        let anywhere = (!self.anywhere.is_empty()).then(|| self.seen(&any(&self.anywhere)));
        let named = (!self.namespaces.is_empty()).then(|| is_in(&self.namespaces));
        any(&anywhere.into_iter().chain(named).collect::<Vec<_>>())
    }

    /// What the pod is called in expressions.
    fn variable(&self) -> &'static str {
        match self.sight {
            Sight::New | Sight::Namespace => "object",
            Sight::Stored => "p",
        }
    }

    /// `object` is null on deletion.
    fn seen(&self, expression: &str) -> String {
        match self.sight {
            Sight::New | Sight::Namespace => expression.to_owned(),
            Sight::Stored => format!("[object, oldObject].exists(p, p != null && ({expression}))"),
        }
    }
}

fn any(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        several => several.iter().map(|part| format!("({part})")).collect::<Vec<_>>().join(" || "),
    }
}

fn is_in(namespaces: &BTreeSet<&str>) -> String {
    format!("request.namespace in [{}]", quoted(namespaces))
}

/// The keys are made of names, see [`is_name`].
fn owned_by_one_of(pod: &str, keys: &BTreeSet<String>) -> String {
    format!(
        "has({pod}.metadata.ownerReferences) && {pod}.metadata.ownerReferences.exists(o, has(o.controller) && \
         o.controller && (request.namespace + '/' + o.kind + '/' + o.name) in [{}])",
        quoted(keys)
    )
}

/// SM-95: more than one container, and an order by annotation or by a variable.
fn launching(pod: &str) -> String {
    format!(
        "has({pod}.spec.containers) && {pod}.spec.containers.size() > 1 && \
         (({annotated}) || {pod}.spec.containers.exists(c, has(c.env) && c.env.exists(e, has(e.name) && e.name == '{}')))",
        env::CONTAINER_PRIORITY,
        annotated = has_key(pod, "annotations", annotations::CONTAINER_LAUNCH_PRIORITY),
    )
}

fn has_key(pod: &str, map: &str, key: &str) -> String {
    format!("has({pod}.metadata.{map}) && '{key}' in {pod}.metadata.{map}")
}

/// What holds for pods that the selector selects; absent if it selects none.
fn has_labels(pod: &str, selector: &Selector) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    for requirement in selector.requirements() {
        match requirement {
            Requirement::In(key, values) => parts.push(label_in(pod, key, values)?),
            Requirement::Exists(key) if !is_label_key(key) => return None,
            Requirement::Exists(key) => parts.push(format!("({})", has_key(pod, "labels", key))),
            // No pod has what cannot be a label, so it lacks it.
            Requirement::NotIn(key, values) => {
                parts.extend(label_in(pod, key, values).map(|part| format!("!{part}")));
            }
            Requirement::DoesNotExist(key) if !is_label_key(key) => {}
            Requirement::DoesNotExist(key) => parts.push(format!("!({})", has_key(pod, "labels", key))),
        }
    }
    Some(parts)
}

/// Absent if no label can be so.
fn label_in(pod: &str, key: &str, values: &[String]) -> Option<String> {
    let values: BTreeSet<&str> =
        values.iter().map(String::as_str).filter(|value| is_label_value(value)).collect();
    let is_possible = is_label_key(key) && !values.is_empty();
    is_possible.then(|| {
        let there = has_key(pod, "labels", key);
        format!("({there} && {pod}.metadata.labels['{key}'] in [{}])", quoted(&values))
    })
}

fn quoted<T: AsRef<str>>(texts: &BTreeSet<T>) -> String {
    texts.iter().map(|text| format!("'{}'", text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// What can stand in CEL as it is.
fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '.'))
}

fn is_label_value(text: &str) -> bool {
    text.len() <= LABEL_BYTES_MAX
        && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '.' | '_'))
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_name(prefix) && !name.is_empty() && is_label_value(name),
        None => !text.is_empty() && is_label_value(text),
    }
}
