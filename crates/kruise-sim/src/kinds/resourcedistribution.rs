//! ResourceDistribution: no foreign object and no protected namespace is ever written, and in the end every target has the content that was
//! asked for.

use kruise_api::resource::{CONFIG_MAPS, NAMESPACES, SECRETS};
use kruise_core::lookup::Slim;
use kruise_core::resourcedistribution::{PROTECTED, ResourceDistribution};
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "resourcedistribution",
    title: "ResourceDistribution",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const SUBJECT: Target = Target::new(ResourceDistribution::RESOURCE, "d");
const SECOND: Target = Target::new(ResourceDistribution::RESOURCE, "e");
/// In the namespace `default`.
const COPY: Target = Target::new(CONFIG_MAPS, "shared");
const HERE: Target = Target::new(NAMESPACES, "default");
const THERE: Target = Target::new(NAMESPACES, "there");
const SYSTEM: Target = Target::new(NAMESPACES, "kube-system");

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Patch, Settle};
    let scenario = |name: &'static str| {
        [HERE, THERE, SYSTEM]
            .into_iter()
            .fold(Scenario::new(&KIND, name), |one, target| one.with(target, namespace(target)))
    };
    let create =
        |target, value: &str| Create(target, distribution(target, value, &json!({"allNamespaces": true})));
    let content = |value: &str| json!({"spec": {"resource": {"data": {"k": value}}}});
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": COPY.name}, "data": {"k": "theirs"}});
    vec![
        scenario("distributes").then([
            create(SUBJECT, "1"),
            Settle,
            Patch(SUBJECT, content("2")),
            Settle,
            Patch(COPY, json!({"data": {"k": "edited", "more": "1"}})),
            Settle,
            Delete(COPY),
            Settle,
        ]),
        scenario("moves").then([
            create(SUBJECT, "1"),
            Settle,
            Patch(SUBJECT, json!({"spec": {"targets": {"allNamespaces": null, "includedNamespaces": {"list": [{"name": THERE.name}]}}}})),
            Settle,
        ]),
        scenario("conflict").then([
            Create(COPY, foreign),
            create(SUBJECT, "1"),
            Settle,
            Delete(COPY),
            Settle,
        ]),
        scenario("two").then([
            create(SUBJECT, "1"),
            Settle,
            create(SECOND, "2"),
            Settle,
            Delete(SUBJECT),
            Settle,
        ]),
        scenario("secret").then([
            Create(SUBJECT, secret()),
            Settle,
            Patch(SUBJECT, json!({"spec": {"resource": {"metadata": {"labels": {"team": "a"}}}}})),
            Settle,
        ]),
    ]
}

fn namespace(target: Target) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": target.name, "labels": {"kubernetes.io/metadata.name": target.name}}, "status": {"phase": "Active"}})
}

fn distribution(target: Target, value: &str, targets: &Value) -> Value {
    let resource = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": COPY.name}, "data": {"k": value}});
    distribution_of(target, &resource, targets)
}

fn secret() -> Value {
    let resource = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": COPY.name}, "type": "Opaque", "data": {"k": "MQ=="}});
    distribution_of(SUBJECT, &resource, &json!({"allNamespaces": true}))
}

fn distribution_of(target: Target, resource: &Value, targets: &Value) -> Value {
    json!({
        "apiVersion": target.resource.api_version(), "kind": target.resource.kind(), "metadata": {"name": target.name},
        "spec": {"resource": resource, "targets": targets},
    })
}

/// Namespaces with an object of the name that is distributed, and what it contains.
fn copies(store: &Store) -> Vec<(String, Value)> {
    let of = |resource| resources::of(resource).into_iter().flat_map(|kind| store.list(kind.id, ""));
    let all = of(CONFIG_MAPS).chain(of(SECRETS)).map(|(_, one)| one.as_ref());
    let mut all: Vec<_> = all
        .filter(|one: &&Object| one.str("/metadata/name") == COPY.name)
        .map(|one| {
            let value = one.value.pointer("/data/k").cloned().unwrap_or_default();
            (one.str("/metadata/namespace").to_owned(), value)
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let copy = |namespace: &str, value: &str| (namespace.to_owned(), json!(value));
    let (wanted, subject) = match scenario.name {
        "distributes" => (vec![copy("default", "2"), copy("there", "2")], SUBJECT),
        "moves" => (vec![copy("there", "1")], SUBJECT),
        "two" => (vec![copy("default", "2"), copy("there", "2")], SECOND),
        "secret" => (vec![copy("default", "MQ=="), copy("there", "MQ==")], SUBJECT),
        _ => (vec![copy("default", "1"), copy("there", "1")], SUBJECT),
    };
    let found = copies(store);
    // Worlds may have further namespaces, which get a copy as well.
    let relevant: Vec<_> = found
        .iter()
        .filter(|(name, _)| ["default", "there", "kube-system"].contains(&name.as_str()))
        .cloned()
        .collect();
    if relevant != wanted {
        return Err(format!("copies are {relevant:?}"));
    }
    let number = |field: &str| {
        let stored =
            subject.find(store).and_then(|one| one.value.pointer(&format!("/status/{field}"))?.as_i64());
        stored.unwrap_or(0)
    };
    let counted = (number("desired"), number("succeeded"), number("failed"));
    if 0 < counted.0 && counted.0 == counted.1 && counted.2 == 0 {
        return Ok(());
    }
    Err(format!("the status counts {counted:?}"))
}

/// Looks at what is there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let is_copy = change.is_of(CONFIG_MAPS) || change.is_of(SECRETS);
        let now = &change.event.object;
        if !is_copy || !is_manager(change.who) || now.str("/metadata/name") != COPY.name {
            return;
        }
        if PROTECTED.contains(&now.str("/metadata/namespace")) && change.event.before.is_none() {
            notes.broken.push("a copy in a protected namespace".to_owned());
        }
        if change.event.before.as_deref().is_some_and(|before| owner(before).is_empty()) {
            notes.broken.push("a foreign object was written".to_owned());
        }
        if owner(now).is_empty() {
            notes.broken.push("a copy without its owner".to_owned());
        }
    }
}

/// Uid of the distribution that controls it; empty for a foreign object.
fn owner(copy: &Object) -> &str {
    let owners = copy.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let ours =
        |one: &&Value| one.get("kind").is_some_and(|kind| kind == ResourceDistribution::RESOURCE.kind());
    let found = owners.into_iter().flatten().find(ours);
    found.and_then(|one| one.get("uid")?.as_str()).unwrap_or_default()
}
