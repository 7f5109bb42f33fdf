//! pods
use std::collections::BTreeMap;

use serde_json::Value;

/// A map of strings out of a JSON object; everything else in it is skipped.
pub fn string_map(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, one)| Some((key.clone(), one.as_str()?.to_owned()))).collect()
}
