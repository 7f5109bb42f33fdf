//! What several integration tests need: the golden facts and a walk over schemas.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Map, Value, json};

/// The folder shared between checkouts: `KRUISE_SHARED`, or `shared` beside one of the folders above this crate.
pub fn shared() -> PathBuf {
    if let Ok(folder) = std::env::var("KRUISE_SHARED") {
        return folder.into();
    }
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let found = crate_folder
        .ancestors()
        .map(|folder| folder.join("shared"))
        .find(|folder| folder.join("golden").is_dir());
    found.expect("golden facts: set KRUISE_SHARED, or put the shared folder beside the checkout")
}

/// All JSON files of one golden folder, by name.
pub fn golden(folder: &str) -> BTreeMap<String, Value> {
    let entries = fs::read_dir(shared().join("golden").join(folder)).unwrap();
    let files = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (format!("{folder}/{name}"), serde_json::from_slice(&fs::read(&path).unwrap()).unwrap())
        })
        .collect()
}

/// A schema as golden CRDs list it: path → keywords. `[]` is a list item, `{}` a map value.
pub fn fields(schema: &Value) -> BTreeMap<String, Map<String, Value>> {
    let mut found = BTreeMap::new();
    walk(schema, String::new(), false, &mut found);
    found
}

fn walk(schema: &Value, path: String, required: bool, found: &mut BTreeMap<String, Map<String, Value>>) {
    const STRUCTURE: [&str; 6] = [
        "properties",
        "items",
        "additionalProperties",
        "required",
        "description",
        "x-kubernetes-validations",
    ];
    let mut keywords = schema.as_object().unwrap().clone();
    keywords.retain(|keyword, _| !STRUCTURE.contains(&keyword.as_str()));
    if required {
        keywords.insert("required".to_owned(), json!(true));
    }
    found.insert(path.clone(), keywords);
    let names: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        walk(property, format!("{path}{dot}{name}"), names.contains(&name.as_str()), found);
    }
    for (child, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[child].is_object() {
            walk(&schema[child], format!("{path}{mark}"), false, found);
        }
    }
}
