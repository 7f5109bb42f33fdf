use super::condition::{EXPRESSION_BYTES_MAX, NAMESPACES_MAX};
use super::*;

fn owned(namespace: &str, name: &str) -> Concern {
    Concern::OwnedBy { namespace: namespace.into(), kind: "StatefulSet".into(), name: name.into() }
}

fn seen(sight: Sight, conditions: Conditions, concerns: impl IntoIterator<Item = Concern>) -> Selection {
    let place = Place { own_namespace: "kruise-system".into(), conditions };
    select(&concerns.into_iter().collect(), sight, &place)
}

fn selection(concerns: impl IntoIterator<Item = Concern>) -> Selection {
    seen(Sight::New, Conditions::Known, concerns)
}

fn expression(all: &Selection) -> &str {
    all.match_conditions[0]["expression"].as_str().unwrap_or_default()
}

fn named(names: &[&str]) -> Namespaces {
    Namespaces::Named(names.iter().map(|name| (*name).to_owned()).collect())
}

fn labelled(namespaces: Namespaces, selector: &Value) -> Concern {
    Concern::Labelled { namespaces, selector: Selector::read(selector).unwrap() }
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
    assert_eq!(expression(&selection([])), "false");
    let nothing = seen(Sight::New, Conditions::Unknown, []);
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

    assert_eq!(two.namespace_selector, selection([]).namespace_selector, "the condition alone tells");
    assert_eq!(two.object_selector, json!({}));
    let end = "in ['mail/StatefulSet/db', 'shop/StatefulSet/cache', 'shop/StatefulSet/db'])";
    assert!(expression(&two).ends_with(end), "{two:?}");
}

/// What a user writes into an object never becomes part of the expression as code: else one object of one namespace
/// would make the configuration unreadable for all.
#[test]
fn text_that_is_no_name_concerns_no_pod() {
    let nothing = selection([]);
    for odd in ["db'] || true || 'x' in ['", "a\\", "a\nb", "a b", "", &"a".repeat(254)] {
        assert_eq!(selection([owned("shop", odd)]), nothing, "{odd:?}");
        let kind = Concern::OwnedBy { namespace: "shop".into(), kind: odd.to_owned(), name: "db".to_owned() };
        assert_eq!(selection([kind]), nothing, "{odd:?}");
        let annotated = Concern::Annotated { namespaces: Namespaces::All, key: odd.to_owned() };
        assert_eq!(selection([annotated]), nothing, "{odd:?}");
        let exists = json!({"matchExpressions": [{"key": format!("k/{odd}"), "operator": "Exists"}]});
        assert_eq!(selection([labelled(Namespaces::All, &exists)]), nothing, "{odd:?}");
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
    let alone = selection([Concern::Launching]);
    let both = selection([Concern::Launching, owned("shop", "db")]);

    for one in [&alone, &both] {
        assert_eq!(one.object_selector, json!({}));
        assert_eq!(one.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
        assert!(expression(one).contains("'KRUISE_CONTAINER_PRIORITY'"), "{one:?}");
    }
    assert!(expression(&both).ends_with(")) || (has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && (request.namespace + '/' + o.kind + '/' + o.name) in ['shop/StatefulSet/db']))"), "{both:?}");
    let old = seen(Sight::New, Conditions::Unknown, [Concern::Launching]);
    assert_eq!(
        old,
        seen(Sight::New, Conditions::Unknown, []),
        "a server without conditions would ask about every pod"
    );
}

#[test]
fn old_server_selects_by_namespace_as_far_as_they_are_few() {
    let old = seen(Sight::New, Conditions::Unknown, [owned("shop", "db")]);
    assert_eq!(old.match_conditions, json!([]));
    assert_eq!(old.namespace_selector["matchExpressions"][1]["values"], json!(["shop"]));
    assert_eq!(old.width, Width::Exact);

    let many = (0..=NAMESPACES_MAX).map(|i| owned(&format!("n{i}"), "db"));
    let wide = seen(Sight::New, Conditions::Unknown, many.clone());
    assert_eq!(wide.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
    assert_eq!(wide.width, Width::Everything);
    let told_apart = selection(many);
    assert_eq!(told_apart.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
    assert!(expression(&told_apart).contains("'n7/StatefulSet/db'"), "{told_apart:?}");
    assert_eq!(told_apart.width, Width::Exact);
}

/// 16.2: what does not fit selects more and never less, and says so.
#[test]
fn expression_that_would_be_too_long_falls_back_to_namespaces_and_then_to_everything() {
    let long = "a".repeat(253);
    let in_one_namespace = |count: usize| (0..count).map(|i| owned("shop", &format!("{}{i:03}", &long[3..])));
    let fitting = selection(in_one_namespace(30));
    assert_eq!(fitting.width, Width::Exact);
    assert!(expression(&fitting).contains("/StatefulSet/aaa"), "{fitting:?}");

    let many = selection(in_one_namespace(400));
    assert_eq!((many.width, expression(&many)), (Width::Namespaces, "request.namespace in ['shop']"));
    let launching = selection(in_one_namespace(400).chain([Concern::Launching]));
    assert!(expression(&launching).ends_with("|| (request.namespace in ['shop'])"), "{launching:?}");
    assert!(expression(&launching).contains("'KRUISE_CONTAINER_PRIORITY'"), "{launching:?}");
    assert_eq!(launching.width, Width::Namespaces);

    let everywhere = (0..400).map(|i| owned(&format!("namespace-{i}-of-a-usual-length"), &long));
    let all = selection(everywhere);
    assert_eq!((all.width, all.match_conditions), (Width::Everything, json!([])));
    assert_eq!(
        (&all.object_selector, all.namespace_selector["matchExpressions"][1].is_null()),
        (&json!({}), true)
    );
}

/// Hundreds of objects with names of all lengths, for each sight and server: the bound holds, and no pod is lost.
#[test]
fn no_expression_is_longer_than_the_bound() {
    for count in [1, 50, 200, 700] {
        for length in [3, 40, 250] {
            let of = |i: usize| owned(&format!("n{}", i % 150), &format!("{}{i}", "x".repeat(length)));
            for sight in [Sight::New, Sight::Stored, Sight::Namespace] {
                for conditions in [Conditions::Known, Conditions::Unknown] {
                    let one = seen(sight, conditions, (0..count).map(of));
                    assert!(expression(&one).len() <= EXPRESSION_BYTES_MAX, "{count} {length} {sight:?}");
                    assert!(one.match_conditions.as_array().unwrap().len() <= 1);
                    assert_eq!(one.object_selector, json!({}), "some pods are selected");
                    let names = &one.namespace_selector["matchExpressions"][1]["values"];
                    let are_few = conditions == Conditions::Unknown && count.min(150) <= NAMESPACES_MAX;
                    assert_eq!(names.is_null(), !are_few, "{count}: {names}");
                }
            }
        }
    }
}

/// A very long name in one object of one namespace widens nothing for the others: no workload can have it.
#[test]
fn name_that_no_object_can_have_does_not_widen_the_selection() {
    let with = selection([owned("shop", "db"), owned("mail", &"a".repeat(20_000))]);
    assert_eq!(with, selection([owned("shop", "db")]));
}

/// On deletion `object` is null: the old object says whether the pod is meant.
#[test]
fn stored_pods_are_told_by_the_old_object_too() {
    let key = "pub.kruise.io/related-pub";
    let annotated = Concern::Annotated { namespaces: named(&["shop"]), key: key.into() };

    let stored = seen(Sight::Stored, Conditions::Known, [annotated.clone()]);

    let wanted = "[object, oldObject].exists(p, p != null && (request.namespace in ['shop'] && \
        has(p.metadata.annotations) && 'pub.kruise.io/related-pub' in p.metadata.annotations))";
    assert_eq!(expression(&stored), wanted);
    let owner = seen(Sight::Stored, Conditions::Known, [owned("shop", "db")]);
    assert!(expression(&owner).contains("p.metadata.ownerReferences.exists("), "{owner:?}");
    assert!(expression(&selection([annotated])).contains("in object.metadata.annotations"));
}

/// An Eviction is not the pod: neither its labels nor a condition could tell whose it is.
#[test]
fn evictions_are_selected_by_namespace_only() {
    let annotated = Concern::Annotated { namespaces: named(&["shop"]), key: "a".into() };
    let evictions = |concerns: Vec<Concern>| seen(Sight::Namespace, Conditions::Known, concerns);

    let few = evictions(vec![annotated.clone(), owned("mail", "db")]);

    assert_eq!(expression(&few), "request.namespace in ['mail', 'shop']");
    assert_eq!(few.object_selector, json!({}));
    let everywhere = Concern::Annotated { namespaces: Namespaces::All, key: "a".into() };
    let all = evictions(vec![everywhere, annotated]);
    assert_eq!(all.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
    let many = evictions((0..=NAMESPACES_MAX).map(|i| owned(&format!("n{i}"), "db")).collect());
    assert!(expression(&many).starts_with("request.namespace in ['n0', "), "{many:?}");
    assert_eq!(expression(&evictions(vec![])), "false");
}

#[test]
fn labelled_pods_are_selected_by_each_requirement() {
    let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "NotIn", "values": ["b", "a"]},
        {"key": "x/y", "operator": "Exists"},
        {"key": "z", "operator": "DoesNotExist"},
    ]});
    let anywhere = selection([labelled(Namespaces::All, &selector)]);

    let labels = "object.metadata.labels";
    let has = |key: &str| format!("has({labels}) && '{key}' in {labels}");
    let wanted = [
        format!("({} && {labels}['app'] in ['web'])", has("app")),
        format!("!({} && {labels}['tier'] in ['a', 'b'])", has("tier")),
        format!("({})", has("x/y")),
        format!("!({})", has("z")),
    ];
    assert_eq!(expression(&anywhere), wanted.join(" && "));
    assert_eq!(anywhere.namespace_selector["matchExpressions"].as_array().unwrap().len(), 1);
    let all_of_one = selection([labelled(named(&["shop"]), &json!({}))]);
    assert_eq!(expression(&all_of_one), "request.namespace in ['shop']");
    assert_eq!(selection([labelled(Namespaces::All, &json!({}))]), selection([Concern::Everybody]));
    assert_eq!(selection([labelled(named(&[]), &selector)]), selection([]));
}

fn place() -> Place {
    Place { own_namespace: "kruise-system".into(), conditions: Conditions::Known }
}

fn recorded(needed: impl IntoIterator<Item = Concern>) -> Recorded {
    Recorded { stamp: "1".into(), needed: needed.into_iter().collect(), pending: BTreeSet::new() }
}

fn pending(concern: Concern, stamp: &str) -> Pending {
    Pending { concern, stamp: stamp.into() }
}

/// 16.1: what an object that is let in needs is selected from then on, until the leader has had time to see it.
#[test]
fn widening_selects_more_and_says_since_when() {
    let (db, cache) = (owned("shop", "db"), owned("shop", "cache"));
    let before = recorded([db.clone()]);

    let wider = before.widened(&BTreeSet::from([db.clone(), cache.clone()]), "7");

    assert_eq!(wider.pending, BTreeSet::from([pending(cache.clone(), "7")]), "what is needed stays needed");
    assert_eq!(wider.all(), BTreeSet::from([db.clone(), cache.clone()]));
    let again = wider.widened(&BTreeSet::from([cache.clone()]), "9");
    assert_eq!(again.pending, BTreeSet::from([pending(cache, "9")]), "asked for again: it begins anew");
    let whole = recorded([labelled(named(&["shop", "mail"]), &json!({}))]);
    assert!(whole.is_needed(&db) && !whole.is_needed(&owned("bank", "db")));
    assert!(!whole.is_needed(&Concern::Launching), "pods elsewhere, too");
}

/// The leader does not drop what it does not know: an object may be on its way to it.
#[test]
fn leader_keeps_what_is_pending_until_it_expires() {
    let (db, cache) = (owned("shop", "db"), owned("shop", "cache"));
    let (none, both) = (BTreeSet::new(), BTreeSet::from([db.clone(), cache.clone()]));
    let widened = recorded([]).widened(&both, "2");

    let unseen = widened.led(&BTreeSet::new(), &none, "3");
    assert_eq!(unseen.pending, widened.pending, "not in the cache yet");
    let seen_one = widened.led(&BTreeSet::from([db.clone()]), &none, "4").bounded(Sight::New, &place()).0;
    assert_eq!((seen_one.needed.len(), seen_one.pending.len()), (1, 1));
    let gone = seen_one.led(&BTreeSet::new(), &none, "5");
    assert_eq!(gone.all(), both, "what was needed stays for a while");
    let expired = BTreeSet::from([pending(cache.clone(), "2")]);
    assert_eq!(gone.led(&BTreeSet::new(), &expired, "6").all(), BTreeSet::from([db]));
    let asked_again =
        gone.widened(&BTreeSet::from([cache.clone()]), "7").led(&BTreeSet::new(), &expired, "8");
    assert!(asked_again.all().contains(&cache), "what expired was an earlier wish");
}

/// The record is no longer than what it says can be told apart, and forgets no pod.
#[test]
fn record_of_very_many_objects_stays_short() {
    let long = "a".repeat(240);
    let many: BTreeSet<Concern> =
        (0..400).map(|i| owned(&format!("n{}", i % 3), &format!("{long}{i}"))).collect();
    let all = recorded(many.iter().step_by(2).cloned()).widened(&many, "5");

    let (short, width) = all.bounded(Sight::New, &place());

    assert_eq!(width, Width::Namespaces);
    assert!(Record([("m".to_owned(), short.clone())].into()).text().len() < 1_000);
    assert!(many.iter().all(|one| short.is_needed(one)), "{short:?}");
    assert_eq!(short.clone().bounded(Sight::New, &place()).0, short);
    let led = short.led(&many, &BTreeSet::new(), "6").bounded(Sight::New, &place()).0;
    assert!(led.is_same(&short), "the leader has nothing to change: {led:?}");
    let mixed = recorded([]).widened(&many, "7");
    let mixed = Recorded { stamp: "8".into(), ..mixed.widened(&many.iter().take(1).cloned().collect(), "8") };
    let stamps: BTreeSet<String> =
        mixed.bounded(Sight::New, &place()).0.pending.into_iter().map(|one| one.stamp).collect();
    assert!(stamps.contains("8"), "one that was asked for last begins anew: {stamps:?}");
}

#[test]
fn record_is_read_back() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]});
    let all = [Concern::Everybody, Concern::Launching, labelled(Namespaces::All, &selector), owned("a", "b")];
    let record =
        Record([("m".to_owned(), recorded(all).widened(&BTreeSet::from([owned("c", "d")]), "2"))].into());
    assert_eq!(Record::read(&record.text()), Some(record));
    assert_eq!(Record::read("{"), None);
}

/// Only the version with this stamp is asked about the probe, and only if it is tried.
#[test]
fn probe_is_told_by_the_stamp() {
    let one = Recorded { stamp: "17".into(), ..recorded([]) }.selection(Sight::New, &place());
    assert!(expression(&one).starts_with("has(request.dryRun) && request.dryRun && "), "{one:?}");
    assert!(expression(&one).ends_with("['kruise.io/selection-probe'] == '17' : (false)"), "{one:?}");
    let all = recorded([Concern::Everybody]).selection(Sight::New, &place());
    assert!(expression(&all).ends_with("== '1' : (true)"), "{all:?}");
    let evictions = recorded([owned("a", "b")]).selection(Sight::Namespace, &place());
    assert_eq!(expression(&evictions), "request.namespace in ['a']", "an eviction is never tried");

    let request = crate::admission::Request::create(probe("17"));
    assert_eq!(probed(&request), None);
    let refused = probed(&request.tried()).unwrap().denial.unwrap().message;
    let told = format!("admission webhook \"mpod.kb.io\" denied the request: {refused}");
    assert!(seen_by(&told, "17") && !seen_by(&told, "1"));
}
