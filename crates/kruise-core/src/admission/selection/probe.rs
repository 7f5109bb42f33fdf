//! How a replica learns that the API server uses a selection: it tries to create a pod that only this version of the selection
//! selects, and the pod webhook refuses it with a word of its own. Nothing is stored: the pod is only tried.

use kruise_api::annotations::SELECTION_PROBE;
use serde_json::{Value, json};

use super::{CONDITION, Conditions, Selection, Sight};
use crate::admission::{Answer, DryRun, Request};

/// Begins what the pod webhook says to a probe; the stamp follows.
const SEEN: &str = "kruise selection probe";

impl Selection {
    /// With a stamp that a probe can ask for. Only new pods can be tried, and only a condition can tell a probe.
    #[must_use]
    pub(super) fn stamped(mut self, sight: Sight, conditions: Conditions, stamp: &str) -> Self {
        let is_safe = stamp.chars().all(|one| one.is_ascii_alphanumeric());
        match (sight, conditions) {
            (Sight::New, Conditions::Known) if is_safe => {}
            (Sight::New | Sight::Stored | Sight::Namespace, Conditions::Known | Conditions::Unknown) => {
                return self;
            }
        }
        let whom = self.match_conditions.pointer("/0/expression").and_then(Value::as_str).unwrap_or("true");
        let here = "object.metadata.annotations";
        let expression = format!(
            "has(request.dryRun) && request.dryRun && has({here}) && '{SELECTION_PROBE}' in {here} ? \
             {here}['{SELECTION_PROBE}'] == '{stamp}' : ({whom})"
        );
        self.match_conditions = json!([{"name": CONDITION, "expression": expression}]);
        self
    }
}

/// A pod to try with.
pub fn probe(stamp: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "kruise-probe-", "annotations": {SELECTION_PROBE: stamp}},
        "spec": {"containers": [{"name": "probe", "image": "probe"}]},
    })
}

/// What the pod webhook says to a probe; absent for all other requests. Not "forbidden": that would look as if a right were missing.
pub fn probed(request: &Request) -> Option<Answer> {
    let stamp = request.object.pointer("/metadata/annotations")?.get(SELECTION_PROBE)?.as_str()?;
    (request.dry_run == DryRun::Yes).then(|| Answer::denied(400, format!("{SEEN} {stamp}.")))
}

/// Whether this refusal of the API server comes from a pod webhook that was asked about a probe with this stamp.
pub fn seen_by(refusal: &str, stamp: &str) -> bool {
    refusal.contains(&format!("{SEEN} {stamp}."))
}
