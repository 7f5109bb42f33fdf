//! What the schema cannot refuse (section 6 of the specification).

use serde_json::Value;

use super::target::{NotAWhitelist, Supported, Target};
use crate::admission::{FaultKind, Faults};

/// What has to be known besides the object.
#[derive(Debug)]
pub struct Known<'a> {
    /// Name of another object of the namespace with the same target.
    pub rival: Option<&'a str>,
    pub supported: &'a Result<Supported, NotAWhitelist>,
}

/// Rules on v1beta1; `old` is the stored spec of an update.
pub fn validate(spec: &Value, old: Option<&Value>, known: &Known<'_>) -> Faults {
    let mut faults = Faults::default();
    let reference = spec.get("targetRef").unwrap_or(&Value::Null);
    for field in ["apiVersion", "kind", "name"] {
        if reference.get(field).and_then(Value::as_str).unwrap_or_default().is_empty() {
            faults.add(FaultKind::Required, format!("spec.targetRef.{field}"), "name the workload");
        }
    }
    if !faults.is_empty() {
        return faults;
    }
    supported(&Target::read(reference), known.supported, &mut faults);
    let is_given = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    let preferred = spec.get("preferredPersistentTopology").and_then(Value::as_array);
    if !is_given("requiredPersistentTopology") && preferred.is_none_or(Vec::is_empty) {
        let message = "give requiredPersistentTopology or preferredPersistentTopology";
        faults.add(FaultKind::Required, "spec", message);
    }
    if old.is_some_and(|old| old.get("targetRef") != Some(reference)) {
        let message = "cannot be changed; delete the object and create it anew";
        faults.add(FaultKind::Forbidden, "spec.targetRef", message);
    }
    if let Some(rival) = known.rival {
        faults.add(
            FaultKind::Duplicate,
            "spec.targetRef",
            format!("{rival} remembers the pods of this workload"),
        );
    }
    faults
}

/// A list that cannot be read hides only what it would have added (D6).
fn supported(target: &Target, known: &Result<Supported, NotAWhitelist>, faults: &mut Faults) {
    let none = Supported::default();
    if known.as_ref().unwrap_or(&none).has(target) {
        return;
    }
    let message = match known {
        Ok(_) => "use a StatefulSet, or a kind that the configuration lists".to_owned(),
        Err(error) => error.to_string(),
    };
    faults.add(FaultKind::NotSupported, "spec.targetRef", message);
}
