//! Rules of ImagePullJob, ImageListPullJob and NodeImage (section 6 of images).

use schemars::Schema;
use serde_json::Value;

use super::{keyed, limit, rule, set};

/// Nodes by name or by labels.
pub(crate) fn node_selector(schema: &mut Schema) {
    let labels = "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)";
    rule(
        schema,
        &format!("!(has(self.names) && size(self.names) > 0 && ({labels}))"),
        "names and labels exclude each other: select nodes by one of them",
    );
}

/// Nodes by their own labels or by the pods they run.
pub(crate) fn one_selector(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.selector) && has(self.podSelector))",
        "selector and podSelector exclude each other: give one of them",
    );
}

/// A job without end has no deadline and no time to live.
pub(crate) fn completion(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.type) && self.type == 'Never' && (has(self.activeDeadlineSeconds) || has(self.ttlSecondsAfterFinished)))",
        "activeDeadlineSeconds and ttlSecondsAfterFinished need type Always",
    );
}

/// Rules between fields of an ImagePullJob.
pub(crate) fn job(schema: &mut Schema) {
    rule(
        schema,
        "!has(self.completionPolicy.activeDeadlineSeconds) \
                || (has(self.completionPolicy.type) && self.completionPolicy.type == 'Never') \
                || self.completionPolicy.activeDeadlineSeconds >= (has(self.pullPolicy) && has(self.pullPolicy.timeoutSeconds) ? self.pullPolicy.timeoutSeconds : 600)",
        "completionPolicy.activeDeadlineSeconds must not be less than pullPolicy.timeoutSeconds (600 if not given)",
    );
    rule(
        schema,
        "(has(self.pullSecrets) ? self.pullSecrets : []) == (has(oldSelf.pullSecrets) ? oldSelf.pullSecrets : [])",
        "pullSecrets cannot be changed; delete the job and create it anew",
    );
}

/// The images of a list.
pub(crate) fn list(schema: &mut Schema) {
    limit(schema, "minItems", 1);
    limit(schema, "maxItems", 255);
    set(schema);
}

/// The images of a node.
pub(crate) fn node_images(schema: &mut Schema) {
    limit(schema, "maxProperties", 256);
}

/// Tags of one image, each once. A tag without time to live would never leave the list.
pub(crate) fn tags(schema: &mut Schema) {
    keyed(schema, &["tag"]);
    let Some(item) = schema.pointer_mut("/items").and_then(Value::as_object_mut) else {
        return;
    };
    require(item, "pullPolicy");
    if let Some(policy) =
        item.get_mut("properties").and_then(|all| all.get_mut("pullPolicy")).and_then(Value::as_object_mut)
    {
        require(policy, "ttlSecondsAfterFinished");
    }
}

fn require(schema: &mut serde_json::Map<String, Value>, field: &str) {
    let required = schema.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(required) = required {
        required.push(Value::from(field));
    }
}
