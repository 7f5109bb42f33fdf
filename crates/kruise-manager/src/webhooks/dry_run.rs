//! Lets the API server itself judge a pod template or an object to be distributed: it is created but not stored.

use std::time::Duration;

use kruise_api::Resource;
use kruise_core::admission::{Fault, FaultKind};
use kube::Client;
use serde::Serialize;
use serde_json::Value;

/// A review has seconds in all; without an answer by then the template passes, and the pods will tell.
const WITHIN: Duration = Duration::from_secs(3);

/// A PodTemplate with the template as it stands in the request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trial<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: TrialName,
    template: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialName {
    generate_name: &'static str,
}

/// Faults of a template under `spec.template`; none if the API server could not be asked.
pub async fn faults(client: &Client, namespace: &str, template: &Value) -> Vec<Fault> {
    let trial = Trial {
        api_version: "v1",
        kind: "PodTemplate",
        metadata: TrialName { generate_name: "kruise-check-" },
        template,
    };
    let path = format!("/api/v1/namespaces/{namespace}/podtemplates?dryRun=All&fieldManager=kruise-manager");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&trial).unwrap_or_default())
        .map_err(kube::Error::HttpError);
    let asked = async { client.request_text(request?).await };
    match tokio::time::timeout(WITHIN, asked).await {
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 400 | 422) => {
            read(&serde_json::to_value(&status).unwrap_or_default())
        }
        Ok(Ok(_)) => Vec::new(),
        Ok(Err(error)) => {
            tracing::warn!(%error, namespace, "a pod template was not checked by the API server");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!(namespace, "a pod template was not checked in time by the API server");
            Vec::new()
        }
    }
}

/// What is wrong with an object that is to be distributed. That one of its name is there says nothing; an answer that says neither yes nor no
/// refuses it, because every copy would meet the same.
pub async fn of_object(client: &Client, resource: Resource, namespace: &str, object: &Value) -> Vec<Fault> {
    let path = format!("{}?dryRun=All&fieldManager=kruise-manager", resource.collection(namespace));
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())
        .map_err(kube::Error::HttpError);
    let asked = async { client.request_text(request?).await };
    let fault = |kind, message: String| vec![Fault { field: "spec.resource".to_owned(), kind, message }];
    match tokio::time::timeout(WITHIN, asked).await {
        Ok(Ok(_)) => Vec::new(),
        Ok(Err(kube::Error::Api(status))) => match (status.code, status.reason.as_str()) {
            (409, "AlreadyExists") => Vec::new(),
            (403, _) => fault(FaultKind::Forbidden, status.message.clone()),
            (_, _) => fault(FaultKind::Invalid, status.message.clone()),
        },
        Ok(Err(error)) => {
            fault(FaultKind::Invalid, format!("the API server could not be asked: {error}; try again"))
        }
        Err(_) => fault(FaultKind::Invalid, "the API server did not answer in time; try again".to_owned()),
    }
}

/// From the API server's status to faults of our field.
fn read(status: &Value) -> Vec<Fault> {
    let text =
        |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let causes: Vec<Fault> = status
        .pointer("/details/causes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|cause| Fault {
            field: format!("spec.{}", text(cause, "field")),
            kind: match text(cause, "reason").as_str() {
                "FieldValueRequired" => FaultKind::Required,
                "FieldValueNotSupported" => FaultKind::NotSupported,
                "FieldValueForbidden" => FaultKind::Forbidden,
                "FieldValueDuplicate" => FaultKind::Duplicate,
                _ => FaultKind::Invalid,
            },
            message: text(cause, "message"),
        })
        .collect();
    if causes.is_empty() {
        let message = text(status, "message");
        return vec![Fault { field: "spec.template".to_owned(), kind: FaultKind::Invalid, message }];
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn causes_of_the_api_server_are_at_our_field() {
        let cause = json!({"reason": "FieldValueRequired", "field": "template.spec.containers[0].image", "message": "m"});
        let faults = read(&json!({"code": 422, "details": {"causes": [cause]}}));

        assert_eq!(faults[0].field, "spec.template.spec.containers[0].image");
        assert_eq!(faults[0].kind, FaultKind::Required);
        assert_eq!(read(&json!({"code": 400, "message": "no quantity"}))[0].field, "spec.template");
    }
}
