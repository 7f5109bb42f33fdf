//! Fixtures that read like the sentence in the specification.

mod admission;
mod plan;
mod schedule;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::*;
use crate::broadcastjob::BroadcastJob;
use crate::chain::{Act, Purpose, Write};
use crate::fixtures::at;
use crate::gates::Gates;
use crate::imagelistpulljob::ImageListPullJob;
use crate::inplace::Resize;
use crate::lookup::{Lookup, Memory};
use crate::plan::Plan;
use crate::turn::{Setup, Turn};
use crate::workload::base::Sources;

/// An object named `c`, created at 12:00:30, that starts a Job each minute.
#[derive(Clone)]
pub struct Cron {
    pub object: Value,
    pub children: Vec<Value>,
    pub local: TimeZone,
}

pub fn pod() -> Value {
    json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}})
}

pub fn cron() -> Cron {
    let object = json!({
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1, "creationTimestamp": "2026-06-01T12:00:30Z"},
        "spec": {
            "schedule": "* * * * *", "concurrencyPolicy": "Allow", "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
            "template": {"jobTemplate": {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}}, "spec": {"template": pod()}}},
        },
        "status": {"type": "Job"},
    });
    Cron { object, children: Vec::new(), local: TimeZone::UTC }
}

impl Cron {
    pub fn spec(mut self, field: &str, value: Value) -> Self {
        self.object["spec"][field] = value;
        self
    }

    pub fn status(mut self, field: &str, value: Value) -> Self {
        self.object["status"][field] = value;
        self
    }

    /// A child of the planned time, with this status.
    pub fn child(mut self, planned: &str, status: Value) -> Self {
        let kind = match self.object["spec"]["template"].as_object().unwrap().keys().next().unwrap().as_str()
        {
            "jobTemplate" => "Job",
            "broadcastJobTemplate" => "BroadcastJob",
            _ => "ImageListPullJob",
        };
        let name = format!("c-{}", at(planned).as_second());
        let mut child = json!({
            "kind": kind,
            "metadata": {
                "name": name, "namespace": "n", "uid": format!("uid-{name}"), "resourceVersion": "5",
                "annotations": {"apps.kruise.io/scheduled-at": planned},
                "ownerReferences": [{"apiVersion": "apps.kruise.io/v1alpha1", "kind": "AdvancedCronJob", "uid": "u", "controller": true}],
            },
            "spec": {},
        });
        child["status"] = status;
        self.children.push(child);
        self
    }

    pub fn view(&self) -> View {
        let mut memory = Memory::default();
        for child in &self.children {
            let child = child.clone();
            match child["kind"].as_str().unwrap() {
                "Job" => memory.put(Arc::new(serde_json::from_value::<Job>(child).unwrap())),
                "BroadcastJob" => {
                    memory.put(Arc::new(serde_json::from_value::<BroadcastJob>(child).unwrap()));
                }
                _ => memory.put(Arc::new(serde_json::from_value::<ImageListPullJob>(child).unwrap())),
            }
        }
        let setup =
            Setup { gates: Gates::default(), resize: Resize::Endpoint, namespace: "kruise-system".into() };
        let turn = Turn::first(Timestamp::UNIX_EPOCH, 7);
        let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
        View::assemble(&AdvancedCronJob::read(&self.object), self.local.clone(), from)
    }

    pub fn plan(&self, now: &str) -> Plan {
        super::plan(&self.view(), at(now))
    }

    /// Carries out what a plan says, as far as this object and its children go.
    pub fn apply(&mut self, plan: &Plan) {
        for write in plan.writes() {
            match &write.act {
                Act::Create(body) => {
                    let mut child: Value = serde_json::from_str(body).unwrap();
                    child["metadata"]["uid"] = json!(format!("uid-{}", write.object.name()));
                    child["status"] = json!({});
                    assert!(
                        self.children.iter().all(|one| one["metadata"]["name"] != child["metadata"]["name"]),
                        "twice"
                    );
                    self.children.push(child);
                }
                Act::Delete { .. } => {
                    self.children.retain(|one| one["metadata"]["name"] != write.object.name());
                }
                Act::Patch(crate::chain::Patch::Merge(body)) => {
                    for (field, value) in body["status"].as_object().unwrap() {
                        self.object["status"][field] = value.clone();
                    }
                }
                Act::Patch(_) => panic!("{write:?}"),
            }
        }
    }
}

pub const DONE: &str =
    r#"{"startTime": "2026-06-01T12:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]}"#;

pub fn done() -> Value {
    serde_json::from_str(DONE).unwrap()
}

pub fn failed() -> Value {
    json!({"conditions": [{"type": "SuccessCriteriaMet", "status": "False"}, {"type": "Failed", "status": "True"}]})
}

pub fn created(plan: &Plan) -> Vec<Value> {
    plan.writes().filter_map(Write::created).collect()
}

pub fn names(plan: &Plan) -> Vec<String> {
    created(plan).iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

pub fn deleted(plan: &Plan) -> Vec<&str> {
    plan.writes()
        .filter(|write| matches!(write.act, Act::Delete { .. }))
        .map(|write| write.object.name())
        .collect()
}

pub fn events(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|event| event.reason).collect()
}

pub fn status_of(plan: &Plan) -> Value {
    let Some(write) = &plan.status else { return Value::Null };
    let Act::Patch(crate::chain::Patch::Merge(body)) = &write.act else { panic!("{write:?}") };
    body["status"].clone()
}

pub fn seconds(text: &str) -> i64 {
    at(text).as_second()
}
