//! When two templates are the same although their stored bytes differ (SM-10).

use serde_json::Value;

use super::canonical::canonical;
use super::types::{FieldType, Item, Table};

/// Fields that releases of the original older than main could not know, because their Kubernetes library had no such
/// field (1.26 … 1.32): a revision they wrote lacks them although the template has them.
const YOUNG_FIELDS: [(&str, &str); 20] = [
    ("PodSpec", "hostUsers"),
    ("PodSpec", "schedulingGates"),
    ("PodSpec", "resourceClaims"),
    ("PodSpec", "resources"),
    ("Container", "resizePolicy"),
    ("Container", "restartPolicy"),
    ("ResourceRequirements", "claims"),
    ("ResourceClaim", "request"),
    ("TopologySpreadConstraint", "matchLabelKeys"),
    ("TopologySpreadConstraint", "nodeAffinityPolicy"),
    ("TopologySpreadConstraint", "nodeTaintsPolicy"),
    ("PodAffinityTerm", "matchLabelKeys"),
    ("PodAffinityTerm", "mismatchLabelKeys"),
    ("LifecycleHandler", "sleep"),
    ("VolumeProjection", "clusterTrustBundle"),
    ("SecurityContext", "appArmorProfile"),
    ("PodSecurityContext", "appArmorProfile"),
    ("PodSecurityContext", "supplementalGroupsPolicy"),
    ("VolumeMount", "recursiveReadOnly"),
    ("VolumeSource", "image"),
];

/// Who may have written the stored revision, and so which of its gaps mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// It was made from this very template (the status has observed this generation): what it lacks, its writer's
    /// library could not know.
    OfThisTemplate,
    /// The template may have changed since: a gap is a difference.
    Unknown,
}

/// Compares by canonical value: spelling, key order, nulls and fields that the writer could not know do not count.
/// A stored template that cannot be decoded is different from everything.
pub fn same_template(stored: &Value, wanted: &Value, writer: Writer) -> bool {
    let (Ok(stored), Ok(mut wanted)) =
        (canonical("PodTemplateSpec", stored), canonical("PodTemplateSpec", wanted))
    else {
        return false;
    };
    if writer == Writer::OfThisTemplate {
        drop_young("PodTemplateSpec", &mut wanted, &stored);
    }
    wanted == stored
}

/// Removes from `wanted` the young fields that `stored` lacks.
fn drop_young(of: &str, wanted: &mut Value, stored: &Value) {
    for field in Table::kubernetes().fields(of) {
        if let FieldType::Inline(inner) = field.kind {
            drop_young(inner, wanted, stored);
            continue;
        }
        let Some(object) = wanted.as_object_mut() else {
            return;
        };
        let Some(there) = stored.get(field.name) else {
            if YOUNG_FIELDS.contains(&(of, field.name)) {
                object.shift_remove(field.name);
            }
            continue;
        };
        match (field.kind, object.get_mut(field.name)) {
            (FieldType::Struct(inner), Some(here)) => drop_young(inner, here, there),
            (FieldType::List(Item::Struct(inner)), Some(Value::Array(items))) => {
                for (item, other) in items.iter_mut().zip(there.as_array().into_iter().flatten()) {
                    drop_young(inner, item, other);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(container: &Value) -> Value {
        json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}})
    }

    #[test]
    fn sm_10_spelling_never_makes_a_difference() {
        let stored = json!({
            "spec": {"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "name": "a", "image": "i"}]},
            "metadata": {"labels": {"app": "x"}, "creationTimestamp": null},
        });
        let limits = json!({"limits": {"memory": "1024Mi", "cpu": "1000m"}});
        let wanted =
            template(&json!({"name": "a", "image": "i", "command": [], "resources": limits, "newField": 1}));

        assert!(same_template(&stored, &wanted, Writer::Unknown));
        let other = template(&json!({"name": "a", "image": "j"}));
        assert!(!same_template(&stored, &other, Writer::Unknown));
    }

    #[test]
    fn sm_10_fields_the_writer_could_not_know_count_only_when_the_template_may_have_changed() {
        let plain = template(&json!({"name": "a", "image": "i"}));
        let young = template(&json!({"name": "a", "image": "i", "restartPolicy": "Always"}));

        assert!(same_template(&plain, &young, Writer::OfThisTemplate));
        assert!(!same_template(&plain, &young, Writer::Unknown));
        assert!(
            !same_template(&young, &plain, Writer::OfThisTemplate),
            "a stored field that is gone is a change"
        );
        let old_field = template(&json!({"name": "a", "image": "i", "tty": true}));
        assert!(!same_template(&plain, &old_field, Writer::OfThisTemplate), "every writer knew tty");
    }

    #[test]
    fn shared_machinery_m15_shared_machinery_m16_bytes_and_hash_labels_are_not_compared() {
        let escaped: Value =
            serde_json::from_str(r#"{"spec":{"containers":[{"name":"a","command":["\u003c"]}]}}"#).unwrap();

        assert!(same_template(
            &escaped,
            &json!({"spec": {"containers": [{"command": ["<"], "name": "a"}]}}),
            Writer::Unknown
        ));
        assert!(
            !same_template(&json!({"spec": 5}), &json!({"spec": 5}), Writer::Unknown),
            "unreadable equals nothing"
        );
    }
}
