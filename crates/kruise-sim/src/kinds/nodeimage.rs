//! NodeImage: every ready node has one, and no tag of a job that exists leaves before its time. The node agent is played by the scenario.

use std::time::Duration;

use kruise_api::labels::FAKE_NODEIMAGE;
use kruise_api::resource::NODES;
use kruise_core::imagepulljob::ImagePullJob;
use kruise_core::lookup::Slim;
use kruise_core::nodeimage::NodeImage;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{Scenario, Step, Target};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "nodeimage",
    title: "NodeImage",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules)),
    goal,
    end: super::nothing,
};

const NODE: Target = Target::new(NODES, "node-a");
const OF_NODE: Target = Target::new(NodeImage::RESOURCE, "node-a");
/// Without a node.
pub const FAKE: Target = Target::new(NodeImage::RESOURCE, "fake-a");
pub const OTHER: Target = Target::new(NodeImage::RESOURCE, "fake-b");

fn scenarios() -> Vec<Scenario> {
    use Step::{Patch, Settle, Status, Wait};
    let ready = json!({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]});
    let tag = |ttl: u32| json!({"tag": "1", "pullPolicy": {"ttlSecondsAfterFinished": ttl}});
    let spec = |ttl: u32| json!({"spec": {"images": {"nginx": {"tags": [tag(ttl)]}}}});
    vec![
        Scenario::new(&KIND, "follows").then([
            Status(NODE, ready),
            Settle,
            Patch(NODE, json!({"metadata": {"labels": {"new": "label"}}})),
            Settle,
        ]),
        Scenario::new(&KIND, "orphan")
            .with(OTHER, object(OTHER, &json!({"metadata": {"labels": null}})))
            .then([Settle]),
        Scenario::new(&KIND, "no-agent")
            .with(FAKE, object(FAKE, &spec(99_999)))
            .then([Wait(Duration::from_secs(700)), Settle]),
        Scenario::new(&KIND, "expires").with(FAKE, object(FAKE, &spec(30))).then([
            Status(FAKE, ended(("nginx", "1"), (0, "Succeeded"), "2026-01-01T00:00:00Z")),
            Wait(Duration::from_secs(40)),
            Settle,
        ]),
    ]
}

/// A NodeImage that tests keep without a node.
pub fn object(target: Target, more: &Value) -> Value {
    let mut object = json!({
        "apiVersion": target.resource.api_version(), "kind": target.resource.kind(),
        "metadata": {"name": target.name, "labels": {FAKE_NODEIMAGE: "true"}}, "spec": {},
    });
    crate::world::scenario::merge(&mut object, more);
    object
}

/// What an agent says about a tag: that it ended so late that it stays.
pub fn says(image: &str, tag: &str, version: u32, phase: &str) -> Value {
    ended((image, tag), (version, phase), "2030-01-01T00:00:00Z")
}

fn ended((image, tag): (&str, &str), (version, phase): (u32, &str), at: &str) -> Value {
    let said = json!({"tag": tag, "version": version, "phase": phase, "completionTime": at});
    json!({"desired": 1, "imageStatuses": {image: {"tags": [said]}}})
}

fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let there = |target: Target| target.find(store).ok_or_else(|| format!("{} is missing", target.name));
    match scenario.name {
        "follows" => {
            let labels = |object: &Object| object.value.pointer("/metadata/labels").cloned();
            if labels(there(OF_NODE)?) == labels(there(NODE)?) { Ok(()) } else { Err("labels differ".into()) }
        }
        "orphan" if OTHER.find(store).is_some() => Err("a NodeImage without a node is still there".into()),
        "no-agent" => {
            let phase = there(FAKE)?.str("/status/imageStatuses/nginx/tags/0/phase").to_owned();
            if phase == "Failed" { Ok(()) } else { Err(format!("the tag is {phase:?}")) }
        }
        "expires" if there(FAKE)?.value.pointer("/spec/images/nginx").is_some() => {
            Err("the tag is still there".into())
        }
        _ => Ok(()),
    }
}

/// Looks at what is there; needs no memory of its own.
struct Rules;

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {}

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        if !is_manager(change.who) || !change.is_of(NodeImage::RESOURCE) {
            return;
        }
        let now = &change.event.object;
        let Some(before) = change.event.before.as_deref() else { return };
        if now.is_deleting() {
            return;
        }
        for (name, tag) in tags(&before.value) {
            let kept =
                tags(&now.value).into_iter().find(|(other, one)| *other == name && one["tag"] == tag["tag"]);
            let Some((_, kept)) = kept else {
                if owners(tag).iter().any(|owner| exists(change.store, owner)) && !is_over(before, &name, tag)
                {
                    notes.broken.push(format!("tag {name}:{} left while a job wants it", tag["tag"]));
                }
                continue;
            };
            for owner in owners(tag).iter().filter(|owner| exists(change.store, owner)) {
                if !owners(kept).contains(owner) {
                    notes.broken.push(format!("a job lost its tag {name}:{}", tag["tag"]));
                }
            }
            let is_joined = owners(tag).len() < owners(kept).len();
            if tag["version"] != kept["version"] && !is_joined {
                notes.broken.push(format!("{name}:{} is pulled again for nobody", tag["tag"]));
            }
        }
    }
}

fn tags(object: &Value) -> Vec<(String, &Value)> {
    let images = object.pointer("/spec/images").and_then(Value::as_object).into_iter().flatten();
    images
        .flat_map(|(name, image)| {
            let tags = image.get("tags").and_then(Value::as_array).into_iter().flatten();
            tags.map(move |tag| (name.clone(), tag))
        })
        .collect()
}

fn owners(tag: &Value) -> Vec<String> {
    let all = tag.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
    all.map(|owner| owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned()).collect()
}

fn exists(store: &Store, uid: &str) -> bool {
    let all = resources::of(ImagePullJob::RESOURCE).into_iter().flat_map(|kind| store.list(kind.id, ""));
    all.into_iter().any(|(_, job)| job.uid() == uid)
}

fn is_over(object: &Object, name: &str, tag: &Value) -> bool {
    let said =
        object.value.pointer("/status/imageStatuses").and_then(|all| all.get(name)?.get("tags")?.as_array());
    said.into_iter().flatten().any(|one| one["tag"] == tag["tag"] && one.get("completionTime").is_some())
}
