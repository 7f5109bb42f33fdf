//! ImageListPullJob: one job per image and template, never two, and every list ends. The node agent is played by the scenario.

use std::collections::BTreeSet;
use std::time::Duration;

use kruise_api::labels::{FAKE_NODEIMAGE, REVISION};
use kruise_core::imagelistpulljob::ImageListPullJob;
use kruise_core::imagepulljob::ImagePullJob;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::nodeimage::{FAKE, object, says};
use super::workload::Names;
use crate::server::{Change, Object, Store, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "imagelistpulljob",
    title: "ImageListPullJob",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const LIST: Target = Target::new(ImageListPullJob::RESOURCE, "l");

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Patch, Settle, Status, Wait};
    let scenario = |name: &'static str, more: Value| {
        Scenario::new(&KIND, name)
            .with(FAKE, object(FAKE, &json!({})))
            .then([Create(LIST, list(&more)), Settle])
    };
    let mut both = says("nginx", "1", 0, "Succeeded");
    merge(&mut both, &says("redis", "1", 0, "Failed"));
    let expires = json!({"completionPolicy": {"ttlSecondsAfterFinished": 5}});
    vec![
        // The agent answers when it was asked, however long an answer to the manager was under way.
        scenario("pulls", expires).then([
            Wait(Duration::from_secs(100)),
            Status(FAKE, both),
            Wait(Duration::from_secs(10)),
            Settle,
        ]),
        scenario("edited", json!({})).then([
            Patch(LIST, json!({"spec": {"images": ["nginx:1", "busybox:1"], "parallelism": 2}})),
            Settle,
        ]),
    ]
}

fn list(more: &Value) -> Value {
    let selector = json!({"matchExpressions": [{"key": FAKE_NODEIMAGE, "operator": "Exists"}]});
    let mut spec = json!({"images": ["nginx:1", "redis:1"], "selector": selector, "completionPolicy": {"type": "Always"}});
    merge(&mut spec, more);
    json!({
        "apiVersion": LIST.resource.api_version(), "kind": LIST.resource.kind(), "metadata": {"name": LIST.name}, "spec": spec,
    })
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let images: BTreeSet<&str> = children(store).map(|child| child.str("/spec/image")).collect();
    match scenario.name {
        "pulls" if LIST.find(store).is_some() || !images.is_empty() => Err("the list is still there".into()),
        "edited" if images != ["busybox:1", "nginx:1"].into() => {
            Err(format!("there are jobs for {images:?}"))
        }
        _ => Ok(()),
    }
}

fn children(store: &Store) -> impl Iterator<Item = &Object> {
    let all =
        resources::of(ImagePullJob::RESOURCE).into_iter().flat_map(|kind| store.list(kind.id, "default"));
    let owner =
        |one: &Object| one.str("/metadata/ownerReferences/0/kind") == ImageListPullJob::RESOURCE.kind();
    all.map(|(_, one)| one.as_ref()).filter(move |one| owner(one))
}

/// Looks at what is there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !is_manager(change.who) || !change.is_of(ImagePullJob::RESOURCE) || change.event.before.is_some() {
            return;
        }
        let of = |one: &Object| {
            let hash = one
                .value
                .pointer("/metadata/labels")
                .and_then(|all| all.get(REVISION)?.as_str())
                .map(str::to_owned);
            (one.str("/metadata/ownerReferences/0/uid").to_owned(), one.str("/spec/image").to_owned(), hash)
        };
        let new = &change.event.object;
        let twins = children(change.store).filter(|one| !one.is_deleting() && of(one) == of(new)).count();
        if twins > 1 {
            notes.broken.push(format!("{twins} jobs for {} of one list", new.str("/spec/image")));
        }
    }
}
