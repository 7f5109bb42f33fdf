//! Rules of CloneSet (CS-102 … CS-106).

use schemars::Schema;

use super::{count_or_number_text, limit, rule};

/// A strategy that could never update a pod (CS-102). Values that are not given get defaults that can.
pub(crate) fn stands_still(schema: &mut Schema) {
    let given = "has(self.updateStrategy) && has(self.updateStrategy.rollingUpdate)";
    refuse_standstill(schema, given, "self.updateStrategy.rollingUpdate");
}

/// The same in v1alpha1, where the strategy is flat.
pub(crate) fn v1alpha1_stands_still(schema: &mut Schema) {
    refuse_standstill(schema, "has(self.updateStrategy)", "self.updateStrategy");
}

fn refuse_standstill(schema: &mut Schema, given: &str, strategy: &str) {
    let unavailable = format!("{strategy}.maxUnavailable");
    let none_down = format!("has({unavailable}) && string({unavailable}) in ['0', '0%']");
    let surge = some(&format!("{strategy}.maxSurge"));
    rule(
        schema,
        &format!("!({given} && {none_down} && !({surge}) && (!has(self.replicas) || self.replicas > 0))"),
        "maxUnavailable and maxSurge cannot both be 0: no pod could ever be updated",
    );
}

/// The value is given and not zero.
fn some(value: &str) -> String {
    format!("has({value}) && !(string({value}) in ['0', '0%'])")
}

/// The deadline must leave time for pods to become available (CS-104, CS-106). The largest number means no deadline.
pub(crate) fn deadline(schema: &mut Schema) {
    rule(
        schema,
        "!has(self.progressDeadlineSeconds) || self.progressDeadlineSeconds == 2147483647 \
                || self.progressDeadlineSeconds > (has(self.minReadySeconds) ? self.minReadySeconds : 0)",
        "progressDeadlineSeconds must be greater than minReadySeconds, or 2147483647 for no deadline",
    );
}

/// In-place-only updates replace nothing, so there is nothing to surge.
pub(crate) fn no_surge_in_place(schema: &mut Schema) {
    no_surge(schema, "podUpdatePolicy");
}

/// The same in v1alpha1, where the policy is the type.
pub(crate) fn v1alpha1_no_surge_in_place(schema: &mut Schema) {
    no_surge(schema, "type");
}

fn no_surge(schema: &mut Schema, policy: &str) {
    rule(
        schema,
        &format!("!(has(self.{policy}) && self.{policy} == 'InPlaceOnly' && {})", some("self.maxSurge")),
        "maxSurge must be 0 with InPlaceOnly",
    );
}

/// Pre-download settings as CloneSet v1beta1 reads them (CS-105). Other kinds carry the fields and ignore them.
pub(crate) fn pre_download(schema: &mut Schema) {
    let Some(properties) = schema.pointer_mut("/properties").and_then(|all| all.as_object_mut()) else {
        return;
    };
    for (name, property) in properties {
        let Ok(field) = <&mut Schema>::try_from(property) else {
            continue;
        };
        match name.as_str() {
            "imagePreDownloadParallelism" => count_or_number_text(field),
            "imagePreDownloadTimeoutSeconds" | "imagePreDownloadMinUpdatedReadyPods" => {
                limit(field, "minimum", 0);
            }
            _ => {}
        }
    }
}
