//! Rules of CloneSet (CS-102 … CS-106).

use schemars::Schema;

use super::{count_or_number_text, limit, rule};

/// `value` is there and not zero.
const NOT_ZERO: &str = "!(string(VALUE) in ['0', '0%'])";

fn some(value: &str) -> String {
    format!("has({value}) && {}", NOT_ZERO.replace("VALUE", value))
}

/// Neither surge nor unavailability allows one pod to be updated (CS-102). Unset values get defaults that do.
fn standstill(strategy: &str) -> String {
    format!(
        "!(has(self.updateStrategy) && STRATEGY_THERE has({strategy}.maxUnavailable) && string({strategy}.maxUnavailable) in ['0', '0%'] \
         && !({surge}) && (!has(self.replicas) || self.replicas > 0))",
        surge = some(&format!("{strategy}.maxSurge")),
    )
}

const STANDS_STILL: &str = "maxUnavailable and maxSurge cannot both be 0: no pod could ever be updated";

/// A v1beta1 strategy that could never update a pod.
pub(crate) fn stands_still(schema: &mut Schema) {
    let text = standstill("self.updateStrategy.rollingUpdate");
    rule(schema, &text.replace("STRATEGY_THERE", "has(self.updateStrategy.rollingUpdate) &&"), STANDS_STILL);
}

/// A v1alpha1 strategy that could never update a pod.
pub(crate) fn v1alpha1_stands_still(schema: &mut Schema) {
    let text = standstill("self.updateStrategy");
    rule(schema, &text.replace("STRATEGY_THERE ", ""), STANDS_STILL);
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
