//! CloneSet v1alpha1: rollout settings lie flat under `updateStrategy`, claim reuse is negated.
//! The rest, status included, is the hub's.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::v1beta1::{self, CloneSetStatus};
use crate::{
    annotations,
    convert::json::{Object, annotation, child, child_mut, label, set_annotation, text},
    crd::{
        older::{at, describe, with, without},
        rules, schema,
    },
    kind::kind,
    labels,
    names::APPS_GROUP,
    parts::{self, Extra, InPlaceUpdateStrategy, PodUpdatePolicy},
    wire_enum::wire_enum,
};

kind! {
    /// Runs a number of equal pods without fixed order, scales them and updates them, in place where that is possible.
    Namespaced CloneSet(APPS_GROUP, "v1alpha1", "clonesets") {
        /// What should run.
        #[schemars(transform = spec)]
        spec: CloneSetSpec,
        status: CloneSetStatus,
    }
}

/// What should run.
pub type CloneSetSpec = v1beta1::CloneSetSpec<CloneSetScaleStrategy, CloneSetUpdateStrategy>;

/// How pods are created and deleted.
pub type CloneSetScaleStrategy = v1beta1::CloneSetScaleStrategy<ClaimReuse>;

/// How pods are brought to a changed template: the hub's settings of RollingUpdate, one level higher.
pub type CloneSetUpdateStrategy = v1beta1::RollingUpdateCloneSet<Policy>;

/// What the scale strategy says the other way round in the hub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReuse {
    /// Deletes claims of deleted pods instead of giving them to new pods.
    #[serde(rename = "disablePVCReuse")]
    pub disable_pvc_reuse: Option<bool>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

/// What the update strategy has under another name than in the hub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// How one pod is updated. ReCreate if not given. OnDelete shows here for objects written as v1beta1.
    pub r#type: Option<UpdateType>,
    /// Fields of newer releases.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Extra,
}

wire_enum! {
    /// How one pod is updated. `OnDelete` belongs to objects written as v1beta1: the schema takes it, so that such an object
    /// can be written back, and admission refuses it for others (CS-104).
    closed or empty enum UpdateType {
        /// Delete it and create a new one.
        ReCreate = "ReCreate",
        /// Change it where it runs if the change allows that, else recreate it.
        InPlaceIfPossible = "InPlaceIfPossible",
        /// Change it where it runs; other changes are refused.
        InPlaceOnly = "InPlaceOnly",
        /// Wait until somebody deletes it.
        OnDelete = "OnDelete",
    }
}

fn spec(schema: &mut Schema) {
    schema.remove(rules::VALIDATIONS);
    rules::cloneset::v1alpha1_stands_still(schema);
    rules::cloneset::deadline(schema);
    if let Some(scale) = at(schema, &["scaleStrategy"]) {
        without(scale, &["enablePVCReuse", "excludePreparingDelete"]);
        with::<ClaimReuse>(scale);
    }
    let Some(strategy) = at(schema, &["updateStrategy"]) else { return };
    describe(strategy, &[], "How pods are brought to a changed template.");
    without(strategy, &["podUpdatePolicy"]);
    with::<Policy>(strategy);
    strategy.remove(rules::VALIDATIONS);
    rules::cloneset::v1alpha1_no_surge_in_place(strategy);
    // Image pre-download is a matter of annotations here: fields with its name mean nothing and are not checked.
    if let Some(in_place) = at(strategy, &["inPlaceUpdateStrategy"]) {
        *in_place = schema::of::<InPlaceUpdateStrategy>();
    }
    let text = "Settings of in-place updates. Image pre-download is set by annotations in this version.";
    describe(strategy, &["inPlaceUpdateStrategy"], text);
}

/// Fields that v1alpha1 keeps flat and v1beta1 keeps under `rollingUpdate`.
const ROLLING: [&str; 7] = [
    "partition",
    "maxUnavailable",
    "maxSurge",
    "paused",
    "priorityStrategy",
    "scatterStrategy",
    "inPlaceUpdateStrategy",
];

/// Pre-download fields of v1beta1 with the annotations that say the same in v1alpha1.
const PRE_DOWNLOAD: [(&str, &str); 3] = [
    ("imagePreDownloadParallelism", annotations::IMAGE_PREDOWNLOAD_PARALLELISM),
    ("imagePreDownloadTimeoutSeconds", annotations::IMAGE_PREDOWNLOAD_TIMEOUT_SECONDS),
    ("imagePreDownloadMinUpdatedReadyPods", annotations::IMAGE_PREDOWNLOAD_MIN_UPDATED_READY_PODS),
];

pub(crate) fn up(object: &mut Object) {
    let exclude =
        label(object, labels::CLONESET_EXCLUDE_PREPARING_DELETE).is_some_and(|value| value == labels::TRUE);
    let downloads: Vec<_> = PRE_DOWNLOAD
        .iter()
        .filter_map(|(field, key)| Some((*field, pre_download_value(field, annotation(object, key)?)?)))
        .collect();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec_up(spec);
    if exclude && let Some(scale) = child_mut(spec, "scaleStrategy") {
        scale.insert("excludePreparingDelete".to_owned(), json!(true));
    }
    if downloads.is_empty() {
        return;
    }
    let rolling = child(spec, "updateStrategy").and_then(|strategy| strategy.get_mut("rollingUpdate"));
    let in_place = rolling
        .and_then(Value::as_object_mut)
        .and_then(|rolling| child_mut(rolling, "inPlaceUpdateStrategy"));
    if let Some(in_place) = in_place {
        in_place.extend(downloads.into_iter().map(|(field, value)| (field.to_owned(), value)));
    }
}

pub(crate) fn down(object: &mut Object) {
    let mut downloads = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        downloads = spec_down(spec);
    }
    for (key, value) in downloads {
        set_annotation(object, key, &value);
    }
}

/// v1alpha1 spec to v1beta1; also for a CloneSet inside a UnitedDeployment.
pub(crate) fn spec_up(spec: &mut Object) {
    if let Some(scale) = child_mut(spec, "scaleStrategy") {
        let disabled = scale.shift_remove("disablePVCReuse").is_some_and(|value| value == json!(true));
        scale.insert("enablePVCReuse".to_owned(), json!(!disabled));
    }
    let Some(strategy) = child(spec, "updateStrategy") else {
        return;
    };
    let policy = strategy.shift_remove("type");
    let mut rolling: Object = ROLLING
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), strategy.shift_remove(*field)?)))
        .collect();
    let policy = policy.as_ref().and_then(Value::as_str).unwrap_or_default();
    let policy = UpdateType::from(policy);
    if policy == UpdateType::OnDelete {
        strategy.insert("type".to_owned(), json!(parts::UpdateType::OnDelete));
        return;
    }
    if let Some(in_place) = child(&mut rolling, "inPlaceUpdateStrategy") {
        in_place.retain(|field, _| PRE_DOWNLOAD.iter().all(|(ignored, _)| field != ignored));
    }
    let policy = match policy {
        UpdateType::InPlaceIfPossible => PodUpdatePolicy::InPlaceIfPossible,
        UpdateType::InPlaceOnly => PodUpdatePolicy::InPlaceOnly,
        UpdateType::ReCreate | UpdateType::OnDelete | UpdateType::Other(_) => PodUpdatePolicy::ReCreate,
    };
    rolling.insert("podUpdatePolicy".to_owned(), json!(policy));
    strategy.insert("type".to_owned(), json!(parts::UpdateType::RollingUpdate));
    strategy.insert("rollingUpdate".to_owned(), Value::Object(rolling));
}

/// v1beta1 spec to v1alpha1. Returns the annotations that stand for pre-download fields.
fn spec_down(spec: &mut Object) -> Vec<(&'static str, String)> {
    if let Some(scale) = child_mut(spec, "scaleStrategy") {
        scale.shift_remove("excludePreparingDelete");
        if scale.shift_remove("enablePVCReuse").is_none_or(|value| value != json!(true)) {
            scale.insert("disablePVCReuse".to_owned(), json!(true));
        }
    }
    let mut downloads = Vec::new();
    let Some(strategy) = child(spec, "updateStrategy") else {
        return downloads;
    };
    let rolling = strategy.shift_remove("rollingUpdate");
    let on_delete = strategy.get("type").is_some_and(|kind| kind == parts::UpdateType::OnDelete.as_str());
    let Some(Value::Object(mut rolling)) = rolling else {
        if !on_delete {
            strategy.shift_remove("type");
        }
        return downloads;
    };
    let policy = rolling.shift_remove("podUpdatePolicy");
    if let Some(in_place) = child(&mut rolling, "inPlaceUpdateStrategy") {
        for (field, key) in PRE_DOWNLOAD {
            downloads.extend(in_place.shift_remove(field).map(|value| (key, text(&value))));
        }
        if in_place.is_empty() {
            rolling.shift_remove("inPlaceUpdateStrategy");
        }
    }
    for field in ROLLING {
        if let Some(value) = rolling.shift_remove(field) {
            strategy.insert(field.to_owned(), value);
        }
    }
    if !on_delete {
        strategy.insert("type".to_owned(), policy.unwrap_or_else(|| json!(UpdateType::ReCreate)));
    }
    downloads
}

/// What an annotation sets, if it can be read: a number or text for the parallelism, else a number that fits 32 bits.
fn pre_download_value(field: &str, text: &str) -> Option<Value> {
    match text.parse::<i32>() {
        Ok(number) => Some(json!(number)),
        Err(_) if field == "imagePreDownloadParallelism" => Some(json!(text)),
        Err(_) => None,
    }
}

/// Whether a spec without version has the v1alpha1 shape: something in it has no meaning in v1beta1.
pub(crate) fn has_old_shape(spec: &Object) -> bool {
    let strategy = spec.get("updateStrategy").and_then(Value::as_object);
    let flat = strategy.is_some_and(|strategy| {
        let kind = strategy.get("type").and_then(Value::as_str).unwrap_or_default();
        ROLLING.iter().any(|field| strategy.contains_key(*field))
            || matches!(
                UpdateType::from(kind),
                UpdateType::ReCreate | UpdateType::InPlaceIfPossible | UpdateType::InPlaceOnly
            )
    });
    let scale = spec.get("scaleStrategy");
    let new_reuse = scale.is_some_and(|scale| scale.get("enablePVCReuse").is_some());
    !new_reuse && (flat || scale.is_some_and(|scale| scale.get("disablePVCReuse").is_some()))
}
