//! Admission of StatefulSets (section 6 of their specification).

use kruise_core::admission::Faults;
use kruise_core::gates::Gates;
use kruise_core::revision::Unreadable;
use kruise_core::statefulset::admission::{self, Storage};
use serde_json::Value;

use super::workload::{Case, Rules, Version};

pub struct StatefulSet;

impl Rules for StatefulSet {
    const KIND: &'static str = "StatefulSet";
    type Facts = Storage;

    fn default(
        version: Version,
        spec: &mut Value,
        old: Option<&Value>,
        gates: &Gates,
    ) -> Result<(), Unreadable> {
        admission::default(spec, old, gates)?;
        if let (Version::V1beta1, Some(spec)) = (version, spec.as_object_mut()) {
            admission::default_claims(spec, gates);
        }
        Ok(())
    }

    fn validate(case: &Case<'_, Storage>) -> Faults {
        let mut faults = admission::validate(case.spec, case.old, case.facts, case.gates);
        if case.old.is_none() {
            for fault in admission::validate_name(case.name).iter() {
                faults.add(fault.kind, fault.field.clone(), fault.message.clone());
            }
        }
        faults
    }

    /// The original does not look into pod templates; that its pods would be refused is told, not refused.
    fn warn(case: &Case<'_, Storage>) -> Vec<String> {
        let mut warnings = admission::warn(case.name, case.spec, case.old);
        warnings.extend(case.template.iter().map(|fault| format!("pods would be refused: {fault}")));
        warnings
    }
}
