//! Rules of ImagePullJob.

mod admission;
mod order;
mod plan;
mod secrets;
mod takeover;

use serde_json::{Value, json};

use crate::fixtures::images::{Cluster, job, job_ref};

/// A job `j` for `nginx:1` with this in its spec.
pub fn with(spec: &Value) -> Value {
    let mut one = job("j", "nginx:1");
    for (field, value) in spec.as_object().unwrap() {
        one["spec"][field] = value.clone();
    }
    one
}

pub fn settle(cluster: &mut Cluster) {
    for _ in 0..50 {
        if cluster.has(&job_ref("j")) && cluster.apply(&cluster.plan_job("j")) > 0 {
            continue;
        }
        return;
    }
    panic!("it never settles");
}

/// Nodes that have been asked, sorted.
pub fn asked(cluster: &Cluster) -> Vec<String> {
    let has = |one: &&&Value| one.pointer("/spec/images/nginx/tags/0").is_some();
    let all = cluster.all("NodeImage");
    all.iter().filter(has).map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

pub fn status(cluster: &Cluster) -> &Value {
    &cluster.job("j")["status"]
}

pub fn numbers(cluster: &Cluster) -> Value {
    let status = status(cluster);
    json!([status["desired"], status["active"], status["succeeded"], status["failed"]])
}
