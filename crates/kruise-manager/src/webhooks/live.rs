//! What only the API server can say, asked while a review waits.

use std::collections::BTreeMap;

use kruise_api::names::CONFIGURATION;
use kruise_core::admission::versions::template_to_try;
use kruise_core::admission::{Live, Operation, Question, Request};
use kube::Client;
use serde_json::Value;

use super::{Context, dry_run};

/// Nothing is asked about an object that goes.
pub async fn ask(cx: &Context, questions: &[Question], request: &Request) -> Live {
    let mut live = Live::default();
    match request.operation {
        Operation::Create | Operation::Update => {}
        Operation::Delete | Operation::Connect => return live,
    }
    for question in questions {
        match question {
            Question::Template => {
                if let Some(template) = template_to_try(request) {
                    live.template = dry_run::faults(&cx.client, &request.namespace, &template).await;
                }
            }
            Question::Configuration => live.configuration = configuration(&cx.client, &cx.namespace).await,
        }
    }
    live
}

async fn configuration(client: &Client, namespace: &str) -> Result<BTreeMap<String, String>, String> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{CONFIGURATION}");
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError);
    let asked = async { client.request::<Value>(request?).await };
    match asked.await {
        Ok(mut found) => {
            let data = found.get_mut("data").map(Value::take).unwrap_or_default();
            Ok(serde_json::from_value(data).unwrap_or_default())
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeMap::new()),
        Err(error) => Err(error.to_string()),
    }
}
