//! Rules of UnitedDeployment (section 6 of its specification, UD-B1, UD-B17).

use schemars::Schema;
use serde_json::Value;

use super::{create_rule, limit, rule, unchecked};
use crate::{apps::cloneset::v1alpha1, crd::schema};

/// New names must leave room for the hash in a label value (UD-B17).
pub(crate) fn name(schema: &mut Schema) {
    create_rule(
        schema,
        "oldSelf.hasValue() || size(self.metadata.name) <= 52",
        "metadata.name must have at most 52 characters: revision names are label values",
    );
}

/// Exactly one of four.
pub(crate) fn one_template(schema: &mut Schema) {
    rule(
        schema,
        "[has(self.statefulSetTemplate), has(self.advancedStatefulSetTemplate), has(self.cloneSetTemplate), has(self.deploymentTemplate)].filter(given, given).size() == 1",
        "give exactly one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate and deploymentTemplate",
    );
}

/// Rules between template, subsets and strategy.
pub(crate) fn spec(schema: &mut Schema) {
    rule(schema, "has(self.template)", "template must be given");
    let strategy = "has(self.topology) && has(self.topology.scheduleStrategy)";
    let reserve = "has(self.topology.scheduleStrategy.adaptive) && has(self.topology.scheduleStrategy.adaptive.reserveUnschedulablePods) && self.topology.scheduleStrategy.adaptive.reserveUnschedulablePods";
    let stateful = "has(self.template) && (has(self.template.statefulSetTemplate) || has(self.template.advancedStatefulSetTemplate))";
    rule(
        schema,
        &format!("!({strategy} && {reserve} && {stateful})"),
        "reserveUnschedulablePods works with cloneSetTemplate and deploymentTemplate only",
    );

    let subsets = "has(self.topology) && has(self.topology.subsets)";
    let fixed = "self.topology.subsets.exists(s, has(s.replicas))";
    let limits = "self.topology.subsets.exists(s, has(s.minReplicas) || has(s.maxReplicas))";
    rule(
        schema,
        &format!("!({subsets} && {fixed} && {limits})"),
        "replicas and minReplicas or maxReplicas exclude each other over all subsets",
    );
    rule(
        schema,
        &format!(
            "!({subsets} && {strategy} && has(self.topology.scheduleStrategy.type) && self.topology.scheduleStrategy.type == 'Adaptive' && {fixed})"
        ),
        "subsets must have no replicas with the Adaptive strategy; use minReplicas and maxReplicas",
    );
    rule(
        schema,
        &format!(
            "!({subsets}) || size(self.topology.subsets) == 0 || self.topology.subsets.exists(s, !has(s.maxReplicas))"
        ),
        "at least one subset must have no maxReplicas, to take the rest",
    );
}

/// A part of the workload's name, and a label value.
pub(crate) fn subset_name(schema: &mut Schema) {
    limit(schema, "pattern", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$");
}

/// Rules within one subset, and what a subset keeps as long as it has its name.
pub(crate) fn subset(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.minReplicas) && has(self.maxReplicas) && type(self.minReplicas) == int && type(self.maxReplicas) == int) || int(self.minReplicas) <= int(self.maxReplicas)",
        "minReplicas must not be more than maxReplicas",
    );
    // Old releases store an empty value where nothing was given.
    let some_term = |subset: &str| {
        let list = |field: &str| {
            let path = format!("{subset}.nodeSelectorTerm.{field}");
            format!("(has({path}) && size({path}) > 0)")
        };
        format!(
            "(has({subset}.nodeSelectorTerm) && ({} || {}))",
            list("matchExpressions"),
            list("matchFields")
        )
    };
    let some_tolerations =
        |subset: &str| format!("(has({subset}.tolerations) && size({subset}.tolerations) > 0)");
    same(schema, "nodeSelectorTerm", [some_term("self"), some_term("oldSelf")]);
    same(schema, "tolerations", [some_tolerations("self"), some_tolerations("oldSelf")]);
}

/// The field is nothing in both subsets, or equal.
fn same(schema: &mut Schema, field: &str, [new, old]: [String; 2]) {
    let text = format!("{new} == {old} && (!{new} || self.{field} == oldSelf.{field})");
    rule(schema, &text, &format!("{field} of a subset cannot be changed; give the subset a new name"));
}

/// Adds the fields of the v1alpha1 shape to the schema of a CloneSet spec.
pub(crate) fn both_shapes(schema: &mut Schema) {
    let mut old = schema::of::<v1alpha1::CloneSet>();
    unchecked(&mut old);
    for part in ["scaleStrategy", "updateStrategy"] {
        let path = format!("/properties/{part}/properties");
        let Some(Value::Object(fields)) = old.pointer(&format!("/properties/spec{path}")).cloned() else {
            continue;
        };
        let Some(Value::Object(merged)) = schema.pointer_mut(&path) else {
            continue;
        };
        for (name, field) in fields {
            merged.entry(name).or_insert(field);
        }
    }
}
