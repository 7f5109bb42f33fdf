//! Random objects out of schemas. Choices are read from bytes, so that proptest shrinks an object by dropping bytes: where
//! they end, nothing optional is made any more.

use serde_json::{Map, Value, json};

/// Annotations and labels that conversions look at, and some that they do not.
const KEYS: [&str; 12] = [
    "apps.kruise.io/image-predownload-parallelism",
    "apps.kruise.io/image-predownload-timeout-seconds",
    "apps.kruise.io/image-predownload-min-updated-ready-pods",
    "apps.kruise.io/cloneset-scaling-exclude-preparing-delete",
    "apps.kruise.io/sidecarset-custom-version",
    "daemonset.kruise.io/progressive-create-pod",
    "kruise.io/pub-protect-operations",
    "pub.kruise.io/protect-total-replicas",
    "policy.kruise.io/v1beta1-ignored-pod-selector",
    "crr.apps.kruise.io/sync-container-statuses",
    "crr.apps.kruise.io/unready-acquired",
    "example.com/other",
];

const TEXTS: [&str; 16] = [
    "",
    "a",
    "true",
    "false",
    "5",
    "-1",
    "20%",
    "OnDelete",
    "InPlaceIfPossible",
    "Surging",
    "DELETE, EVICT",
    "NOPE",
    "[]",
    "{\"matchLabels\":{\"a\":\"b\"}}",
    "2026-01-31T12:00:00Z",
    "ü\u{2028}",
];

const TIMES: [&str; 3] = ["2026-01-31T12:00:00Z", "1970-01-01T00:00:00Z", "2038-01-19T03:14:08Z"];

/// Where choices come from.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub fn from(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte) % limit.max(1))
    }

    fn maybe(&mut self) -> bool {
        self.below(2) == 1
    }

    fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len())]
    }
}

/// An object of the version that the schema belongs to.
pub fn object(schema: &Value, api_version: &str, kind: &str, choices: &mut Choices) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    object.insert("metadata".to_owned(), metadata(choices));
    for part in ["spec", "status"] {
        if part == "spec" || choices.maybe() {
            object.insert(part.to_owned(), value(&schema["properties"][part], choices));
        }
    }
    unknown(&mut object, choices);
    Value::Object(object)
}

/// Any JSON at all.
pub fn anything(choices: &mut Choices, depth: usize) -> Value {
    match choices.below(if depth == 0 { 5 } else { 7 }) {
        0 => json!({}),
        1 => json!(choices.text()),
        2 => [json!(0), json!(-1), json!(2_147_483_648_i64), json!(u64::MAX), json!(1.5), json!(1e300)]
            [choices.below(6)]
        .clone(),
        3 => json!(choices.maybe()),
        4 => Value::Null,
        5 => (0..choices.below(4)).map(|_| anything(choices, depth - 1)).collect(),
        _ => {
            let names = ["spec", "status", "name", "type", "rollingUpdate", "conditions", "x"];
            let mut members = Map::new();
            for _ in 0..choices.below(5) {
                members.insert(names[choices.below(names.len())].to_owned(), anything(choices, depth - 1));
            }
            Value::Object(members)
        }
    }
}

fn metadata(choices: &mut Choices) -> Value {
    let mut metadata = json!({ "name": "random" });
    for map in ["annotations", "labels"] {
        let count = choices.below(4);
        let entries: Map<_, _> =
            (0..count).map(|_| (KEYS[choices.below(KEYS.len())].to_owned(), json!(choices.text()))).collect();
        if !entries.is_empty() {
            metadata[map] = Value::Object(entries);
        }
    }
    metadata
}

fn value(schema: &Value, choices: &mut Choices) -> Value {
    if let Some(allowed) = schema["enum"].as_array() {
        return allowed[choices.below(allowed.len())].clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if choices.maybe() { json!(choices.text()) } else { json!(choices.below(256)) };
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => json!(TIMES[choices.below(TIMES.len())]),
        Some("string") => json!(choices.text()),
        Some("integer") if schema["format"] == "int64" => json!([0, 1, -1, i64::MAX][choices.below(4)]),
        Some("integer") => json!([0, 1, -1, i32::MAX][choices.below(4)]),
        Some("boolean") => json!(choices.maybe()),
        Some("array") => (0..choices.below(3)).map(|_| value(&schema["items"], choices)).collect(),
        Some("object") => members(schema, choices),
        _ => anything(choices, 3),
    }
}

fn members(schema: &Value, choices: &mut Choices) -> Value {
    let mut object = Map::new();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&json!(name)) || choices.maybe() {
            object.insert(name.clone(), value(property, choices));
        }
    }
    if schema["additionalProperties"].is_object() {
        for _ in 0..choices.below(3) {
            object
                .insert(format!("key{}", choices.below(3)), value(&schema["additionalProperties"], choices));
        }
        return Value::Object(object); // Keys of a map are data: nothing is unknown there.
    }
    unknown(&mut object, choices);
    Value::Object(object)
}

/// Fields of a release that does not exist yet.
fn unknown(object: &mut Map<String, Value>, choices: &mut Choices) {
    if choices.below(16) == 1 {
        object.insert("fieldOfTomorrow".to_owned(), anything(choices, 2));
    }
}
