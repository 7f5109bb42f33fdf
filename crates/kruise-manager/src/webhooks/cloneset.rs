//! Admission of CloneSets (CS-100 … CS-106): from the request, in either version, to the rules of the brain and back.
//! Pure: what has to be looked up comes in with [`Lookups`].

use kruise_api::{convert, parts::PodUpdatePolicy};
use kruise_core::admission::{Fault, FaultKind, Faults};
use kruise_core::cloneset::admission::{self, Named};
use kruise_core::gates::Gates;
use kruise_runtime::webhook::{Answer, Cause, Denial, Operation, Request, patch};
use serde_json::{Value, json};

/// What the decision needs to know besides the request.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Of the pods that the object names, those that are its own.
    pub named: Named,
    /// What the API server says about the pod template.
    pub template: Vec<Fault>,
}

/// The versions that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1alpha1,
    V1beta1,
}

/// Fills in defaults (CS-100, CS-101).
pub fn mutate(request: &Request, gates: &Gates) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    match defaulted(request, gates) {
        Ok(object) => Answer::patched(patch(&request.object, &object)),
        Err(denial) => Answer { denial: Some(denial), ..Answer::default() },
    }
}

/// Refuses what the schema cannot, and warns (CS-102 … CS-106).
pub fn validate(request: &Request, lookups: &Lookups, gates: &Gates) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    let faults = match faults(request, lookups) {
        Ok(faults) => faults,
        Err(denial) => return Answer { denial: Some(denial), ..Answer::default() },
    };
    let warnings = admission::warn(&request.name, gates);
    let denial = (!faults.is_empty()).then(|| invalid(request, &faults));
    Answer { denial, warnings, patch: Vec::new() }
}

/// The template with a volume for each claim, as the pods will have it; absent if the stored one is the same.
pub fn template_to_try(request: &Request) -> Option<Value> {
    let template = request.object.pointer("/spec/template")?;
    let claims = request.object.pointer("/spec/volumeClaimTemplates");
    let unchanged = Some(template) == request.old.pointer("/spec/template")
        && claims == request.old.pointer("/spec/volumeClaimTemplates");
    if unchanged {
        return None;
    }
    let mut template = template.clone();
    let names: Vec<&str> = claims
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|claim| claim.pointer("/metadata/name")?.as_str())
        .collect();
    if !names.is_empty()
        && let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut)
    {
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            // A claim replaces a volume of its name.
            volumes.retain(|volume| !names.iter().any(|name| volume.get("name") == Some(&json!(name))));
            volumes.extend(names.iter().map(
                |name| json!({"name": name, "persistentVolumeClaim": {"claimName": name, "readOnly": false}}),
            ));
        }
    }
    Some(template)
}

/// Names in podsToDelete that were not there before.
pub fn pods_to_look_up(request: &Request) -> Vec<String> {
    let names = |object: &Value| -> Vec<String> {
        let list = object.pointer("/spec/scaleStrategy/podsToDelete").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let before = names(&request.old);
    names(&request.object).into_iter().filter(|name| !before.contains(name)).collect()
}

fn defaulted(request: &Request, gates: &Gates) -> Result<Value, Denial> {
    let version = Version::of(request)?;
    let mut object = request.object.clone();
    if version == Version::V1alpha1 {
        complete_v1alpha1(&mut object);
    }
    let mut object = version.up(object)?;
    let old = stored(version, &request.old)?;
    if let Some(spec) = object.get_mut("spec") {
        admission::default(spec, old.as_ref(), gates).map_err(|error| {
            let mut faults = Faults::default();
            faults.invalid(format!("spec.template.{}", error.path), error.problem);
            invalid(request, &version.worded(&faults))
        })?;
    }
    version.down(object)
}

/// Absent means "empty" in v1alpha1, the two versions do not agree on what an empty one says, and a conversion keeps what
/// was absent absent: these are written out before it.
fn complete_v1alpha1(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["scaleStrategy", "updateStrategy"] {
        let place = spec.entry(field).or_insert(Value::Null);
        if place.is_null() {
            *place = json!({});
        }
    }
    let strategy = spec.get_mut("updateStrategy").and_then(Value::as_object_mut);
    if let Some(strategy) = strategy
        && strategy.get("type").is_none_or(|kind| kind.is_null() || kind == "")
    {
        strategy.insert("type".to_owned(), json!(PodUpdatePolicy::ReCreate));
    }
}

fn faults(request: &Request, lookups: &Lookups) -> Result<Vec<Fault>, Denial> {
    let version = Version::of(request)?;
    let mut all = Vec::new();
    if version == Version::V1alpha1 {
        let spec = request.object.get("spec").unwrap_or(&Value::Null);
        all.extend(admission::validate_v1alpha1(spec).iter().cloned());
    }
    let object = version.up(request.object.clone())?;
    let old = stored(version, &request.old)?;
    let spec = object.get("spec").unwrap_or(&Value::Null);
    all.extend(version.worded(&admission::validate(spec, old.as_ref(), &lookups.named)));
    all.extend(lookups.template.iter().cloned());
    Ok(all)
}

/// The stored spec as v1beta1.
fn stored(version: Version, old: &Value) -> Result<Option<Value>, Denial> {
    if old.is_null() {
        return Ok(None);
    }
    let mut old = version.up(old.clone())?;
    Ok(old.get_mut("spec").map(Value::take))
}

impl Version {
    fn of(request: &Request) -> Result<Self, Denial> {
        match request.version.as_str() {
            "v1alpha1" => Ok(Self::V1alpha1),
            "v1beta1" => Ok(Self::V1beta1),
            other => Err(bad_request(format!("CloneSet is not served as {other}"))),
        }
    }

    fn up(self, object: Value) -> Result<Value, Denial> {
        match self {
            Self::V1alpha1 => convert(object, "v1beta1").map_err(|error| bad_request(error.to_string())),
            Self::V1beta1 if object.is_object() => Ok(object),
            Self::V1beta1 => Err(bad_request("the request holds no object".to_owned())),
        }
    }

    fn down(self, object: Value) -> Result<Value, Denial> {
        match self {
            Self::V1alpha1 => convert(object, "v1alpha1").map_err(|error| bad_request(error.to_string())),
            Self::V1beta1 => Ok(object),
        }
    }

    /// The faults with the field names of the version that the user wrote.
    fn worded(self, faults: &Faults) -> Vec<Fault> {
        let field = |field: &str| match self {
            Self::V1alpha1 => field
                .replace("spec.updateStrategy.rollingUpdate.podUpdatePolicy", "spec.updateStrategy.type")
                .replace("spec.updateStrategy.rollingUpdate", "spec.updateStrategy"),
            Self::V1beta1 => field.to_owned(),
        };
        faults.iter().map(|fault| Fault { field: field(&fault.field), ..fault.clone() }).collect()
    }
}

fn bad_request(message: String) -> Denial {
    Denial { code: 400, message, causes: Vec::new() }
}

fn invalid(request: &Request, faults: &[Fault]) -> Denial {
    let causes = faults.iter().map(|fault| Cause {
        reason: match fault.kind {
            FaultKind::Required => "FieldValueRequired",
            FaultKind::Invalid => "FieldValueInvalid",
            FaultKind::NotSupported => "FieldValueNotSupported",
            FaultKind::Forbidden => "FieldValueForbidden",
            FaultKind::Duplicate => "FieldValueDuplicate",
        },
        field: fault.field.clone(),
        message: fault.message.clone(),
    });
    let listed: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let message = format!("CloneSet {:?} is invalid: {}", request.name, listed.join("; "));
    Denial { code: 422, message, causes: causes.collect() }
}
