//! Decodes a JSON value into a Go type and encodes it again, as the original does before it stores a template (SM-2).

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::types::{Empty, Field, Item, Kind, Table};
use crate::quantity::Quantity;

/// A value that its Go type cannot hold; the original refuses it, so do we.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unreadable {
    pub path: String,
    pub problem: String,
}

/// The object as the Go type `of` writes it: fields in Go order, unknown ones gone, defaults of the encoding in place.
pub fn canonical(of: &str, value: &Value) -> Result<Value, Unreadable> {
    let Some(object) = value.as_object() else {
        return Err(wrong("", "an object", value));
    };
    structure(of, object, "").map(Value::Object)
}

fn structure(of: &str, object: &Map<String, Value>, path: &str) -> Result<Map<String, Value>, Unreadable> {
    let mut out = Map::new();
    for field in Table::kubernetes().fields(of) {
        if let Kind::Inline(inner) = field.kind {
            out.extend(structure(inner, object, path)?);
            continue;
        }
        let at = format!("{path}.{}", field.name);
        if let Some(value) = encode(field, object.get(field.name).unwrap_or(&Value::Null), &at)? {
            out.insert(field.name.to_owned(), value);
        }
    }
    Ok(out)
}

/// The field's value as written, or `None` where it vanishes.
fn encode(field: &Field, value: &Value, path: &str) -> Result<Option<Value>, Unreadable> {
    if value.is_null() {
        return Ok(match field.empty {
            Empty::OmittedIfAbsent => None,
            Empty::NullIfAbsent => Some(Value::Null),
            Empty::Omitted => always_written(field.kind, path)?,
            Empty::Written => match field.kind {
                Kind::List(_) | Kind::Map(_) | Kind::Time | Kind::Raw => Some(Value::Null),
                Kind::String
                | Kind::Int
                | Kind::Bool
                | Kind::Quantity
                | Kind::IntOrString
                | Kind::Struct(_)
                | Kind::Inline(_) => Some(zero(field.kind, path)?),
            },
        });
    }
    let decoded = decode(field.kind, value, path)?;
    let vanishes = field.empty == Empty::Omitted && is_zero(field.kind, &decoded);
    Ok((!vanishes).then_some(decoded))
}

/// Go's omitempty never drops a struct: plain structs, times and quantities are written even when empty.
fn always_written(kind: Kind, path: &str) -> Result<Option<Value>, Unreadable> {
    Ok(match kind {
        Kind::Struct(_) | Kind::Quantity | Kind::IntOrString => Some(zero(kind, path)?),
        Kind::Time => Some(Value::Null),
        Kind::String
        | Kind::Int
        | Kind::Bool
        | Kind::Raw
        | Kind::Inline(_)
        | Kind::List(_)
        | Kind::Map(_) => None,
    })
}

fn zero(kind: Kind, path: &str) -> Result<Value, Unreadable> {
    Ok(match kind {
        Kind::String => Value::from(""),
        Kind::Int | Kind::IntOrString => Value::from(0),
        Kind::Bool => Value::from(false),
        Kind::Quantity => Value::from("0"),
        Kind::Struct(of) | Kind::Inline(of) => Value::Object(structure(of, &Map::new(), path)?),
        Kind::Time | Kind::Raw | Kind::List(_) | Kind::Map(_) => Value::Null,
    })
}

fn is_zero(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::String => value.as_str() == Some(""),
        Kind::Int => value.as_i64() == Some(0),
        Kind::Bool => value.as_bool() == Some(false),
        Kind::List(_) => value.as_array().is_some_and(Vec::is_empty),
        Kind::Map(_) => value.as_object().is_some_and(Map::is_empty),
        Kind::Quantity | Kind::IntOrString | Kind::Time | Kind::Raw | Kind::Struct(_) | Kind::Inline(_) => {
            false
        }
    }
}

fn decode(kind: Kind, value: &Value, path: &str) -> Result<Value, Unreadable> {
    match kind {
        Kind::String => text(value, path).map(Value::from),
        Kind::Bool => value.as_bool().map(Value::from).ok_or_else(|| wrong(path, "true or false", value)),
        Kind::Quantity => quantity(value, path),
        Kind::IntOrString if value.is_string() => Ok(value.clone()),
        Kind::Int | Kind::IntOrString => integer(value, path).map(Value::from),
        Kind::Time => time(value, path),
        Kind::Raw => Ok(value.clone()),
        Kind::Struct(of) | Kind::Inline(of) => match value.as_object() {
            Some(object) => structure(of, object, path).map(Value::Object),
            None => Err(wrong(path, "an object", value)),
        },
        Kind::List(item) => {
            let list = value.as_array().ok_or_else(|| wrong(path, "a list", value))?;
            let items = list.iter().enumerate().map(|(i, one)| element(item, one, &format!("{path}[{i}]")));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        Kind::Map(item) => {
            let map = value.as_object().ok_or_else(|| wrong(path, "a map", value))?;
            let entries =
                map.iter().map(|(key, one)| Ok((key.clone(), element(item, one, &format!("{path}.{key}"))?)));
            let mut entries = entries.collect::<Result<Vec<_>, Unreadable>>()?;
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Ok(Value::Object(entries.into_iter().collect()))
        }
    }
}

fn element(item: Item, value: &Value, path: &str) -> Result<Value, Unreadable> {
    let kind = match item {
        Item::String => Kind::String,
        Item::Int => Kind::Int,
        Item::Quantity => Kind::Quantity,
        Item::Struct(of) => Kind::Struct(of),
    };
    if value.is_null() { zero(kind, path) } else { decode(kind, value, path) }
}

fn text<'a>(value: &'a Value, path: &str) -> Result<&'a str, Unreadable> {
    value.as_str().ok_or_else(|| wrong(path, "a string", value))
}

fn integer(value: &Value, path: &str) -> Result<i64, Unreadable> {
    value.as_i64().ok_or_else(|| wrong(path, "a whole number", value))
}

fn quantity(value: &Value, path: &str) -> Result<Value, Unreadable> {
    let written = if value.is_number() { value.to_string() } else { text(value, path)?.to_owned() };
    match Quantity::read(&written) {
        Ok(quantity) => Ok(Value::from(quantity.to_string())),
        Err(error) => Err(Unreadable { path: path.to_owned(), problem: error.to_string() }),
    }
}

fn time(value: &Value, path: &str) -> Result<Value, Unreadable> {
    let parsed: Result<Timestamp, _> = text(value, path)?.parse();
    match parsed {
        Ok(time) => Ok(Value::from(crate::time::seconds(time))),
        Err(_) => Err(wrong(path, "a time such as 2026-01-02T15:04:05Z", value)),
    }
}

fn wrong(path: &str, wanted: &str, found: &Value) -> Unreadable {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Unreadable {
        path: path.trim_start_matches('.').to_owned(),
        problem: format!("must be {wanted}, is {found}"),
    }
}
