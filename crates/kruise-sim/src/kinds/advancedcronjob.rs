//! AdvancedCronJob: one child for each planned time, never two, never before its time.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use kruise_api::Resource;
use kruise_api::annotations::SCHEDULED_AT;
use kruise_core::advancedcronjob::AdvancedCronJob;
use kruise_core::broadcastjob::BroadcastJob;
use kruise_core::lookup::Slim;
use serde_json::{Value, json};

use super::SimulatedKind;
use super::workload::Names;
use crate::server::{Change, Object, Store, What, resources};
use crate::world::actors::ZONE;
use crate::world::rules::{Notes, SafetyRules, is_manager};
use crate::world::scenario::{ENDING_IMAGE, FAILING_IMAGE, Scenario, Step, Target, merge};

pub static KIND: SimulatedKind = SimulatedKind {
    registered: "advancedcronjob",
    title: "AdvancedCronJob",
    scenarios,
    random: None,
    workload: None,
    pod_names: Names::Drawn,
    rules: Some(|| Box::new(Rules::default())),
    goal,
    end: super::nothing,
};

const CRON: Target = Target::new(AdvancedCronJob::RESOURCE, "c");
const CHILD: Resource = BroadcastJob::RESOURCE;

/// All of them end paused, so that they settle. One child is kept, so that they end alike, however many runs there were.
fn scenarios() -> Vec<Scenario> {
    use Step::{Edit, Settle, Wait};
    let seconds = Duration::from_secs;
    let scenario = |name, more: Value| {
        let base = Scenario { subject: Some(CRON), ..Scenario::new(&KIND, name) };
        base.with(CRON, object(&more))
    };
    let paused = |paused: bool| Edit(json!({"spec": {"paused": paused}}));
    let often = |policy: &str| json!({"schedule": "@every 3s", "concurrencyPolicy": policy});
    // Few runs, but time enough for one after the lease of a dead manager has run out.
    let slower = || Edit(json!({"spec": {"schedule": "@every 20s"}}));
    let slowed = || [Wait(seconds(7)), slower(), Wait(seconds(26)), paused(true), Settle];
    let mut failing = often("Forbid");
    let container = json!({"name": "main", "image": FAILING_IMAGE});
    merge(
        &mut failing,
        &json!({"template": {"broadcastJobTemplate": {"spec": {"template": {"spec": {"containers": [container]}}}}}}),
    );
    vec![
        scenario("runs", json!({"schedule": "* * * * *"})).then([Wait(seconds(130)), paused(true), Settle]),
        scenario("forbid", often("Forbid")).then(slowed()),
        scenario("replace", often("Replace")).then(slowed()),
        scenario("allow", often("Allow")).then(slowed()),
        scenario("failing", failing).then(slowed()),
        scenario("resumed", json!({"schedule": "* * * * *", "paused": true})).then([
            Wait(seconds(300)),
            paused(false),
            Wait(seconds(80)),
            paused(true),
            Settle,
        ]),
    ]
}

fn object(more: &Value) -> Value {
    let resource = AdvancedCronJob::RESOURCE;
    // On one of the nodes: children are many, and what they do on more than one is not the point here.
    let pod = json!({"spec": {
        "nodeSelector": {ZONE: "zone-1"},
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": ENDING_IMAGE}],
    }});
    let mut spec = json!({
        "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1,
        "template": {"broadcastJobTemplate": {"spec": {"template": pod}}},
    });
    merge(&mut spec, more);
    json!({"apiVersion": resource.api_version(), "kind": resource.kind(), "metadata": {"name": CRON.name}, "spec": spec})
}

/// It has run, nothing runs any more, and of each result no more children are kept than the limits say. Fewer may be left: a limit that
/// somebody lowers for a while takes the others with it.
fn goal(store: &Store, _: &Scenario) -> Result<(), String> {
    let Some(cron) = CRON.find(store) else { return Err("the object is gone".into()) };
    let active = cron.value.pointer("/status/active").and_then(Value::as_array).map_or(0, Vec::len);
    let kept = |phase: &str| children(store).filter(|child| child.str("/status/phase") == phase).count();
    let (succeeded, failed) = (kept("completed"), kept("failed"));
    let unfinished = children(store).count() - succeeded - failed;
    if cron.str("/status/lastScheduleTime").is_empty() {
        Err("it never ran".into())
    } else if 1 < succeeded || 1 < failed || active != 0 || unfinished != 0 {
        Err(format!("{succeeded} succeeded, {failed} failed, {unfinished} unfinished, {active} active"))
    } else {
        Ok(())
    }
}

fn children(store: &Store) -> impl Iterator<Item = &Object> {
    let all = resources::of(CHILD).into_iter().flat_map(|jobs| store.list(jobs.id, "default"));
    all.map(|(_, child)| child.as_ref()).filter(|child| is_its_own(child))
}

fn is_its_own(child: &Object) -> bool {
    child.str("/metadata/ownerReferences/0/kind") == AdvancedCronJob::RESOURCE.kind()
}

/// Every child that was ever created, by owner and name: the name says the planned time.
#[derive(Default)]
struct Rules {
    seen: BTreeSet<(String, String)>,
}

impl SafetyRules for Rules {
    /// The server was put back to an earlier state: what came later never happened.
    fn restored(&mut self, store: &Store) {
        self.seen = children(store).map(id).collect();
    }

    fn changed(&mut self, change: &Change<'_>, notes: &mut Notes) {
        let child = &change.event.object;
        if !change.is_of(CHILD)
            || !is_manager(change.who)
            || !is_its_own(child)
            || change.event.what != What::Added
        {
            return;
        }
        let name = child.str("/metadata/name");
        if !self.seen.insert(id(child)) {
            notes.broken.push(format!("{name} was started twice"));
        }
        let annotations = child.value.pointer("/metadata/annotations");
        let planned = annotations.and_then(|all| all.get(SCHEDULED_AT)?.as_str()?.parse::<Timestamp>().ok());
        let created = child.str("/metadata/creationTimestamp").parse::<Timestamp>().ok();
        if planned.zip(created).is_none_or(|(planned, created)| created < planned) {
            notes.broken.push(format!("{name} was started before its time"));
        }
    }
}

fn id(child: &Object) -> (String, String) {
    (child.str("/metadata/ownerReferences/0/uid").to_owned(), child.str("/metadata/name").to_owned())
}
