//! The three hashes on the wire: of revision data (SM-3), of arbitrary bytes the way Go's debug printer sees them
//! (SM-33), and of volume claim templates (SM-12).

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::canonical::{Unreadable, canonical};
use super::gojson;

const FNV_OFFSET: u32 = 2_166_136_261;
const FNV_PRIME: u32 = 16_777_619;

/// Hash part of a revision name: FNV-1 over data and collision count, decimal digits mapped to safe letters (SM-3).
pub fn of_data(data: &str, collisions: i32) -> String {
    let hash = data
        .bytes()
        .chain(collisions.to_string().bytes())
        .fold(FNV_OFFSET, |hash, byte| hash.wrapping_mul(FNV_PRIME) ^ u32::from(byte));
    hash.to_string().bytes().map(safe).collect()
}

/// FNV-1a over Go's printout of a byte slice (SM-33).
pub fn deep(bytes: &[u8]) -> u32 {
    let mut text = String::from("([]uint8)[");
    for (i, byte) in bytes.iter().enumerate() {
        let gap = if i == 0 { "" } else { " " };
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{gap}{byte}");
    }
    text.push(']');
    text.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME))
}

/// Value of the annotation that tells whether volume claim templates changed; empty without templates (SM-12).
pub fn of_claim_templates(templates: &[Value]) -> Result<String, Unreadable> {
    if templates.is_empty() {
        return Ok(String::new());
    }
    let mut named = templates.iter().map(named_claim).collect::<Result<Vec<_>, _>>()?;
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let list = Value::Array(named.into_iter().map(|(_, claim)| claim).collect());
    Ok(deep(gojson::in_order(&list).as_bytes()).to_string())
}

/// Only name and spec count.
fn named_claim(template: &Value) -> Result<(String, Value), Unreadable> {
    let name = template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut bare = Map::new();
    bare.insert("metadata".to_owned(), json!({"name": name}));
    bare.insert("spec".to_owned(), template.get("spec").cloned().unwrap_or_else(|| json!({})));
    Ok((name, canonical("PersistentVolumeClaim", Value::Object(bare))?))
}

fn safe(digit: u8) -> char {
    match digit {
        b'0' => '4',
        b'1' => '5',
        b'2' => '6',
        b'3' => '7',
        b'4' => '8',
        b'5' => '9',
        b'6' => 'b',
        b'7' => 'c',
        b'8' => 'd',
        _ => 'f',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_3_hash_of_the_recorded_data() {
        let data = concat!(
            r#"{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"demo"}},"#,
            r#""spec":{"containers":[{"image":"nginx:1.25","name":"main","resources":{}}]}}}}"#
        );

        assert_eq!(of_data(data, 0), "788944f45");
        assert_eq!(of_data(data, 1), "788944f44");
    }

    #[test]
    fn sm_33_deep_hash_of_recorded_texts() {
        assert_eq!(deep(b"null"), 86_995_377);
        assert_eq!(deep(br#"{"image":"nginx","name":"nginx"}"#), 2_774_804_510);
        assert_eq!(deep(br#"{"name":"nginx","image":"nginx","resources":{}}"#), 3_581_488_887);
    }

    #[test]
    fn sm_12_claim_template_hash_of_the_recorded_template() {
        let claim = json!({
            "metadata": {"name": "pvc-1", "labels": {"ignored": "yes"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}}},
        });

        assert_eq!(of_claim_templates(&[claim]).unwrap(), "1129974074");
        assert_eq!(of_claim_templates(&[]).unwrap(), "");
    }
}
