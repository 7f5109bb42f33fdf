//! ImagePullJob: never more nodes pull for a job than it allows, every job ends, and no copy of a secret outlives the jobs that use it. The node
//! agent is played by the scenario.

use std::time::Duration;

use kruise_api::annotations::PULL_SECRET_REFERENCES;
use kruise_api::finalizers::IMAGE_PULL_JOB;
use kruise_api::names::DAEMON_CONFIG_NAMESPACE;
use kruise_api::resource::{NAMESPACES, SECRETS};
use kruise_core::imagepulljob::ImagePullJob;
use kruise_core::lookup::Slim;
use kruise_core::nodeimage::NodeImage;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::nodeimage::{FAKE, OTHER, object, says};
use super::workload::Names;
use crate::server::{Change, Object, Store, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "imagepulljob",
    title: "ImagePullJob",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const JOB: Target = Target::new(ImagePullJob::RESOURCE, "j");
const SECOND: Target = Target::new(ImagePullJob::RESOURCE, "k");
const SECRET: Target = Target::new(SECRETS, "reg");
const COPIES: Target = Target::new(NAMESPACES, DAEMON_CONFIG_NAMESPACE);

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Settle, Status, Wait};
    let scenario = |name: &'static str| {
        Scenario::new(&KIND, name)
            .with(COPIES, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": COPIES.name}}))
            .with(SECRET, json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET.name}, "data": {"a": "Yg=="}}))
            .with(FAKE, object(FAKE, &json!({})))
            .with(OTHER, object(OTHER, &json!({})))
    };
    let secret = json!({"pullSecrets": [SECRET.name]});
    let expires = json!({"pullSecrets": [SECRET.name], "completionPolicy": {"ttlSecondsAfterFinished": 5}});
    let never = json!({"completionPolicy": {"type": "Never"}, "parallelism": 2});
    let done = |target, version| Status(target, says("nginx", "1", version, "Succeeded"));
    vec![
        scenario("pulls").then([
            Create(JOB, job(JOB, &expires)),
            Settle,
            done(FAKE, 0),
            Settle,
            done(OTHER, 0),
            Wait(Duration::from_secs(10)),
            Settle,
        ]),
        scenario("deleted").then([Create(JOB, job(JOB, &secret)), Settle, Delete(JOB), Settle]),
        scenario("two-jobs").then([
            Create(JOB, job(JOB, &never)),
            Settle,
            done(FAKE, 0),
            done(OTHER, 0),
            Create(SECOND, job(SECOND, &never)),
            Settle,
            done(FAKE, 1),
            done(OTHER, 1),
            Settle,
        ]),
        scenario("no-agent").then([
            Create(JOB, job(JOB, &json!({"parallelism": 2}))),
            Wait(Duration::from_secs(700)),
            Settle,
        ]),
    ]
}

pub fn job(target: Target, more: &Value) -> Value {
    let mut spec = json!({"image": "nginx:1", "selector": {"matchExpressions": [{"key": kruise_api::labels::FAKE_NODEIMAGE, "operator": "Exists"}]}, "completionPolicy": {"type": "Always"}});
    merge(&mut spec, more);
    json!({
        "apiVersion": target.resource.api_version(), "kind": target.resource.kind(), "metadata": {"name": target.name}, "spec": spec,
    })
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    if copies(store).next().is_some() {
        return Err("a copy of a secret is left".into());
    }
    let number = |target: Target, field: &str| {
        let found =
            target.find(store).and_then(|job| job.value.pointer(&format!("/status/{field}"))?.as_i64());
        found.unwrap_or(-1)
    };
    match scenario.name {
        "pulls" | "deleted" if JOB.find(store).is_some() => Err("the job is still there".into()),
        "pulls" => Ok(()),
        "deleted" => {
            let is_asked = |target: Target| {
                target.find(store).is_some_and(|one| one.value.pointer("/spec/images/nginx").is_some())
            };
            if is_asked(FAKE) || is_asked(OTHER) { Err("nodes still pull for it".into()) } else { Ok(()) }
        }
        "two-jobs" => {
            let found = [JOB, SECOND].map(|one| number(one, "succeeded"));
            if found == [2, 2] { Ok(()) } else { Err(format!("{found:?} nodes have the image")) }
        }
        _ => {
            let found =
                (number(JOB, "failed"), JOB.find(store).map(|job| job.str("/status/message").to_owned()));
            if found == (2, Some("job has completed".to_owned())) {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            }
        }
    }
}

fn copies(store: &Store) -> impl Iterator<Item = &Object> {
    let all =
        resources::of(SECRETS).into_iter().flat_map(|kind| store.list(kind.id, DAEMON_CONFIG_NAMESPACE));
    all.map(|(_, one)| one.as_ref())
}

/// Looks at what is there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !is_manager(change.who) {
            return;
        }
        let (now, before) = (&change.event.object, change.event.before.as_deref());
        if change.is_of(NodeImage::RESOURCE) {
            for job in jobs(change.store) {
                let limit = job.value.pointer("/spec/parallelism").and_then(Value::as_u64).unwrap_or(1);
                let pulling = nodes(change.store).filter(|node| pulls(node, job.uid())).count();
                if pulls(now, job.uid())
                    && !before.is_some_and(|node| pulls(node, job.uid()))
                    && limit < pulling as u64
                {
                    notes.broken.push(format!("{pulling} nodes pull for a job that allows {limit}"));
                }
            }
        }
        let is_let_go =
            change.is_of(ImagePullJob::RESOURCE) && before.is_some_and(has_finalizer) && !has_finalizer(now);
        if is_let_go {
            let job = format!("{}/{}", now.str("/metadata/namespace"), now.str("/metadata/name"));
            let uses = |copy: &Object| {
                let all = copy
                    .value
                    .pointer("/metadata/annotations")
                    .and_then(|all| all.get(PULL_SECRET_REFERENCES)?.as_str());
                all.unwrap_or_default().split(',').any(|one| one == job)
            };
            if copies(change.store).any(uses) {
                notes.broken.push("a job was let go while a copy of a secret names it".to_owned());
            }
        }
    }
}

fn jobs(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(ImagePullJob::RESOURCE).into_iter().flat_map(|kind| store.list(kind.id, ""));
    all.map(|(_, one)| one.as_ref())
}

fn nodes(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(NodeImage::RESOURCE).into_iter().flat_map(|kind| store.list(kind.id, ""));
    all.map(|(_, one)| one.as_ref())
}

/// Whether a tag that the job owns is not over.
fn pulls(node: &Object, uid: &str) -> bool {
    let images = node.value.pointer("/spec/images").and_then(Value::as_object).into_iter().flatten();
    let is_over = |name: &str, tag: &Value| {
        let said = node
            .value
            .pointer("/status/imageStatuses")
            .and_then(|all| all.get(name)?.get("tags")?.as_array());
        let version = |one: &Value| one.get("version").and_then(Value::as_i64).unwrap_or(0);
        said.into_iter().flatten().any(|one| {
            one.get("tag") == tag.get("tag")
                && version(one) == version(tag)
                && one.get("completionTime").is_some()
        })
    };
    images.into_iter().any(|(name, image)| {
        let mut tags = image.get("tags").and_then(Value::as_array).into_iter().flatten();
        tags.any(|tag| {
            let mut owners = tag.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
            owners.any(|owner| owner.get("uid").is_some_and(|one| one == uid)) && !is_over(name, tag)
        })
    })
}

fn has_finalizer(job: &Object) -> bool {
    let all = job.value.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
    all.into_iter().any(|one| one == IMAGE_PULL_JOB)
}
