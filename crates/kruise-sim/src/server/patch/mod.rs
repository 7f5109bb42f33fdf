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
            // A test that fails and a path that is not there are answered alike.
            json_patch::patch(&mut object, &operations)
                .map_err(|error| Failure::bad_patch(error.to_string()))?;
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

#[cfg(test)]
mod tests;
