//! What several integration tests need: the golden facts, a walk over schemas, all types by name.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use kruise_api::{Kind, ReadError, apps, policy, read_value};
use serde_json::{Map, Value, json};

/// The root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All JSON files of one folder of `testdata/golden`, by name.
pub fn golden(folder: &str) -> BTreeMap<String, Value> {
    let entries = fs::read_dir(root().join("testdata/golden").join(folder)).unwrap();
    let files = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (format!("{folder}/{name}"), serde_json::from_slice(&fs::read(&path).unwrap()).unwrap())
        })
        .collect()
}

/// A schema as golden CRDs list it: path → keywords. `[]` is a list item, `{}` a map value.
pub fn fields(schema: &Value) -> BTreeMap<String, Map<String, Value>> {
    let mut found = BTreeMap::new();
    walk(schema, "", &mut found);
    found
}

fn walk(schema: &Value, path: &str, found: &mut BTreeMap<String, Map<String, Value>>) {
    const STRUCTURE: [&str; 6] = [
        "properties",
        "items",
        "additionalProperties",
        "required",
        "description",
        "x-kubernetes-validations",
    ];
    let mut keywords = schema.as_object().unwrap().clone();
    keywords.retain(|keyword, _| !STRUCTURE.contains(&keyword.as_str()));
    found.insert(path.to_owned(), keywords);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<_> = required.collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        let child = format!("{path}{dot}{name}");
        walk(property, &child, found);
        if required.contains(&name.as_str()) {
            found.entry(child).or_default().insert("required".to_owned(), json!(true));
        }
    }
    for (child, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[child].is_object() {
            walk(&schema[child], &format!("{path}{mark}"), found);
        }
    }
}

/// Applies a JSON merge patch.
pub fn merged(object: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut result = object.as_object().cloned().unwrap_or_default();
    for (key, value) in patch {
        if value.is_null() {
            result.shift_remove(key);
        } else {
            let merged = merged(result.get(key).unwrap_or(&Value::Null), value);
            result.insert(key.clone(), merged);
        }
    }
    Value::Object(result)
}

/// Reads an object into the type of its kind and version, and writes it again.
pub fn read_and_write(object: &Value) -> Result<Value, ReadError> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let version = api_version.rsplit('/').next().unwrap_or_default();
    match (version, object["kind"].as_str().unwrap_or_default()) {
        ("v1alpha1", "CloneSet") => again::<apps::cloneset::v1alpha1::CloneSet>(object),
        ("v1beta1", "CloneSet") => again::<apps::cloneset::v1beta1::CloneSet>(object),
        ("v1alpha1", "StatefulSet") => again::<apps::statefulset::v1alpha1::StatefulSet>(object),
        ("v1beta1", "StatefulSet") => again::<apps::statefulset::v1beta1::StatefulSet>(object),
        ("v1alpha1", "DaemonSet") => again::<apps::daemonset::v1alpha1::DaemonSet>(object),
        ("v1beta1", "DaemonSet") => again::<apps::daemonset::v1beta1::DaemonSet>(object),
        ("v1alpha1", "BroadcastJob") => again::<apps::broadcastjob::v1alpha1::BroadcastJob>(object),
        ("v1beta1", "BroadcastJob") => again::<apps::broadcastjob::v1beta1::BroadcastJob>(object),
        ("v1alpha1", "AdvancedCronJob") => again::<apps::advancedcronjob::v1alpha1::AdvancedCronJob>(object),
        ("v1beta1", "AdvancedCronJob") => again::<apps::advancedcronjob::v1beta1::AdvancedCronJob>(object),
        ("v1alpha1", "SidecarSet") => again::<apps::sidecarset::v1alpha1::SidecarSet>(object),
        ("v1beta1", "SidecarSet") => again::<apps::sidecarset::v1beta1::SidecarSet>(object),
        ("v1alpha1", "EphemeralJob") => again::<apps::ephemeraljob::v1alpha1::EphemeralJob>(object),
        ("v1alpha1", "UnitedDeployment") => {
            again::<apps::uniteddeployment::v1alpha1::UnitedDeployment>(object)
        }
        ("v1beta1", "UnitedDeployment") => again::<apps::uniteddeployment::v1beta1::UnitedDeployment>(object),
        ("v1alpha1", "WorkloadSpread") => again::<apps::workloadspread::v1alpha1::WorkloadSpread>(object),
        ("v1beta1", "WorkloadSpread") => again::<apps::workloadspread::v1beta1::WorkloadSpread>(object),
        ("v1alpha1", "ResourceDistribution") => {
            again::<apps::resourcedistribution::v1alpha1::ResourceDistribution>(object)
        }
        ("v1beta1", "ResourceDistribution") => {
            again::<apps::resourcedistribution::v1beta1::ResourceDistribution>(object)
        }
        ("v1alpha1", "PersistentPodState") => {
            again::<apps::persistentpodstate::v1alpha1::PersistentPodState>(object)
        }
        ("v1beta1", "PersistentPodState") => {
            again::<apps::persistentpodstate::v1beta1::PersistentPodState>(object)
        }
        ("v1alpha1", "ContainerRecreateRequest") => {
            again::<apps::containerrecreaterequest::v1alpha1::ContainerRecreateRequest>(object)
        }
        ("v1beta1", "ContainerRecreateRequest") => {
            again::<apps::containerrecreaterequest::v1beta1::ContainerRecreateRequest>(object)
        }
        ("v1alpha1", "ImagePullJob") => again::<apps::imagepulljob::v1alpha1::ImagePullJob>(object),
        ("v1beta1", "ImagePullJob") => again::<apps::imagepulljob::v1beta1::ImagePullJob>(object),
        ("v1alpha1", "ImageListPullJob") => {
            again::<apps::imagelistpulljob::v1alpha1::ImageListPullJob>(object)
        }
        ("v1beta1", "ImageListPullJob") => again::<apps::imagelistpulljob::v1beta1::ImageListPullJob>(object),
        ("v1alpha1", "NodeImage") => again::<apps::nodeimage::v1alpha1::NodeImage>(object),
        ("v1beta1", "NodeImage") => again::<apps::nodeimage::v1beta1::NodeImage>(object),
        ("v1alpha1", "PodProbeMarker") => again::<apps::podprobemarker::v1alpha1::PodProbeMarker>(object),
        ("v1alpha1", "NodePodProbe") => again::<apps::nodepodprobe::v1alpha1::NodePodProbe>(object),
        ("v1alpha1", "PodUnavailableBudget") => {
            again::<policy::podunavailablebudget::v1alpha1::PodUnavailableBudget>(object)
        }
        ("v1beta1", "PodUnavailableBudget") => {
            again::<policy::podunavailablebudget::v1beta1::PodUnavailableBudget>(object)
        }
        (version, kind) => panic!("no type for {kind} {version}"),
    }
}

fn again<T: Kind>(object: &Value) -> Result<Value, ReadError> {
    Ok(serde_json::to_value(read_value::<T>(object.clone())?).unwrap())
}
