//! Rules of SidecarSet (section 6.2 of its specification, B7, B8, B23).

use schemars::Schema;
use serde_json::{Value, json};

use super::{bounded, limit, rule};

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

/// Pods are held back by a selector or by a number.
pub(crate) fn strategy(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.selector) && has(self.partition) && string(self.partition) != '0' && !(has(self.type) && self.type == 'NotUpdate'))",
        "selector and partition exclude each other: give one of them",
    );
}
