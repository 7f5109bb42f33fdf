//! SidecarSet: sidecars in new pods, upgraded in place, at most `maxUnavailable` ready pods at a time.

use std::collections::BTreeSet;

use kruise_api::resource::PODS;
use kruise_core::lookup::Slim;
use kruise_core::sidecarset::SidecarSet;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, What, resources};
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{BAD_IMAGE, Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "sidecarset",
    title: "SidecarSet",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Kept,
    rules: Some(|| Box::new(Rules::default())),
    goal,
    end: super::nothing,
};

const SET: Target = Target::new(SidecarSet::RESOURCE, "s");
const EMPTY_IMAGE: &str = "empty:1";

fn scenarios() -> Vec<Scenario> {
    use Step::{Create, Delete, Patch, Settle};
    let scenario = |name, more: Value| Scenario::new(&KIND, name).with(SET, object(&more));
    let create = |name: &'static str| Create(pod_named(name), pod(name));
    let image = |image: &str| Patch(SET, json!({"spec": {"containers": [container(image, &json!({}))]}}));
    let hot = json!({"upgradeStrategy": {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": EMPTY_IMAGE}});
    let hot_image = |name: &str| Patch(SET, json!({"spec": {"containers": [container(name, &hot)]}}));
    let paused = |paused: bool| Patch(SET, json!({"spec": {"updateStrategy": {"paused": paused}}}));
    vec![
        scenario("injected", json!({})).then([create("a"), create("b"), Settle]),
        scenario("upgraded", json!({})).then([
            create("a"),
            create("b"),
            create("c"),
            Settle,
            image("side:2"),
            Settle,
        ]),
        scenario("repaired", json!({})).then([
            create("a"),
            create("b"),
            create("c"),
            Settle,
            image(BAD_IMAGE),
            Settle,
            image("side:3"),
            Settle,
        ]),
        scenario("paused", json!({"updateStrategy": {"paused": true, "maxUnavailable": 2}})).then([
            create("a"),
            create("b"),
            create("c"),
            Settle,
            image("side:2"),
            Settle,
            paused(false),
            Settle,
        ]),
        scenario("hot", json!({"containers": [container("side:1", &hot)]})).then([
            create("a"),
            create("b"),
            Settle,
            hot_image("side:2"),
            Settle,
            hot_image("side:3"),
            Settle,
        ]),
        scenario("deleted", json!({})).then([create("a"), Settle, Delete(SET), Settle]),
    ]
}

fn pod_named(name: &'static str) -> Target {
    Target::new(PODS, name)
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "sided"}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}], "terminationGracePeriodSeconds": 2},
    })
}

fn container(image: &str, more: &Value) -> Value {
    let mut one = json!({"name": "side", "image": image});
    merge(&mut one, more);
    one
}

fn object(more: &Value) -> Value {
    let resource = SidecarSet::RESOURCE;
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "sided"}},
        "containers": [container("side:1", &json!({}))],
    });
    merge(&mut spec, more);
    json!({"apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": SET.name}, "spec": spec})
}

/// Every pod has the sidecar that the set says, serves, and the status says so.
fn goal(store: &Store, scenario: &Scenario) -> Result<(), String> {
    let Some(set) = SET.find(store) else {
        return if scenario.name == "deleted" { Ok(()) } else { Err("the set is gone".into()) };
    };
    let wanted = set.str("/spec/containers/0/image");
    let mut count = 0;
    for pod in pods(store).filter(|pod| is_active(pod)) {
        count += 1;
        let images: Vec<&str> = sidecars(pod).map(|(_, image)| image).collect();
        let is_right = match images.as_slice() {
            [one] => *one == wanted,
            [one, other] => [*one, *other].contains(&wanted) && [*one, *other].contains(&EMPTY_IMAGE),
            _ => false,
        };
        if !is_right {
            return Err(format!("pod {} has {images:?}, not {wanted}", pod.str("/metadata/name")));
        }
    }
    let updated = set.value.pointer("/status/updatedPods").and_then(Value::as_u64).unwrap_or(0);
    if updated == count { Ok(()) } else { Err(format!("{updated} of {count} pods are updated")) }
}

fn pods(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(PODS).into_iter().flat_map(|pods| store.list(pods.id, "default"));
    all.map(|(_, pod)| pod.as_ref()).filter(|pod| is_sided(pod))
}

fn is_sided(pod: &Object) -> bool {
    pod.str("/metadata/labels/app") == "sided"
}

fn is_active(pod: &Object) -> bool {
    !pod.is_deleting() && !matches!(pod.str("/status/phase"), "Succeeded" | "Failed")
}

fn items<'a>(pod: &'a Object, path: &str) -> impl Iterator<Item = &'a Value> {
    pod.value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

/// Names and images of its sidecars.
fn sidecars(pod: &Object) -> impl Iterator<Item = (&str, &str)> {
    containers(pod).filter(|(name, _)| name.starts_with("side"))
}

fn containers(pod: &Object) -> impl Iterator<Item = (&str, &str)> {
    items(pod, "/spec/containers")
        .filter_map(|one| Some((one.get("name")?.as_str()?, one.get("image")?.as_str()?)))
}

fn is_ready(pod: &Object) -> bool {
    let mut conditions = items(pod, "/status/conditions");
    conditions
        .any(|one| one.get("type") == Some(&json!("Ready")) && one.get("status") == Some(&json!("True")))
}

/// A sidecar does not run yet what the pod says.
fn is_restarting(pod: &Object) -> bool {
    sidecars(pod).any(|(name, image)| {
        let mut statuses = items(pod, "/status/containerStatuses");
        let status = statuses.find(|status| status.get("name") == Some(&json!(name)));
        status.and_then(|status| status.get("image")).is_some_and(|there| there != image)
    })
}

/// Pods that were ready when the manager changed them, by uid.
#[derive(Default)]
struct Rules(BTreeSet<String>);

impl SafetyRules for Rules {
    fn restored(&mut self, _: &Store) {
        self.0.clear();
    }

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let pod = &change.event.object;
        if !change.is_of(PODS)
            || !is_manager(change.who)
            || change.event.what != What::Modified
            || !is_sided(pod)
        {
            return;
        }
        let Some(before) = change.event.before.as_deref() else { return };
        let name = pod.str("/metadata/name");
        let changed: Vec<&str> = containers(pod)
            .zip(containers(before))
            .filter(|(new, old)| new.1 != old.1)
            .map(|(new, _)| new.0)
            .collect();
        if let Some(other) = changed.iter().find(|one| !one.starts_with("side")) {
            notes.broken.push(format!("container {other} of pod {name} is not the set's to change"));
        }
        // One that becomes idle after a hot upgrade was paid for when the upgrade began.
        let begins = sidecars(pod).any(|(one, image)| changed.contains(&one) && image != EMPTY_IMAGE);
        if !begins {
            return;
        }
        // One that does not serve is repaired for free, whatever was paid for it before (SS-78).
        if !is_ready(before) {
            self.0.remove(pod.uid());
            return;
        }
        let limit = SET
            .find(change.store)
            .and_then(|set| set.value.pointer("/spec/updateStrategy/maxUnavailable")?.as_u64());
        let paid = &self.0;
        let others = pods(change.store).filter(|other| other.uid() != pod.uid() && is_active(other));
        // One that hangs at an earlier image has nothing to do with this upgrade, and waits for its own (SS-78).
        let is_busy = |other: &&Object| {
            paid.contains(other.uid()) && is_restarting(other) && sidecars(other).eq(sidecars(pod))
        };
        let busy = others.filter(is_busy).count() + 1;
        if limit.and_then(|limit| usize::try_from(limit).ok()).is_some_and(|limit| limit < busy) {
            notes.broken.push(format!("{busy} pods are being upgraded, more than maxUnavailable allows"));
        }
        self.0.insert(pod.uid().to_owned());
    }
}
