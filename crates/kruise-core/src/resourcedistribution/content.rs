//! What is distributed, and how contents are compared: as the API server stores them, whatever way they are written (RD-12, RD-13, RD-B2).

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kruise_api::Resource;
use kruise_api::resource::{CONFIG_MAP_METADATA, SECRET_METADATA};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::pod::string_map;

/// What a Secret without a type becomes.
const OPAQUE: &str = "Opaque";

/// The content of a copy, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Equal for equal contents.
    pub digest: Arc<str>,
    pub is_immutable: bool,
    /// Of a Secret; it can never be changed.
    pub r#type: Arc<str>,
}

/// The object that is distributed.
#[derive(Debug, Clone, PartialEq)]
pub struct Distributed {
    pub sort: Sort,
    pub name: Arc<str>,
    /// SHA-256 of the field as the server sent it (RD-24).
    pub hash: Arc<str>,
    /// As the user wrote it.
    pub body: Value,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    pub content: Content,
    /// Fields of a copy that are its content, in the form in which they are stored.
    pub fields: Map<String, Value>,
    pub bytes: usize,
}

/// What can be distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Secret,
    ConfigMap,
}

impl Sort {
    pub fn of(object: &Value) -> Option<Self> {
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        match (text("apiVersion")?, text("kind")?) {
            ("v1", "Secret") => Some(Self::Secret),
            ("v1", "ConfigMap") => Some(Self::ConfigMap),
            (_, _) => None,
        }
    }

    /// Of copies; what they contain is not watched.
    pub fn resource(self) -> Resource {
        match self {
            Self::Secret => SECRET_METADATA,
            Self::ConfigMap => CONFIG_MAP_METADATA,
        }
    }
}

impl Distributed {
    /// From the raw text of `spec.resource`.
    pub fn read(raw: &str) -> Result<Self, Fault> {
        let fault = |problem: &str| Fault::new("spec.resource", &problem);
        let body: Value = serde_json::from_str(raw).map_err(|error| fault(&error.to_string()))?;
        let sort =
            Sort::of(&body).ok_or_else(|| fault("neither a Secret nor a ConfigMap of apiVersion v1"))?;
        let name = body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(fault("metadata.name is missing: every copy gets this name"));
        }
        let finalizers = body.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        let fields = fields(sort, &body);
        Ok(Self {
            sort,
            name: name.into(),
            hash: hex(raw.as_bytes()).into(),
            labels: string_map(body.pointer("/metadata/labels")),
            annotations: string_map(body.pointer("/metadata/annotations")),
            finalizers: finalizers.collect(),
            content: content(&fields),
            fields,
            bytes: raw.len(),
            body,
        })
    }
}

/// Of a copy that was read.
pub fn of_copy(sort: Sort, object: &Value) -> Content {
    content(&fields(sort, object))
}

fn content(fields: &Map<String, Value>) -> Content {
    Content {
        digest: hex(json!(fields).to_string().as_bytes()).into(),
        is_immutable: fields.get("immutable") == Some(&Value::Bool(true)),
        r#type: fields.get("type").and_then(Value::as_str).unwrap_or_default().into(),
    }
}

/// Always the same fields in the same order, so that a patch can set each of them whatever a copy has.
fn fields(sort: Sort, object: &Value) -> Map<String, Value> {
    let map = |field: &str| -> BTreeMap<String, String> {
        let all = object.get(field).and_then(Value::as_object).into_iter().flatten();
        all.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    };
    // Spaces and line ends in base64 are legal and lost.
    let same = |text: String| match STANDARD.decode(text.split_whitespace().collect::<String>()) {
        Ok(bytes) => STANDARD.encode(bytes),
        Err(_) => text,
    };
    let bytes = |field: &str| map(field).into_iter().map(|(key, text)| (key, same(text))).collect();
    let immutable = match object.get("immutable").and_then(Value::as_bool) {
        Some(true) => Value::Bool(true),
        Some(false) | None => Value::Null,
    };
    let mut fields = Map::new();
    match sort {
        Sort::ConfigMap => {
            let binary: BTreeMap<String, String> = bytes("binaryData");
            fields.insert("data".to_owned(), json!(map("data")));
            fields.insert("binaryData".to_owned(), json!(binary));
        }
        Sort::Secret => {
            let mut data: BTreeMap<String, String> = bytes("data");
            data.extend(map("stringData").into_iter().map(|(key, text)| (key, STANDARD.encode(text))));
            let kind = object.get("type").and_then(Value::as_str).filter(|text| !text.is_empty());
            fields.insert("data".to_owned(), json!(data));
            fields.insert("type".to_owned(), json!(kind.unwrap_or(OPAQUE)));
        }
    }
    fields.insert("immutable".to_owned(), immutable);
    fields
}

fn hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
