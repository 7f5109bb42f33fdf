//! Rules of PodUnavailableBudget (A1 … A8).

use schemars::Schema;

use super::rule;

/// One way to say which pods, one way to say how many, and the pods never change.
pub(crate) fn spec(schema: &mut Schema) {
    rule(schema, "has(self.selector) != has(self.targetRef)", "give exactly one of selector and targetRef");
    rule(
        schema,
        "has(self.maxUnavailable) != has(self.minAvailable)",
        "give exactly one of maxUnavailable and minAvailable",
    );
    for field in ["selector", "targetRef"] {
        rule(
            schema,
            &format!(
                "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
            ),
            &format!("{field} cannot be changed; delete the object and create it anew"),
        );
    }
}

/// A reference needs all its parts.
pub(crate) fn target(schema: &mut Schema) {
    let part = |name: &str| format!("has(self.{name}) && self.{name} != ''");
    rule(
        schema,
        &["apiVersion", "kind", "name"].map(part).join(" && "),
        "apiVersion, kind and name must all be given",
    );
}
