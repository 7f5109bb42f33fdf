//! The three ways to patch that we send.

pub(crate) mod strategic;

use serde_json::Value;

use super::failure::Failure;
use super::request::Verb;
use super::resources::Kind;

/// The object after the patch, before any rule of its kind.
pub fn apply(kind: &Kind, verb: Verb, object: &Value, body: &Value) -> Result<Value, Failure> {
    let mut object = object.clone();
    match verb {
        Verb::JsonPatch => {
            let operations: json_patch::Patch = serde_json::from_value(body.clone())
                .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))?;
            for operation in operations.0 {
                if is_null_and_absent(&object, &operation) {
                    continue;
                }
                // A test that fails and a path that is not there are answered alike.
                json_patch::patch(&mut object, std::slice::from_ref(&operation))
                    .map_err(|error| Failure::bad_patch(error.to_string()))?;
            }
        }
        Verb::MergePatch => json_patch::merge(&mut object, body),
        Verb::StrategicPatch if kind.is_custom() => {
            return Err(Failure::unsupported(
                "strategic merge patches are not supported for custom resources",
            ));
        }
        Verb::StrategicPatch => strategic::merge(&mut object, body, ""),
        Verb::Get | Verb::List | Verb::Watch | Verb::Create | Verb::Update | Verb::Delete => {}
    }
    if object.is_object() { Ok(object) } else { Err(Failure::bad_request("the patch leaves no object")) }
}

/// The API server takes a member of an object that is not there for null.
fn is_null_and_absent(object: &Value, operation: &json_patch::PatchOperation) -> bool {
    let json_patch::PatchOperation::Test(test) = operation else { return false };
    let path = test.path.as_str();
    let parent = path.rsplit_once('/').and_then(|(parent, _)| object.pointer(parent));
    test.value.is_null() && parent.is_some_and(Value::is_object) && object.pointer(path).is_none()
}

#[cfg(test)]
mod tests;
