//! PodUnavailableBudget v1alpha1: operations and total are annotations, and there is no ignored-pod selector
//! (C1 … C6 of its specification).

use schemars::Schema;
use serde_json::{Value, json};

use super::v1beta1::{PodUnavailableBudgetSpec, PodUnavailableBudgetStatus, PubOperation};
use crate::{
    annotations::{PUB_IGNORED_POD_SELECTOR, PUB_PROTECT_OPERATIONS, PUB_PROTECT_TOTAL_REPLICAS},
    convert::json::{Object, annotation, child, child_mut, set_annotation, take_annotation, text},
    crd::older::without,
    kind::kind,
    names::POLICY_GROUP,
    parts::LabelSelector,
    read::read_part,
};

kind! {
    /// Limits how many pods may be made unavailable at the same time, by deletion, eviction or in-place change.
    Namespaced PodUnavailableBudget(POLICY_GROUP, "v1alpha1", "podunavailablebudgets") {
        /// Which pods are guarded, and how many may be unavailable.
        #[schemars(transform = spec)]
        spec: PodUnavailableBudgetSpec,
        status: PodUnavailableBudgetStatus,
    }
}

fn spec(schema: &mut Schema) {
    without(schema, &["ignoredPodSelector", "protectOperations", "protectTotalReplicas"]);
}

/// Annotations become fields where they can be read; one that cannot be read sets nothing (C6).
pub(crate) fn up(object: &mut Object) {
    let operations = annotation(object, PUB_PROTECT_OPERATIONS).and_then(operations_of);
    let total = annotation(object, PUB_PROTECT_TOTAL_REPLICAS).and_then(|total| total.parse::<i32>().ok());
    let ignored = annotation(object, PUB_IGNORED_POD_SELECTOR).and_then(selector_of);
    if ignored.is_some() {
        take_annotation(object, PUB_IGNORED_POD_SELECTOR);
    }
    let fields = [
        ("protectOperations", operations.map(|operations| json!(operations))),
        ("protectTotalReplicas", total.map(|total| json!(total))),
        ("ignoredPodSelector", ignored),
    ];
    if fields.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    let Some(spec) = child_mut(object, "spec") else {
        return;
    };
    spec.extend(fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))));
}

pub(crate) fn down(object: &mut Object) {
    let mut take = |field| child(object, "spec").and_then(|spec| spec.shift_remove(field));
    let (operations, total, ignored) =
        (take("protectOperations"), take("protectTotalReplicas"), take("ignoredPodSelector"));
    let operations =
        operations.as_ref().and_then(Value::as_array).filter(|operations| !operations.is_empty());
    let joined = operations.map(|operations| operations.iter().map(text).collect::<Vec<_>>().join(","));
    for (key, value) in
        [(PUB_PROTECT_OPERATIONS, joined), (PUB_PROTECT_TOTAL_REPLICAS, total.as_ref().map(text))]
    {
        match value {
            Some(value) => set_annotation(object, key, &value),
            None => _ = take_annotation(object, key),
        }
    }
    if let Some(ignored) = ignored {
        set_annotation(object, PUB_IGNORED_POD_SELECTOR, &ignored.to_string());
    }
}

/// The operations of a comma-separated list, if there is at least one and all are known.
fn operations_of(list: &str) -> Option<Vec<PubOperation>> {
    let operations: Vec<_> =
        list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(PubOperation::from).collect();
    let known = operations.iter().all(|operation| !matches!(operation, PubOperation::Other(_)));
    (known && !operations.is_empty()).then_some(operations)
}

/// The selector that we kept. Something else under that key is not ours.
fn selector_of(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    read_part::<LabelSelector>(value.clone()).is_ok().then_some(value)
}
