//! The checks that the API server makes by itself, also while no manager runs: CEL rules and schema limits.
//!
//! A rule is a function that adds itself to a schema; types name the rules that hold for a field
//! (`#[schemars(transform = rules::immutable)]`). Rules of one kind live in its file, rules that several kinds share
//! live here. Every rule has an accepted and a refused object in `testdata/cel`.
//!
//! Costs: a rule inside a list is paid for once per possible item, so such lists have a bound, and a text that may be
//! a percentage is checked there by a pattern instead of CEL (the server assumes a text of 3 MB behind int-or-string).

pub(crate) mod advancedcronjob;
pub(crate) mod cloneset;
pub(crate) mod daemonset;
pub(crate) mod images;
pub(crate) mod jobs;
pub(crate) mod persistentpodstate;
pub(crate) mod podprobemarker;
pub(crate) mod podunavailablebudget;
pub(crate) mod recreate;
pub(crate) mod resourcedistribution;
pub(crate) mod sidecarset;
pub(crate) mod statefulset;
pub(crate) mod uniteddeployment;
pub(crate) mod workloadspread;

use schemars::Schema;
use serde_json::{Map, Value, json};

/// Key of CEL rules in a schema.
pub(crate) const VALIDATIONS: &str = "x-kubernetes-validations";

/// Most subsets, containers or probes that one object may list. No object of this size could be worked with.
pub(crate) const LIST_MAX: u64 = 512;

/// Adds one CEL rule.
pub(crate) fn rule(schema: &mut Schema, rule: &str, message: &str) {
    push(schema, json!({ "rule": rule, "message": message }));
}

/// Adds one CEL rule that is also evaluated on creation, with `oldSelf` as an optional value.
pub(crate) fn create_rule(schema: &mut Schema, rule: &str, message: &str) {
    push(schema, json!({ "rule": rule, "message": message, "optionalOldSelf": true }));
}

fn push(schema: &mut Schema, entry: Value) {
    let rules = schema.ensure_object().entry(VALIDATIONS).or_insert_with(|| json!([]));
    if let Value::Array(rules) = rules {
        rules.push(entry);
    }
}

/// Sets one keyword of a schema.
pub(crate) fn limit(schema: &mut Schema, keyword: &str, value: impl Into<Value>) {
    schema.insert(keyword.to_owned(), value.into());
}

/// The value may be set once and never changed. For fields that are always there.
pub(crate) fn immutable(schema: &mut Schema) {
    rule(schema, "self == oldSelf", "cannot be changed; delete the object and create it anew");
}

/// A number of pods or a percentage, fractions allowed.
pub(crate) fn amount(schema: &mut Schema) {
    rule(
        schema,
        r"type(self) == int ? self >= 0 : self.matches('^[0-9]+([.][0-9]+)?%$')",
        "must be a number, 0 or more, or a percentage such as 20%",
    );
}

/// A number of pods or a whole percentage.
pub(crate) fn whole_amount(schema: &mut Schema) {
    rule(
        schema,
        r"type(self) == int ? self >= 0 : self.matches('^[0-9]+%$')",
        "must be a number, 0 or more, or a whole percentage such as 20%",
    );
}

/// A number of pods or a whole percentage of at most 100.
pub(crate) fn share(schema: &mut Schema) {
    rule(
        schema,
        r"type(self) == int ? self >= 0 : self.matches('^0*(100|[0-9]{1,2})%$')",
        "must be a number, 0 or more, or a whole percentage from 0% to 100%",
    );
}

/// [`share`] for items of lists, where CEL would cost too much.
pub(crate) fn listed_share(schema: &mut Schema) {
    limit(schema, "minimum", 0);
    limit(schema, "pattern", "^0*(100|[0-9]{1,2})%$");
}

/// A number, also written as text; no percentage.
pub(crate) fn count_or_number_text(schema: &mut Schema) {
    rule(
        schema,
        r"type(self) == int ? self >= 0 : self.matches('^[0-9]+$')",
        "must be a whole number, 0 or more; percentages are not supported",
    );
}

/// A port number, or the name of a port.
pub(crate) fn port(schema: &mut Schema) {
    limit(schema, "minimum", 1);
    limit(schema, "maximum", 65535);
    limit(schema, "pattern", "^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$");
}

/// A selector that selects something particular.
pub(crate) fn selector_not_empty(schema: &mut Schema) {
    rule(
        schema,
        "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
        "must not be empty: give matchLabels or matchExpressions",
    );
}

/// A selector whose conditions can be evaluated.
pub(crate) fn selector_valid(schema: &mut Schema) {
    let Some(Value::Object(item)) = schema.pointer_mut("/properties/matchExpressions/items") else {
        return;
    };
    if let Some(Value::Object(operator)) = item.get_mut("properties").and_then(|all| all.get_mut("operator"))
    {
        operator.insert("enum".to_owned(), json!(["In", "NotIn", "Exists", "DoesNotExist"]));
    }
    let text = "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)";
    let message = "In and NotIn need values, Exists and DoesNotExist take none";
    item.insert(VALIDATIONS.to_owned(), json!([{ "rule": text, "message": message }]));
}

/// A valid selector that is not empty.
pub(crate) fn selector(schema: &mut Schema) {
    selector_valid(schema);
    selector_not_empty(schema);
}

/// The selector of a workload: valid, not empty, never changed.
pub(crate) fn workload_selector(schema: &mut Schema) {
    selector(schema);
    immutable(schema);
}

/// Weights or label order, not both.
pub(crate) fn one_priority(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.weightPriority) && size(self.weightPriority) > 0 && has(self.orderPriority) && size(self.orderPriority) > 0)",
        "weightPriority and orderPriority exclude each other: give one of them",
    );
}

/// A list whose items are told apart by the given keys: the API server refuses duplicates and merges by key.
fn keyed(schema: &mut Schema, keys: &[&str]) {
    limit(schema, "x-kubernetes-list-type", "map");
    limit(schema, "x-kubernetes-list-map-keys", json!(keys));
}

/// A list that is paid for item by item.
pub(crate) fn bounded(schema: &mut Schema) {
    limit(schema, "maxItems", LIST_MAX);
}

/// A list keyed by `type`: conditions.
pub(crate) fn keyed_by_type(schema: &mut Schema) {
    keyed(schema, &["type"]);
}

/// A bounded list keyed by `name`.
pub(crate) fn keyed_by_name(schema: &mut Schema) {
    keyed(schema, &["name"]);
    bounded(schema);
}

/// Scatter terms: no pair of key and value twice.
pub(crate) fn keyed_by_key_and_value(schema: &mut Schema) {
    keyed(schema, &["key", "value"]);
}

/// A list without duplicates.
pub(crate) fn set(schema: &mut Schema) {
    limit(schema, "x-kubernetes-list-type", "set");
}

/// Takes all checks out again: for the spec of another kind inside a template, which upstream does not check there.
pub(crate) fn unchecked(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        strip(object);
    }
}

fn strip(schema: &mut Map<String, Value>) {
    const CHECKS: [&str; 12] = [
        VALIDATIONS,
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "enum",
        "minItems",
        "maxItems",
        "maxProperties",
        "x-kubernetes-list-map-keys",
        "minProperties",
    ];
    for check in CHECKS {
        schema.shift_remove(check);
    }
    if schema.get("x-kubernetes-list-type").is_some_and(|kind| kind != "atomic") {
        schema.shift_remove("x-kubernetes-list-type");
    }
    for child in ["items", "additionalProperties"] {
        if let Some(Value::Object(child)) = schema.get_mut(child) {
            strip(child);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            strip(property);
        }
    }
}
