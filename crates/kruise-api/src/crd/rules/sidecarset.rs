//! Rules of SidecarSet (section 6.2 of its specification, B7, B8, B23).

use schemars::Schema;
use serde_json::{Value, json};

use super::{bounded, keyed_by_key_and_value, limit, rule, unchecked};

/// What every SidecarSet needs.
pub(crate) fn spec(schema: &mut Schema) {
    rule(schema, "has(self.selector)", "selector must be given");
    rule(
        schema,
        "(has(self.containers) && size(self.containers) > 0) || (has(self.initContainers) && size(self.initContainers) > 0)",
        "give at least one of containers and initContainers",
    );
}

/// Init containers: where they are injected and what they share is not checked (6.2, rule 7).
pub(crate) fn init_containers(schema: &mut Schema) {
    bounded(schema);
    for field in ["podInjectPolicy", "shareVolumePolicy/properties/type"] {
        let path = format!("/items/properties/{field}");
        if let Some(open) = schema.pointer_mut(&path).and_then(Value::as_object_mut) {
            open.shift_remove("enum");
        }
    }
}

/// A text that can be a label value (B23).
pub(crate) fn label_value(schema: &mut Schema) {
    limit(schema, "maxLength", 63);
    limit(schema, "pattern", "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$");
}

/// Annotations must be there.
pub(crate) fn patches(schema: &mut Schema) {
    if let Some(item) = schema.pointer_mut("/items").and_then(Value::as_object_mut) {
        item.insert("required".to_owned(), json!(["annotations"]));
    }
    if let Some(map) = schema.pointer_mut("/items/properties/annotations").and_then(Value::as_object_mut) {
        map.insert("minProperties".to_owned(), json!(1));
    }
}

/// At least one formula.
pub(crate) fn expressions(schema: &mut Schema) {
    rule(schema, "has(self.limits) || has(self.requests)", "give limits or requests");
}

/// A source must say which field it means (B8).
pub(crate) fn source(schema: &mut Schema) {
    limit(schema, "required", json!(["fieldRef"]));
}

/// Hot upgrade needs an image for the idle twin (B7).
pub(crate) fn hot_upgrade(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.upgradeType) && self.upgradeType == 'HotUpgrade') || (has(self.hotUpgradeEmptyImage) && self.hotUpgradeEmptyImage != '')",
        "HotUpgrade needs hotUpgradeEmptyImage, the image of the idle twin",
    );
}

/// A pinned revision must have a name.
pub(crate) fn revision(schema: &mut Schema) {
    rule(schema, "has(self.revisionName) || has(self.customVersion)", "give revisionName or customVersion");
}

/// How sidecars are upgraded matters to a set that upgrades: one of type NotUpdate may hold anything here (6.2, rule 6),
/// so the checks stand on the strategy, which sees the type, and not on the fields.
pub(crate) fn strategy(schema: &mut Schema) {
    rolling(
        schema,
        "!(has(self.selector) && has(self.partition) && string(self.partition) != '0')",
        "selector and partition exclude each other: give one of them",
    );
    rolling(
        schema,
        "!has(self.selector) || (has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0) || (has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)",
        "selector must not be empty: give matchLabels or matchExpressions",
    );
    rolling(
        schema,
        "!has(self.selector) || !has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'] && (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",
        "selector: In and NotIn need values, Exists and DoesNotExist take none, other operators do not exist",
    );
    rolling(
        schema,
        "!has(self.priorityStrategy) || !(has(self.priorityStrategy.weightPriority) && size(self.priorityStrategy.weightPriority) > 0 && has(self.priorityStrategy.orderPriority) && size(self.priorityStrategy.orderPriority) > 0)",
        "priorityStrategy: weightPriority and orderPriority exclude each other: give one of them",
    );
    rolling(
        schema,
        "!has(self.priorityStrategy) || !has(self.priorityStrategy.orderPriority) || self.priorityStrategy.orderPriority.all(term, term.orderedKey != '')",
        "priorityStrategy: orderedKey must not be empty",
    );
    rolling(
        schema,
        "!has(self.priorityStrategy) || !has(self.priorityStrategy.weightPriority) || self.priorityStrategy.weightPriority.all(term, term.weight >= 0 && term.weight <= 100 && ((has(term.matchSelector.matchLabels) && size(term.matchSelector.matchLabels) > 0) || (has(term.matchSelector.matchExpressions) && size(term.matchSelector.matchExpressions) > 0)))",
        "priorityStrategy: a weight must be from 0 to 100 and its matchSelector must not be empty",
    );
    rolling(
        schema,
        "!has(self.scatterStrategy) || self.scatterStrategy.all(term, term.key != '')",
        "scatterStrategy: key must not be empty",
    );
}

fn rolling(schema: &mut Schema, holds: &str, message: &str) {
    rule(schema, &format!("(has(self.type) && self.type == 'NotUpdate') || {holds}"), message);
}

/// Scatter terms of a strategy: no pair twice, so that server-side apply can merge them; the rest is up to `strategy`.
pub(crate) fn scatter(schema: &mut Schema) {
    unchecked(schema);
    keyed_by_key_and_value(schema);
}
