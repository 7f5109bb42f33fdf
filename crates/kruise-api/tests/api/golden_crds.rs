//! Generated CRDs against the recorded ones: same names, versions, columns, subresources, paths, types, formats, enums,
//! defaults, required. What differs on purpose stands in `testdata/crd-differences.txt`.

use std::collections::{BTreeMap, BTreeSet};

use kruise_api::crd::all_crds;
use serde_json::{Map, Value, json};

use crate::support;

const INTENDED: &str = include_str!("../../testdata/crd-differences.txt");

/// Kinds whose two versions have one shape. Nothing but the version changes, so no webhook is needed to read them.
const ONE_SHAPE: [&str; 3] = ["BroadcastJob", "ImagePullJob", "ImageListPullJob"];

#[test]
fn every_field_is_the_recorded_one_or_a_listed_difference() {
    let golden = support::golden("crd");
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for crd in all_crds() {
        let name = text(&crd["metadata"]["name"]);
        let plural = text(&crd["spec"]["names"]["plural"]);
        for version in list(&crd["spec"]["versions"]) {
            let ours = support::fields(&version["schema"]["openAPIV3Schema"]);
            let theirs = golden[&format!("crd/{name}")]["versions"][text(&version["name"])]["fields"].clone();
            for difference in differences(&ours, theirs.as_object().unwrap()) {
                found
                    .entry(format!("{plural}\t{difference}"))
                    .or_default()
                    .push(text(&version["name"]).to_owned());
            }
        }
    }
    let found: BTreeSet<_> = found
        .iter()
        .map(|(row, versions)| row.replacen('\t', &format!(" {} ", versions.join(",")), 1))
        .collect();
    let intended = INTENDED.lines().skip_while(|line| !line.starts_with('#'));
    let intended: BTreeSet<_> =
        intended.filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect();

    let unlisted: Vec<_> = found.difference(&intended).collect();
    let stale: Vec<_> = intended.difference(&found).collect();

    assert!(
        unlisted.is_empty() && stale.is_empty(),
        "not listed: {unlisted:#?}\nno difference any more: {stale:#?}"
    );
}

#[test]
fn names_scopes_versions_columns_and_subresources_are_the_recorded_ones() {
    let golden = support::golden("crd");
    assert_eq!(golden.len(), all_crds().len());
    for crd in all_crds() {
        let (name, spec) = (text(&crd["metadata"]["name"]), &crd["spec"]);
        let facts = &golden[&format!("crd/{name}")];
        assert_eq!(spec["group"], facts["group"], "{name}");
        assert_eq!(spec["names"], facts["names"], "{name}");
        assert_eq!(spec["scope"], facts["scope"], "{name}");
        let recorded = facts["versions"].as_object().unwrap();
        assert_eq!(list(&spec["versions"]).len(), recorded.len(), "{name}");
        for version in list(&spec["versions"]) {
            let recorded = &recorded[text(&version["name"])];
            assert_eq!(version["served"], recorded["served"], "{name}");
            assert_eq!(version["storage"], recorded["storage"], "{name}");
            assert_eq!(version["subresources"], recorded["subresources"], "{name}");
            let columns = version.get("additionalPrinterColumns").cloned().unwrap_or_else(|| json!([]));
            assert_eq!(columns, recorded["columns"], "{name}");
        }
    }
}

/// platform 7.4 (OURS): Webhook wherever schemas differ, None only where they are equal.
#[test]
fn a_webhook_converts_exactly_where_versions_differ() {
    for crd in all_crds() {
        let spec = &crd["spec"];
        let [old, new] = list(&spec["versions"]) else {
            continue;
        };
        let one_shape = old["schema"] == new["schema"];
        assert_eq!(one_shape, ONE_SHAPE.contains(&text(&spec["names"]["kind"])));
        let strategy = if one_shape { "None" } else { "Webhook" };
        assert_eq!(spec["conversion"]["strategy"], strategy, "{}", spec["names"]["kind"]);
    }
}

#[test]
fn every_field_is_described_in_words() {
    for crd in all_crds() {
        for version in list(&crd["spec"]["versions"]) {
            let mut bare = Vec::new();
            undescribed(&version["schema"]["openAPIV3Schema"], "", &mut bare);
            assert!(bare.is_empty(), "{} {}: {bare:?}", crd["metadata"]["name"], version["name"]);
        }
    }
}

fn undescribed(schema: &Value, path: &str, bare: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if path != ".metadata" && property["description"].as_str().is_none_or(str::is_empty) {
            bare.push(path.clone());
        }
        undescribed(property, &path, bare);
    }
    for child in ["items", "additionalProperties"].into_iter().filter(|child| schema[child].is_object()) {
        undescribed(&schema[child], &format!("{path}[]"), bare);
    }
}

/// Differences as lines of the table, without CRD and versions.
fn differences(ours: &BTreeMap<String, Map<String, Value>>, theirs: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for path in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let (Some(ours), Some(Value::Object(theirs))) = (ours.get(path), theirs.get(path)) else {
            found.push(format!("{path} {}", if ours.contains_key(path) { "added" } else { "missing" }));
            continue;
        };
        for keyword in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            match (ours.get(keyword), theirs.get(keyword)) {
                (ours, theirs) if ours == theirs => {}
                (Some(ours), _) => found.push(format!("{path} {keyword}={ours}")),
                (None, _) => found.push(format!("{path} {keyword} left out")),
            }
        }
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
