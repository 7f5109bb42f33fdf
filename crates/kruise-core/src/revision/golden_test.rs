//! Every revision recorded from the original must come out byte for byte.

use serde_json::Value;

use super::*;
use crate::golden;

/// Data text, name and claim hash of one recorded revision, computed from the template it was made of.
fn check(file: &str, workload: &str, spec: &Value, recorded: &Value) {
    let data = Data::of(&spec["template"]).unwrap();
    assert_eq!(data.text(), gojson::in_order(&recorded["data"]), "{file}: data");
    assert_eq!(data.name(workload, 0).as_str(), recorded["name"], "{file}: name");
    assert_eq!(
        data.name(workload, 0).hash().as_str(),
        recorded["labels"]["controller.kubernetes.io/hash"],
        "{file}: hash label"
    );
    if let Some(claim_hash) = recorded["annotations"].get("kruise.io/cloneset-volumeclaimtemplate-hash") {
        let templates = spec["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
        assert_eq!(hash::of_claim_templates(&templates).unwrap(), *claim_hash, "{file}: claim hash");
    }
}

#[test]
fn sm_1_sm_2_sm_3_sm_4_recorded_revisions_match_byte_for_byte() {
    let mut checked = 0;
    for folder in ["cloneset", "statefulset"] {
        for (file, recorded) in golden::folder(folder) {
            let stored = &recorded["stored_v1beta1"];
            let (Some(revisions), Some(name)) =
                (recorded["revisions"].as_array(), stored["metadata"]["name"].as_str())
            else {
                continue;
            };
            let Some(first) = revisions.first() else { continue };
            check(&file, name, &stored["spec"], first);
            checked += 1;
        }
    }
    assert!(checked >= 35, "only {checked} recorded revisions found");
}

#[test]
fn sm_10_every_recorded_revision_equals_its_template() {
    for (file, recorded) in golden::folder("cloneset") {
        let Some(revision) = recorded["revisions"].get(0) else {
            continue;
        };
        let template = &recorded["stored_v1alpha1"]["spec"]["template"];
        assert!(same_template(&revision["data"]["spec"]["template"], template, Writer::Unknown), "{file}");
    }
}

#[test]
fn sm_4_long_workload_names_are_cut() {
    let data = Data::of(&serde_json::json!({})).unwrap();

    let name = data.name(&"n".repeat(230), 0);

    assert_eq!(name.as_str().find('-'), Some(223));
}

#[test]
fn sm_5_a_collision_changes_the_name() {
    let data = Data::of(&serde_json::json!({})).unwrap();

    assert_ne!(data.name("w", 0), data.name("w", 1));
}
