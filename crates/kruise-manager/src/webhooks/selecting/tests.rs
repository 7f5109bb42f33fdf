use kruise_core::admission::selection::{Conditions, Pending, Place, Record, Recorded};
use kruise_core::gates::Gate;
use kruise_runtime::metrics::Metrics;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::leading::Patience;
use super::writer::{Change, Expired, Outcome, changed};
use super::*;
use crate::webhooks::entry::Sort;
use crate::webhooks::{nobody, pods};

fn place() -> Place {
    Place { own_namespace: "kruise-system".to_owned(), conditions: Conditions::Known }
}

fn writer() -> Writer {
    Writer {
        client: nobody(),
        steps: Arc::new(pods::steps()),
        place: place(),
        metrics: Arc::new(Metrics::default()),
    }
}

fn needed(gates: Gates) -> Wanted {
    let writer = writer();
    Selecting { stores: Arc::new(Stores::new(&gates)), gates, writer }.needed()
}

fn owned(name: &str) -> Concern {
    Concern::OwnedBy { namespace: "shop".into(), kind: "StatefulSet".into(), name: name.into() }
}

fn wanted(concerns: impl IntoIterator<Item = Concern>) -> Wanted {
    Wanted::from([(Entry::Mutating, concerns.into_iter().collect())])
}

/// As a chart leaves it: nothing selected, nothing noted.
fn configuration() -> Value {
    let aks = json!({"key": "control-plane", "operator": "NotIn", "values": ["true"]});
    let entry =
        json!({"name": "mpod.kb.io", "namespaceSelector": {"matchExpressions": [aks]}, "objectSelector": {}});
    json!({"metadata": {"name": "m", "resourceVersion": "1"}, "webhooks": [{"name": "mcloneset.kb.io"}, entry]})
}

fn apply(live: &Value, change: Change<'_>) -> Outcome {
    changed(live, Sort::Mutating, change, (&pods::steps(), &place()))
}

/// The configuration with the change, stored with this version.
fn after(live: &Value, change: Change<'_>, version: &str) -> Value {
    let mut written = apply(live, change).write.expect("something to write");
    written["metadata"]["resourceVersion"] = json!(version);
    written
}

fn led(live: &Value, concerns: impl IntoIterator<Item = Concern>) -> Value {
    after(live, Change::Lead { needed: &wanted(concerns), expired: &Expired::new() }, "2")
}

fn expression(live: &Value) -> &str {
    live.pointer("/webhooks/1/matchConditions/0/expression").and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test]
async fn without_gate_and_objects_only_pods_that_ask_for_an_order_are_needed() {
    let nothing = needed(Gates::default().without(Gate::PodWebhook));
    assert!(nothing.values().all(BTreeSet::is_empty), "{nothing:?}");
    let usual = needed(Gates::default());
    assert_eq!(usual[&Entry::Mutating], BTreeSet::from([Concern::Launching]));
    for entry in [Entry::Validating, Entry::Evictions] {
        assert!(usual[&entry].is_empty(), "no step needs to be asked about changes and deletions");
    }
    let all = Gates::default().with(Gate::KruisePodReadinessGate);
    assert!(needed(all.clone())[&Entry::Mutating].contains(&Concern::Everybody));
    assert_eq!(needed(all.without(Gate::PodWebhook)), nothing);
}

/// 16.2: when objects are too many to be told apart, all pods of their namespaces are selected, and the replica says so until they fit
/// again.
#[tokio::test]
async fn selection_that_does_not_fit_is_wider_and_is_told() {
    let writer = writer();
    let told = |count: usize| {
        let concerns = (0..count).map(|number| owned(&format!("{}-{number}", "x".repeat(50))));
        let (needed, expired) = (wanted(concerns), Expired::new());
        let outcome = apply(&configuration(), Change::Lead { needed: &needed, expired: &expired });
        writer.tell(&outcome.widths);
        (outcome.write.expect("something to write"), writer.metrics.wide_pod_webhooks())
    };

    let (wide, of_many) = told(1_000);
    let (_, of_few) = told(3);

    assert_eq!(expression(&wide), "request.namespace in ['shop']");
    assert_eq!(of_many, BTreeMap::from([("mpod.kb.io".to_owned(), "namespaces")]));
    assert_eq!(of_few, BTreeMap::new());
}

/// 16.1: the leader narrows; a replica that is asked about an object widens; what others require stays.
#[test]
fn replica_widens_what_the_leader_has_narrowed() {
    let narrow = led(&configuration(), [owned("db")]);
    assert!(expression(&narrow).contains("'shop/StatefulSet/db'") && !expression(&narrow).contains("cache"));
    let selectors = narrow["webhooks"][1]["namespaceSelector"]["matchExpressions"].as_array().unwrap();
    assert!(selectors.iter().any(|one| one["key"] == "control-plane"), "16.15: {selectors:?}");

    let wider = after(&narrow, Change::Widen(&wanted([owned("cache")])), "3");

    assert!(expression(&wider).contains("['shop/StatefulSet/cache', 'shop/StatefulSet/db']"), "{wider}");
    assert_ne!(
        expression(&wider).split(" : ").next(),
        expression(&narrow).split(" : ").next(),
        "a new stamp"
    );
    assert_eq!(wider["webhooks"][0], narrow["webhooks"][0]);
    let again = apply(&wider, Change::Widen(&wanted([owned("db")])));
    assert_eq!(again.write, None, "the leader knows that it is needed");
    let lead = Change::Lead { needed: &wanted([owned("db")]), expired: &Expired::new() };
    assert_eq!(apply(&wider, lead).write, None, "the leader leaves what it has not seen yet");
}

/// A selection that is not the one that was noted: a chart, or a human, has written it. Only everything is surely not less.
#[test]
fn unknown_selection_is_widened_to_everything() {
    for live in [configuration(), {
        let mut reset = led(&configuration(), [owned("db")]);
        reset["webhooks"][1]["matchConditions"] = json!([]);
        reset
    }] {
        let wide = after(&live, Change::Widen(&wanted([owned("cache")])), "3");

        assert!(expression(&wide).ends_with(": (true)"), "{}", expression(&wide));
        let narrow = led(&wide, [owned("cache")]);
        assert!(expression(&narrow).ends_with(": (true)"), "not before it has expired");
    }
}

/// Configurations without pod entries are left alone, and an entry that a change is not about stays.
#[test]
fn entries_that_are_not_there_are_not_written() {
    let other = json!({"metadata": {"resourceVersion": "1"}, "webhooks": [{"name": "mcloneset.kb.io"}]});
    assert_eq!(apply(&other, Change::Widen(&wanted([owned("db")]))).write, None);
    let nothing = Wanted::new();
    assert_eq!(apply(&configuration(), Change::Widen(&nothing)).write, None);
}

/// Only what has been pending, unchanged, for longer than a request lasts.
#[test]
fn patience_begins_anew_with_every_stamp() {
    let of = |stamp: &str| {
        let pending = BTreeSet::from([Pending { concern: owned("db"), stamp: stamp.to_owned() }]);
        [Record([("mpod.kb.io".to_owned(), Recorded { pending, ..Recorded::default() })].into())]
    };
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut patience = Patience::default();
    patience.note(&of("1"), start);
    patience.note(&of("2"), at(100));
    patience.note(&of("2"), at(150));
    assert!(patience.expired(at(200)).is_empty());
    assert_eq!(patience.next(), Some(at(220)));
    assert_eq!(patience.expired(at(220)).len(), 1);
    patience.note(&[], at(220));
    assert!(patience.expired(at(220)).is_empty());
}
