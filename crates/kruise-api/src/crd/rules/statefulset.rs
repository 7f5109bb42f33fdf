//! Rules of StatefulSet (section 6 of its specification, B15, B25).

use schemars::Schema;
use serde_json::Value;

use super::{create_rule, limit, rule};

/// New names must be DNS labels, because pods are named after the set. Old sets with dots can still be edited (B25).
pub(crate) fn name(schema: &mut Schema) {
    create_rule(
        schema,
        "oldSelf.hasValue() || self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
        "metadata.name must be at most 63 lower-case letters, digits and dashes, without dots",
    );
}

/// Rules between fields of a v1beta1 spec.
pub(crate) fn spec(schema: &mut Schema) {
    v1alpha1_spec(schema);
    rule(
        schema,
        &format!(
            "!has(self.scaleStrategy) || !has(self.scaleStrategy.maxUnavailable) || string(self.scaleStrategy.maxUnavailable) == '1' || {PARALLEL}"
        ),
        "scaleStrategy.maxUnavailable must be 1 unless podManagementPolicy is Parallel",
    );
}

/// Rules between fields of a v1alpha1 spec.
pub(crate) fn v1alpha1_spec(schema: &mut Schema) {
    let same_service = "(has(self.serviceName) ? self.serviceName : '') == (has(oldSelf.serviceName) ? oldSelf.serviceName : '')";
    rule(schema, same_service, "serviceName cannot be changed; delete the object and create it anew");
    let policy = |spec: &str| {
        format!(
            "(has({spec}.podManagementPolicy) && {spec}.podManagementPolicy != '' ? {spec}.podManagementPolicy : 'OrderedReady')"
        )
    };
    let same_policy = format!("{} == {}", policy("self"), policy("oldSelf"));
    rule(schema, &same_policy, "podManagementPolicy cannot be changed; delete the object and create it anew");

    let rolling = "!has(self.updateStrategy) || !has(self.updateStrategy.rollingUpdate)";
    rule(
        schema,
        &format!(
            "{rolling} || !has(self.updateStrategy.rollingUpdate.maxUnavailable) || string(self.updateStrategy.rollingUpdate.maxUnavailable) == '1' || {PARALLEL}"
        ),
        "rollingUpdate.maxUnavailable must be 1 unless podManagementPolicy is Parallel",
    );
    rule(
        schema,
        &format!("{rolling} || !has(self.updateStrategy.rollingUpdate.unorderedUpdate) || {PARALLEL}"),
        "rollingUpdate.unorderedUpdate needs podManagementPolicy Parallel",
    );
}

const PARALLEL: &str = "(has(self.podManagementPolicy) && self.podManagementPolicy == 'Parallel')";

/// Settings of a strategy that is not in use are a mistake.
pub(crate) fn on_delete(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.type) && self.type == 'OnDelete' && has(self.rollingUpdate))",
        "rollingUpdate must be left out with type OnDelete",
    );
}

/// At least one pod must be allowed to be unavailable.
pub(crate) fn budget(schema: &mut Schema) {
    rule(
        schema,
        "type(self) == int ? self >= 1 : self.matches('^0*[1-9][0-9]*%$')",
        "must be a number, 1 or more, or a whole percentage above 0%",
    );
}

/// Ordinals, or ranges of them.
pub(crate) fn reserved(schema: &mut Schema) {
    if let Some(Ok(item)) = schema.get_mut("items").map(<&mut Schema>::try_from) {
        limit(item, "minimum", 0);
        limit(item, "pattern", Value::from("^[0-9]+-[0-9]+$"));
    }
}
