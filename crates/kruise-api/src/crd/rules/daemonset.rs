//! Rules of DaemonSet (V4 … V8, B6).

use schemars::Schema;

use super::rule;

/// The in-place hook does not exist for this kind.
pub(crate) fn lifecycle(schema: &mut Schema) {
    rule(schema, "!has(self.inPlaceUpdate)", "lifecycle.inPlaceUpdate is not supported; use preDelete");
}

/// Exactly one of surge and unavailability is more than 0; none of them given means one unavailable pod.
pub(crate) fn rolling_update(schema: &mut Schema) {
    let unavailable = "(has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%']))";
    let surge = "(has(self.maxSurge) && !(string(self.maxSurge) in ['0', '0%']))";
    rule(
        schema,
        &format!("!({unavailable} && {surge})"),
        "maxUnavailable and maxSurge exclude each other: one of them must be 0 or left out",
    );
    let text =
        format!("{unavailable} || {surge} || !(has(self.maxUnavailable) || has(self.maxSurge)) || {SURGING}");
    rule(schema, &text, "maxUnavailable and maxSurge cannot both be 0: no pod could ever be updated");
    let in_place = "has(self.rollingUpdateType) && self.rollingUpdateType == 'InPlaceIfPossible'";
    rule(schema, &format!("!({in_place} && {surge})"), "maxSurge must be 0 with InPlaceIfPossible");
}

/// What else holds with the old type that always surges.
pub(crate) fn surging(schema: &mut Schema) {
    let unavailable = "has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%'])";
    rule(
        schema,
        &format!("!({SURGING} && {unavailable})"),
        "maxUnavailable must be 0 or left out with Surging",
    );
}

/// Surging without a number means one pod.
const SURGING: &str = "(has(self.rollingUpdateType) && self.rollingUpdateType == 'Surging')";
