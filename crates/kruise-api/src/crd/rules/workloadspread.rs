//! Rules of WorkloadSpread (section 6 of its specification).

use schemars::Schema;

use super::{keyed_by_name, limit, rule};

/// At least one subset, each name once.
pub(crate) fn subsets(schema: &mut Schema) {
    limit(schema, "minItems", 1);
    keyed_by_name(schema);
}

/// Another version of the same workload is fine, another workload is not.
pub(crate) fn target(schema: &mut Schema) {
    let group = |reference: &str| {
        format!("({reference}.apiVersion.contains('/') ? {reference}.apiVersion.split('/')[0] : '')")
    };
    rule(
        schema,
        &format!(
            "self.kind == oldSelf.kind && self.name == oldSelf.name && {} == {}",
            group("self"),
            group("oldSelf")
        ),
        "group, kind and name of targetRef cannot be changed; delete the object and create it anew",
    );
}

/// Settings of a strategy that is not in use are a mistake.
pub(crate) fn strategy(schema: &mut Schema) {
    rule(
        schema,
        "!has(self.adaptive) || (has(self.type) && self.type == 'Adaptive')",
        "adaptive needs type Adaptive",
    );
}

/// Rules between subsets and strategy.
pub(crate) fn spec(schema: &mut Schema) {
    let given = "self.subsets.filter(s, has(s.maxReplicas))";
    rule(
        schema,
        &format!(
            "{given}.all(s, type(s.maxReplicas) == int) || {given}.all(s, type(s.maxReplicas) == string)"
        ),
        "maxReplicas must be numbers in all subsets or percentages in all subsets",
    );
    rule(
        schema,
        "self.targetRef.kind != 'StatefulSet' || self.subsets.all(s, !has(s.maxReplicas) || type(s.maxReplicas) == int)",
        "maxReplicas must be a number when the target is a StatefulSet",
    );
    let adaptive =
        "has(self.scheduleStrategy) && has(self.scheduleStrategy.adaptive) && size(self.subsets) > 1";
    rule(
        schema,
        &format!("!({adaptive} && has(self.subsets[size(self.subsets) - 1].maxReplicas))"),
        "the last subset must have no maxReplicas with an adaptive strategy: it takes what fits nowhere else",
    );
    let seconds = "self.scheduleStrategy.adaptive.rescheduleCriticalSeconds";
    rule(
        schema,
        &format!("!({adaptive} && has({seconds}) && {seconds} > 295 / (size(self.subsets) - 1))"),
        "rescheduleCriticalSeconds must be at most 295 divided by the number of subsets less one",
    );
}
