//! ConversionReview, v1 and v1beta1. One object that cannot be converted fails the review with its name and reason; the
//! API server wants all or none.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::intake::is_light;
use super::review;

const KIND: &str = "ConversionReview";
const VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

/// Converts one object to the wanted `group/version`.
pub type Convert = fn(Value, &str) -> Result<Value, String>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired_api_version: String,
    /// As text: one tree at a time.
    #[serde(borrow, default)]
    objects: Vec<&'a RawValue>,
}

/// Answers the body of a review, as JSON; `Err` says why it is none.
pub(super) fn answer(body: &[u8], convert: Convert) -> Result<String, String> {
    let (api_version, request): (String, Request<'_>) = review::read(body, KIND, &VERSIONS)?;
    let size = request.objects.iter().map(|text| text.get().len() + 1).sum::<usize>() + 1_024;
    // Written once: of a long list there is one copy.
    let mut out = String::with_capacity(size);
    let (api_version, uid) = (json!(api_version), json!(request.uid));
    write!(
        out,
        r#"{{"apiVersion":{api_version},"kind":"{KIND}","response":{{"uid":{uid},"convertedObjects":["#
    )
    .map_err(|error| error.to_string())?;
    let before = out.len();
    let result = match all(&request.objects, &request.desired_api_version, convert, &mut out) {
        Ok(()) => json!({"status": "Success"}),
        Err(message) => {
            out.truncate(before);
            json!({"status": "Failure", "message": message, "reason": "BadRequest", "code": 400})
        }
    };
    write!(out, r#"],"result":{result}}}}}"#).map_err(|error| error.to_string())?;
    Ok(out)
}

/// Writes the converted objects with commas between them; `Err` names the one that cannot be converted.
fn all(objects: &[&RawValue], wanted: &str, convert: Convert, out: &mut String) -> Result<(), String> {
    for (place, text) in objects.iter().enumerate() {
        is_light(text.get())?;
        let object: Value = serde_json::from_str(text.get()).map_err(|error| error.to_string())?;
        let name = named(&object);
        let converted = convert(object, wanted)
            .map_err(|error| format!("{name} cannot be converted to {wanted}: {error}"))?;
        let comma = if place == 0 { "" } else { "," };
        write!(out, "{comma}{converted}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn named(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or("?");
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the signature of a converter")]
    fn convert(object: Value, wanted: &str) -> Result<Value, String> {
        if object.get("bad").is_some() {
            return Err("it is bad".to_owned());
        }
        Ok(json!({"to": wanted, "was": object}))
    }

    fn ask(api_version: &str, objects: &Value) -> Result<Value, String> {
        let review = json!({
            "apiVersion": api_version, "kind": "ConversionReview",
            "request": {"uid": "u1", "desiredAPIVersion": "g/v2", "objects": objects},
        });
        answer(review.to_string().as_bytes(), convert).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn objects_come_back_in_order_and_in_the_version_of_the_question() {
        for version in VERSIONS {
            let review = ask(version, &json!([{"a": 1}, {"a": 2}])).unwrap();

            assert_eq!(review["apiVersion"], version);
            assert_eq!(review["response"]["result"]["status"], "Success");
            assert_eq!(review["response"]["convertedObjects"][1], json!({"to": "g/v2", "was": {"a": 2}}));
        }
    }

    #[test]
    fn object_that_cannot_be_converted_is_named() {
        let bad =
            json!([{"a": 1}, {"kind": "Thing", "metadata": {"name": "x", "namespace": "ns"}, "bad": 1}]);

        let review = ask(VERSIONS[0], &bad).unwrap();

        let result = &review["response"]["result"];
        assert_eq!(result["status"], "Failure");
        assert_eq!(result["message"], "Thing ns/x cannot be converted to g/v2: it is bad");
    }

    #[test]
    fn what_is_no_review_is_said_so() {
        assert!(answer(b"[]", convert).is_err());
        assert!(ask("apiextensions.k8s.io/v2", &json!([])).unwrap_err().contains("v1beta1"));
    }
}
