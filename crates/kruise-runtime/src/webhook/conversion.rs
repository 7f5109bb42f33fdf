//! ConversionReview, v1 and v1beta1. One object that cannot be converted fails the review with its name and reason; the
//! API server wants all or none.

use serde::Deserialize;
use serde_json::{Value, json};

use super::review;

const KIND: &str = "ConversionReview";
const VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

/// Converts one object to the wanted `group/version`.
pub type Convert = fn(Value, &str) -> Result<Value, String>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired_api_version: String,
    #[serde(default)]
    objects: Vec<Value>,
}

/// Answers the body of a review; `Err` says why it is none.
pub(super) fn answer(body: &[u8], convert: Convert) -> Result<Value, String> {
    let (api_version, request): (String, Request) = review::read(body, KIND, &VERSIONS)?;
    let wanted = request.desired_api_version;
    let converted: Result<Vec<Value>, String> = request
        .objects
        .into_iter()
        .map(|object| {
            let name = named(&object);
            convert(object, &wanted)
                .map_err(|error| format!("{name} cannot be converted to {wanted}: {error}"))
        })
        .collect();
    let response = match converted {
        Ok(objects) => {
            json!({"uid": request.uid, "result": {"status": "Success"}, "convertedObjects": objects})
        }
        Err(message) => json!({
            "uid": request.uid,
            "result": {"status": "Failure", "message": message, "reason": "BadRequest", "code": 400},
            "convertedObjects": [],
        }),
    };
    Ok(json!({"apiVersion": api_version, "kind": KIND, "response": response}))
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
        answer(review.to_string().as_bytes(), convert)
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
