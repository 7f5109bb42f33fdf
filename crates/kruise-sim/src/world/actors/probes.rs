//! Node agents, as far as they probe: a command `true` succeeds, any other one fails. Told to stop, they forget (PB-11).

use kruise_api::apps::nodepodprobe::state::{FAILED, SUCCEEDED};
use serde_json::{Value, json};

use super::Actors;
use crate::server::{Call, Name, Part, Verb};

impl Actors {
    /// Says what its probes find, if it has not said so already.
    pub(super) fn probe(&mut self, name: &Name) {
        let Some(list) = self.get(self.kinds.probes, name) else { return };
        let pods = list.value.pointer("/spec/podProbes").and_then(Value::as_array).into_iter().flatten();
        let found: Vec<Value> = pods.map(results).collect();
        let said = list.value.pointer("/status/podProbeStatuses").cloned().unwrap_or_else(|| json!([]));
        if said == Value::Array(found.clone()) {
            return;
        }
        let body = json!({"metadata": {"uid": list.uid()}, "status": {"podProbeStatuses": found}});
        let call = Call::object(Verb::MergePatch, self.kinds.probes, (&name.0, &name.1), body);
        self.write("kruise-daemon", &Call { part: Part::Status, ..call });
    }
}

fn results(pod: &Value) -> Value {
    let probes = pod.get("probes").and_then(Value::as_array).into_iter().flatten();
    let state = |probe: &Value| {
        let is_good = probe.pointer("/probe/exec/command/0").is_some_and(|command| command == "true");
        let at = "2026-01-01T00:00:00Z";
        json!({
            "name": probe.get("name"), "state": if is_good { SUCCEEDED } else { FAILED },
            "lastProbeTime": at, "lastTransitionTime": at,
        })
    };
    let states: Vec<Value> = probes.map(state).collect();
    json!({
        "name": pod.get("name"), "namespace": pod.get("namespace"), "uid": pod.get("uid"), "probeStates": states,
    })
}
