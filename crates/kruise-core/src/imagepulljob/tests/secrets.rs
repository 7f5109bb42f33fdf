//! PJ-11 … PJ-14.

use serde_json::{Value, json};

use super::{asked, settle, status, with};
use crate::fixtures::images::{Cluster, SECRETS_IN, cluster, job, job_ref, secret};
use crate::imagepulljob::SecretCopy;
use crate::object::ObjectRef;
use crate::object::resource::SECRETS;
use crate::time;

fn with_secret() -> Value {
    with(&json!({"pullSecrets": ["reg"], "completionPolicy": {"type": "Never"}}))
}

fn annotation<'a>(copy: &'a Value, key: &str) -> &'a Value {
    &copy["metadata"]["annotations"][format!("imagepulljobs.kruise.io/{key}")]
}

fn secrets_of(cluster: &Cluster, node: &str) -> Value {
    cluster.node(node)["spec"]["images"]["nginx"]["pullSecrets"].clone()
}

#[test]
fn pj_11_secrets_that_agents_can_read_are_referenced_directly() {
    let mut local = with_secret();
    local["metadata"]["namespace"] = json!(SECRETS_IN);
    let mut cluster = cluster(&["a"]).with(&local);
    let job = crate::imagepulljob::ImagePullJob::read(&local);
    let settings = crate::imagepulljob::Settings { secrets: SECRETS_IN.into(), extra_ttl: 0 };
    assert!(crate::imagepulljob::sources(&job, &settings).is_empty(), "nothing is read");
    let plan = cluster.plan_stored(SECRETS_IN, "j");
    cluster.apply(&plan);
    assert_eq!(secrets_of(&cluster, "a"), json!([{"namespace": SECRETS_IN, "name": "reg"}]));
    assert!(cluster.copies().is_empty());

    let plain = cluster.clone().with(&job_without()).plan_job("plain");
    assert_eq!(plain.revisit_at, None, "a job without secrets has nothing to look after");
}

fn job_without() -> Value {
    job("plain", "redis:1")
}

/// Scenarios 1 and 3, images/16: one copy per source with equal data, its name fixed by its source; nodes wait for it.
#[test]
fn pj_12_pj_13_secret_is_copied_before_a_node_is_asked() {
    let mut cluster = cluster(&["a"]).with(&with_secret()).with(&secret("reg", "one"));
    let plan = cluster.plan_job("j");
    assert!(plan.reason_of("a").unwrap().to_string().contains("pull secret reg"));
    cluster.apply(&plan);
    assert!(asked(&cluster).is_empty());
    let copy = cluster.copies()[0].clone();
    assert_eq!(
        (&copy["type"], &copy["data"]),
        (&json!("kubernetes.io/dockerconfigjson"), &json!({".dockerconfigjson": "one"}))
    );
    assert_eq!(
        (annotation(&copy, "source-key"), annotation(&copy, "references"), annotation(&copy, "mode")),
        (&json!("n/reg"), &json!("n/j"), &json!("batch"))
    );
    assert_eq!(
        (&copy["metadata"]["labels"]["team"], &copy["metadata"]["annotations"]["note"]),
        (&json!("a"), &json!("x"))
    );
    assert!(!copy["metadata"].to_string().contains("last-applied"), "the secret is there once");
    let name = copy["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("reg-") && name.len() == 10, "{name}");

    settle(&mut cluster);
    assert_eq!(secrets_of(&cluster, "a"), json!([{"namespace": SECRETS_IN, "name": name, "mode": "batch"}]));
    assert_eq!(
        cluster.plan_job("j").revisit_at,
        Some(time::after(cluster.now, 8)),
        "nothing watches secrets"
    );

    cluster.put(&secret("reg", "two"));
    assert_eq!(cluster.plan_job_blindly("j").writes().count(), 0, "it was not read");
    settle(&mut cluster);
    assert_eq!(cluster.copies()[0]["data"], json!({".dockerconfigjson": "two"}));

    cluster.delete(&ObjectRef::new(SECRETS, "n", "reg"));
    assert_eq!(cluster.plan_job("j").writes().count(), 0, "what agents have is kept");
}

#[test]
fn pj_13_missing_source_is_told_and_the_job_goes_on() {
    let mut cluster = cluster(&["a"]).with(&with_secret());
    let plan = cluster.plan_job("j");
    assert_eq!(plan.events[0].message, "pull secret n/reg does not exist: images are pulled without it");
    cluster.apply(&plan);
    assert_eq!((asked(&cluster), secrets_of(&cluster, "a")), (vec!["a".to_owned()], Value::Null));
    // When it appears, nodes that pull already get it, whatever the slots (images/5).
    cluster.put(&secret("reg", "one"));
    settle(&mut cluster);
    assert_eq!(secrets_of(&cluster, "a").as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&status(&cluster)["active"], &cluster.node("a")["spec"]["images"]["nginx"]["tags"][0]["version"]),
        (&json!(1), &Value::Null)
    );
}

/// Two jobs share the copy; the last one that goes takes it along. Scenarios 1, 2, 3.
#[test]
fn pj_12_pj_14_copy_is_shared_and_goes_with_its_last_job() {
    let mut other = with_secret();
    other["metadata"]["name"] = json!("k");
    let mut cluster = cluster(&["a"]).with(&with_secret()).with(&other).with(&secret("reg", "one"));
    let (first, second) = (cluster.plan_job("j"), cluster.plan_job("k"));
    cluster.apply(&first);
    assert_eq!(cluster.apply(&second), 1, "only its status: the name is taken");
    for name in ["j", "k", "j", "k"] {
        cluster.apply(&cluster.plan_job(name));
    }
    assert_eq!(cluster.copies().len(), 1);
    assert_eq!(annotation(cluster.copies()[0], "references"), "n/j,n/k");
    cluster.delete(&job_ref("j"));
    settle(&mut cluster);
    assert!(!cluster.has(&job_ref("j")));
    assert_eq!(annotation(cluster.copies()[0], "references"), "n/k");
    cluster.delete(&job_ref("k"));
    let release = cluster.plan_job("k");
    // Somebody began to use it meanwhile: it must not go.
    let copy = crate::fixtures::images::reference(cluster.copies()[0]);
    cluster.edit(&copy, |one| {
        one["metadata"]["annotations"]["imagepulljobs.kruise.io/references"] = json!("n/k,n/new");
    });
    assert_eq!(cluster.apply(&release), 0);
    cluster.apply(&cluster.plan_job("k"));
    assert_eq!(annotation(cluster.copies()[0], "references"), "n/new");
    assert!(!cluster.has(&job_ref("k")));
}

/// Legacy copies have a name by lot and no mode; they are used as they are (PJ-12), and one that is used already is preferred.
#[test]
fn pj_12_copies_of_older_releases_are_used_again() {
    let legacy = |name: &str, jobs: &str| {
        let mut one = secret(name, "one");
        one["metadata"] = json!({"name": name, "namespace": SECRETS_IN, "labels": {"imagepulljobs.kruise.io/source-uid": "u"},
            "annotations": {"imagepulljobs.kruise.io/source-key": "n/reg", "imagepulljobs.kruise.io/references": jobs}});
        one
    };
    let mut cluster = cluster(&["a"])
        .with(&with_secret())
        .with(&secret("reg", "one"))
        .with(&legacy("reg-abc", "n/x"))
        .with(&legacy("reg-xyz", "n/j"));
    settle(&mut cluster);
    assert_eq!(secrets_of(&cluster, "a"), json!([{"namespace": SECRETS_IN, "name": "reg-xyz"}]));
    assert_eq!(cluster.copies().len(), 2);
}

#[test]
fn pj_12_copies_that_are_not_named_any_more_are_released() {
    let mut cluster = cluster(&["a"]).with(&with_secret()).with(&secret("reg", "one"));
    settle(&mut cluster);
    cluster.edit(&job_ref("j"), |one| one["spec"]["pullSecrets"] = json!([]));
    settle(&mut cluster);
    assert!(cluster.copies().is_empty());
}

/// images/7, scenario 24: where nothing was copied there is nothing to wait for.
#[test]
fn images_7_job_without_copies_is_let_go_at_once() {
    let mut cluster = cluster(&["a"]).with(&with_secret());
    cluster.delete(&job_ref("j"));
    let plan = cluster.plan_job("j");
    assert_eq!(plan.writes().count(), 1, "the finalizer");
    cluster.apply(&plan);
    assert!(!cluster.has(&job_ref("j")));
}

/// images/16: names fit, and two sources of one name get two copies.
#[test]
fn images_16_names_of_copies_fit_and_differ() {
    let long = "x".repeat(253);
    let mut one = with_secret();
    one["spec"]["pullSecrets"] = json!([long]);
    let mut cluster = cluster(&["a"]).with(&one).with(&secret(&long, "p"));
    cluster.apply(&cluster.plan_job("j"));
    let name = cluster.copies()[0]["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(name.len(), 253);
    // The first name is taken by a copy of something else.
    let taken = crate::fixtures::images::reference(cluster.copies()[0]);
    cluster.edit(&taken, |copy| {
        copy["metadata"]["annotations"] = json!({
            "imagepulljobs.kruise.io/source-key": "m/other", "imagepulljobs.kruise.io/references": "m/k",
        });
    });
    cluster.apply(&cluster.plan_job("j"));
    let names: Vec<&Value> = cluster.copies().iter().map(|copy| &copy["metadata"]["name"]).collect();
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1]);
}

/// images/14: what is in a secret is not kept.
#[test]
fn images_14_caches_hold_no_credentials() {
    let mut copy = secret("reg-1", "cGFzc3dvcmQ=");
    copy["metadata"]["annotations"] = json!({});
    let held: SecretCopy = serde_json::from_value(copy).unwrap();
    assert!(!format!("{held:?}").contains("cGFzc3dvcmQ="));
}
