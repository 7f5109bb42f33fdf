//! Admission of workloads that are served as v1alpha1 and v1beta1: from the request, in either version, to the rules of the
//! kind and back.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use kruise_api::convert;
use serde_json::{Value, json};

use super::{Answer, Cause, Denial, Fault, Faults, Known, Operation, Request, patch};
use crate::gates::Gates;
use crate::lookup::Slim;
use crate::revision::Unreadable;

/// The rules of one kind, on v1beta1.
pub trait Rules: Slim {
    /// What is looked up for them.
    type Facts;

    fn facts(request: &Request, known: &Known<'_>) -> Self::Facts;

    /// Absent can mean something else in v1alpha1 than in v1beta1, and a conversion keeps what was absent absent: this is
    /// written out before it.
    fn complete_v1alpha1(_object: &mut Value) {}

    fn default(
        version: Version,
        spec: &mut Value,
        old: Option<&Value>,
        gates: &Gates,
    ) -> Result<(), Unreadable>;

    /// Brings what stands outside of the spec into line with it; the whole object is v1beta1, written by the user in that version.
    fn align(_version: Version, _object: &mut Value) {}

    fn validate(case: &Case<'_, Self::Facts>) -> Faults;

    /// What v1alpha1 refuses beyond that, with its own field names.
    fn validate_v1alpha1(_spec: &Value) -> Faults {
        Faults::default()
    }

    fn warn(case: &Case<'_, Self::Facts>) -> Vec<String>;

    /// A text with fields of v1beta1 in the words of the version that the user wrote.
    fn worded(_version: Version, field: &str) -> String {
        field.to_owned()
    }
}

/// One object to be judged.
pub struct Case<'a, F> {
    pub name: &'a str,
    pub spec: &'a Value,
    /// Of an update.
    pub old: Option<&'a Value>,
    pub facts: &'a F,
    /// What the API server says about the pod template.
    pub template: &'a [Fault],
    pub gates: &'a Gates,
}

/// The versions that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1alpha1,
    V1beta1,
}

/// Fills in defaults (CS-100, CS-101).
pub fn mutate<R: Rules>(mut request: Request, known: &Known<'_>) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    match defaulted::<R>(&mut request, known.gates) {
        Ok(object) => Answer::patched(patch(&request.object, object)),
        Err(denial) => denial.into(),
    }
}

/// Refuses what the schema cannot, and warns.
pub fn validate<R: Rules>(mut request: Request, known: &Known<'_>) -> Answer {
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return Answer::allowed(),
    }
    match judged::<R>(&mut request, known) {
        Ok((faults, warnings)) => {
            let denial = (!faults.is_empty()).then(|| invalid::<R>(&request, &faults));
            Answer { denial, warnings, patch: Vec::new() }
        }
        Err(denial) => denial.into(),
    }
}

/// The template with a volume for each claim, as the pods will have it; absent if the stored one is the same.
pub fn template_to_try(request: &Request) -> Option<Cow<'_, Value>> {
    let template = request.object.pointer("/spec/template")?;
    let claims = request.object.pointer("/spec/volumeClaimTemplates");
    let unchanged = Some(template) == request.old.pointer("/spec/template")
        && claims == request.old.pointer("/spec/volumeClaimTemplates");
    if unchanged {
        return None;
    }
    let names: Vec<&str> = claims
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|claim| claim.pointer("/metadata/name")?.as_str())
        .collect();
    if names.is_empty() {
        return Some(Cow::Borrowed(template));
    }
    let mut template = template.clone();
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            // A claim replaces a volume of its name.
            volumes.retain(|volume| !names.iter().any(|name| volume.get("name") == Some(&json!(name))));
            volumes.extend(names.iter().map(
                |name| json!({"name": name, "persistentVolumeClaim": {"claimName": name, "readOnly": false}}),
            ));
        }
    }
    Some(Cow::Owned(template))
}

/// Uses up the stored object.
fn defaulted<R: Rules>(request: &mut Request, gates: &Gates) -> Result<Value, Denial> {
    let version = Version::of::<R>(request)?;
    let mut object = request.object.clone();
    if version == Version::V1alpha1 {
        R::complete_v1alpha1(&mut object);
    }
    let mut object = version.up(object)?;
    let old = stored(version, request.old.take())?;
    if let Some(spec) = object.get_mut("spec") {
        R::default(version, spec, old.as_ref(), gates).map_err(|error| {
            let mut faults = Faults::default();
            faults.invalid(format!("spec.template.{}", error.path), error.problem);
            invalid::<R>(request, &version.worded::<R>(&faults))
        })?;
    }
    R::align(version, &mut object);
    version.down(object)
}

/// Uses up both objects.
fn judged<R: Rules>(request: &mut Request, known: &Known<'_>) -> Result<(Vec<Fault>, Vec<String>), Denial> {
    let version = Version::of::<R>(request)?;
    let facts = R::facts(request, known);
    let mut faults = Vec::new();
    if version == Version::V1alpha1 {
        let spec = request.object.get("spec").unwrap_or(&Value::Null);
        faults.extend(R::validate_v1alpha1(spec).iter().cloned());
    }
    let object = version.up(request.object.take())?;
    let old = stored(version, request.old.take())?;
    let case = Case {
        name: &request.name,
        spec: object.get("spec").unwrap_or(&Value::Null),
        old: old.as_ref(),
        facts: &facts,
        template: &known.live.template,
        gates: known.gates,
    };
    faults.extend(version.worded::<R>(&R::validate(&case)));
    let warnings = R::warn(&case).iter().map(|text| R::worded(version, text)).collect();
    Ok((faults, warnings))
}

/// The stored spec as v1beta1.
fn stored(version: Version, old: Value) -> Result<Option<Value>, Denial> {
    if old.is_null() {
        return Ok(None);
    }
    let mut old = version.up(old)?;
    Ok(old.get_mut("spec").map(Value::take))
}

impl Version {
    fn of<R: Rules>(request: &Request) -> Result<Self, Denial> {
        match request.kind.version.as_str() {
            "v1alpha1" => Ok(Self::V1alpha1),
            "v1beta1" => Ok(Self::V1beta1),
            other => Err(Denial::bad_request(format!("{} is not served as {other}", R::RESOURCE.kind()))),
        }
    }

    fn up(self, object: Value) -> Result<Value, Denial> {
        match self {
            Self::V1alpha1 => {
                convert(object, "v1beta1").map_err(|error| Denial::bad_request(error.to_string()))
            }
            Self::V1beta1 if object.is_object() => Ok(object),
            Self::V1beta1 => Err(Denial::bad_request("the request holds no object")),
        }
    }

    fn down(self, object: Value) -> Result<Value, Denial> {
        match self {
            Self::V1alpha1 => {
                convert(object, "v1alpha1").map_err(|error| Denial::bad_request(error.to_string()))
            }
            Self::V1beta1 => Ok(object),
        }
    }

    /// The faults with the field names of the version that the user wrote.
    fn worded<R: Rules>(self, faults: &Faults) -> Vec<Fault> {
        faults.iter().map(|fault| Fault { field: R::worded(self, &fault.field), ..fault.clone() }).collect()
    }
}

fn invalid<R: Rules>(request: &Request, faults: &[Fault]) -> Denial {
    let listed: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let message = format!("{} {:?} is invalid: {}", R::RESOURCE.kind(), request.name, listed.join("; "));
    Denial { causes: faults.iter().map(Cause::from).collect(), ..Denial::new(422, message) }
}
