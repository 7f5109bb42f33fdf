//! Writes JSON byte for byte as Go does (SM-1).

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Compact JSON with keys sorted bytewise at every level: the stored form of revision data.
pub fn sorted(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Keys::Sorted);
    out
}

/// Compact JSON with keys in the order they stand: Go structs write their fields in declaration order.
pub fn in_order(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Keys::AsTheyStand);
    out
}

#[derive(Clone, Copy)]
enum Keys {
    Sorted,
    AsTheyStand,
}

fn write(out: &mut String, value: &Value, keys: Keys) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(out, item, keys);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            if matches!(keys, Keys::Sorted) {
                entries.sort_by_key(|(key, _)| key.as_bytes());
            }
            out.push('{');
            for (i, (key, one)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write(out, one, keys);
            }
            out.push('}');
        }
    }
}

/// Revision data passes through a 64-bit float, so an integer beyond 2^53 is stored rounded.
fn write_number(out: &mut String, number: &Number) {
    #[expect(
        clippy::cast_precision_loss,
        reason = "the original loses the same digits, and the hash needs its bytes"
    )]
    #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^64 as a float fits 128 bits")]
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) if integer.unsigned_abs() <= 1 << 53 => out.push_str(&integer.to_string()),
        (Some(integer), _) => out.push_str(&((integer as f64) as i128).to_string()),
        (None, _) => out.push_str(&number.to_string()),
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                // Writing to a String cannot fail.
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sm_1_strings_are_escaped_the_go_way() {
        let value = json!({"z": "<a>&\u{2028}\u{2029}", "a": "\u{8}\u{c}\n\r\t\u{1}\u{7f}ü\"\\/"});

        assert_eq!(
            sorted(&value),
            "{\"a\":\"\\b\\f\\n\\r\\t\\u0001\u{7f}ü\\\"\\\\/\",\"z\":\"\\u003ca\\u003e\\u0026\\u2028\\u2029\"}"
        );
    }

    #[test]
    fn sm_1_integers_are_plain_and_pass_through_a_float() {
        assert_eq!(sorted(&json!([1, -5, 9_007_199_254_740_993_i64])), "[1,-5,9007199254740992]");
    }

    #[test]
    fn sm_12_struct_order_is_kept_where_go_writes_structs() {
        assert_eq!(
            in_order(&json!({"b": 1, "a": {"d": null, "c": true}})),
            r#"{"b":1,"a":{"d":null,"c":true}}"#
        );
    }
}
