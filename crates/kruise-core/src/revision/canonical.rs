//! Decodes a JSON value into a Go type and encodes it again, as the original does before it stores a template (SM-2).

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::source::{Seen, Source};
use super::types::{Empty, Field, FieldType, Item, Table};
use crate::cluster::quantity::Quantity;

/// A value that its Go type cannot hold; the original refuses it, so do we.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unreadable {
    pub path: String,
    pub problem: String,
}

/// Where in the object we are. It becomes a text only if something is wrong there: most objects are right, and a text for
/// each of their fields would cost more than all the rest.
#[derive(Clone, Copy)]
enum Place<'a> {
    Whole,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Field(Place::Whole, name) => out.write_str(name),
            Self::Field(of, name) => write!(out, "{of}.{name}"),
            Self::Item(of, position) => write!(out, "{of}[{position}]"),
        }
    }
}

/// The object as the Go type `of` writes it: fields in Go order, unknown ones gone, defaults of the encoding in place.
/// Takes a reference, or the object itself where nobody needs it any more.
pub fn canonical<S: Source>(of: &str, value: S) -> Result<Value, Unreadable> {
    if !value.look().is_object() {
        return Err(wrong(&Place::Whole, wanted(FieldType::Struct("")), value.look()));
    }
    structure::<S>(of, &mut value.object().unwrap_or_default(), &Place::Whole).map(Value::Object)
}

fn structure<S: Source>(
    of: &str,
    object: &mut S::Object,
    path: &Place<'_>,
) -> Result<Map<String, Value>, Unreadable> {
    let mut out = Map::new();
    for field in Table::kubernetes().fields(of) {
        if let FieldType::Inline(inner) = field.kind {
            out.extend(structure::<S>(inner, object, path)?);
            continue;
        }
        let at = Place::Field(path, field.name);
        if let Some(value) = encode(field, S::member(object, field.name), &at)? {
            out.insert(field.name.to_owned(), value);
        }
    }
    Ok(out)
}

/// The field's value as written, or `None` where it vanishes.
fn encode<S: Source>(field: &Field, value: Option<S>, path: &Place<'_>) -> Result<Option<Value>, Unreadable> {
    let Some(value) = value.filter(|value| !value.look().is_null()) else {
        return Ok(match field.empty {
            Empty::OmittedIfAbsent => None,
            Empty::NullIfAbsent => Some(Value::Null),
            Empty::Omitted => always_written(field.kind, path)?,
            Empty::Written => match field.kind {
                FieldType::List(_) | FieldType::Map(_) | FieldType::Time | FieldType::Raw => {
                    Some(Value::Null)
                }
                FieldType::String
                | FieldType::Int
                | FieldType::Bool
                | FieldType::Quantity
                | FieldType::IntOrString
                | FieldType::Struct(_)
                | FieldType::Inline(_) => Some(zero(field.kind, path)?),
            },
        });
    };
    let decoded = decode(field.kind, value, path)?;
    let vanishes = field.empty == Empty::Omitted && is_zero(field.kind, &decoded);
    Ok((!vanishes).then_some(decoded))
}

/// Go's omitempty never drops a struct: plain structs, times and quantities are written even when empty.
fn always_written(kind: FieldType, path: &Place<'_>) -> Result<Option<Value>, Unreadable> {
    Ok(match kind {
        FieldType::Struct(_) | FieldType::Quantity | FieldType::IntOrString => Some(zero(kind, path)?),
        FieldType::Time => Some(Value::Null),
        FieldType::String
        | FieldType::Int
        | FieldType::Bool
        | FieldType::Raw
        | FieldType::Inline(_)
        | FieldType::List(_)
        | FieldType::Map(_) => None,
    })
}

fn zero(kind: FieldType, path: &Place<'_>) -> Result<Value, Unreadable> {
    Ok(match kind {
        FieldType::String => Value::from(""),
        FieldType::Int | FieldType::IntOrString => Value::from(0),
        FieldType::Bool => Value::from(false),
        FieldType::Quantity => Value::from("0"),
        FieldType::Struct(of) | FieldType::Inline(of) => {
            Value::Object(structure::<&Value>(of, &mut Seen::default(), path)?)
        }
        FieldType::Time | FieldType::Raw | FieldType::List(_) | FieldType::Map(_) => Value::Null,
    })
}

fn is_zero(kind: FieldType, value: &Value) -> bool {
    match kind {
        FieldType::String => value.as_str() == Some(""),
        FieldType::Int => value.as_i64() == Some(0),
        FieldType::Bool => value.as_bool() == Some(false),
        FieldType::List(_) => value.as_array().is_some_and(Vec::is_empty),
        FieldType::Map(_) => value.as_object().is_some_and(Map::is_empty),
        FieldType::Quantity
        | FieldType::IntOrString
        | FieldType::Time
        | FieldType::Raw
        | FieldType::Struct(_)
        | FieldType::Inline(_) => false,
    }
}

fn decode<S: Source>(kind: FieldType, value: S, path: &Place<'_>) -> Result<Value, Unreadable> {
    let is_right = match kind {
        FieldType::String => value.look().is_string(),
        FieldType::Bool => value.look().is_boolean(),
        FieldType::Int => value.look().is_i64(),
        FieldType::IntOrString => value.look().is_string() || value.look().is_i64(),
        FieldType::Struct(_) | FieldType::Inline(_) | FieldType::Map(_) => value.look().is_object(),
        FieldType::List(_) => value.look().is_array(),
        // These say themselves what is wrong.
        FieldType::Quantity | FieldType::Time | FieldType::Raw => true,
    };
    if !is_right {
        return Err(wrong(path, wanted(kind), value.look()));
    }
    match kind {
        FieldType::String | FieldType::Bool | FieldType::Int | FieldType::IntOrString | FieldType::Raw => {
            Ok(value.whole())
        }
        FieldType::Quantity => quantity(value.look(), path),
        FieldType::Time => time(value.look(), path),
        FieldType::Struct(of) | FieldType::Inline(of) => {
            structure::<S>(of, &mut value.object().unwrap_or_default(), path).map(Value::Object)
        }
        FieldType::List(item) => {
            let items = value.items().enumerate().map(|(i, one)| element(item, one, &Place::Item(path, i)));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        FieldType::Map(item) => {
            let entries = value.members().map(|(key, one)| {
                let encoded = element(item, one, &Place::Field(path, &key))?;
                Ok((key, encoded))
            });
            let mut entries = entries.collect::<Result<Vec<_>, Unreadable>>()?;
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Ok(Value::Object(entries.into_iter().collect()))
        }
    }
}

fn wanted(kind: FieldType) -> &'static str {
    match kind {
        FieldType::String => "a string",
        FieldType::Bool => "true or false",
        FieldType::Int | FieldType::IntOrString => "a whole number",
        FieldType::Struct(_) | FieldType::Inline(_) => "an object",
        FieldType::List(_) => "a list",
        FieldType::Map(_) => "a map",
        FieldType::Quantity => "a quantity",
        FieldType::Time => "a time such as 2026-01-02T15:04:05Z",
        FieldType::Raw => "anything",
    }
}

fn element<S: Source>(item: Item, value: S, path: &Place<'_>) -> Result<Value, Unreadable> {
    let kind = match item {
        Item::String => FieldType::String,
        Item::Int => FieldType::Int,
        Item::Quantity => FieldType::Quantity,
        Item::Struct(of) => FieldType::Struct(of),
    };
    if value.look().is_null() { zero(kind, path) } else { decode(kind, value, path) }
}

fn text<'a>(value: &'a Value, path: &Place<'_>) -> Result<&'a str, Unreadable> {
    value.as_str().ok_or_else(|| wrong(path, "a string", value))
}

fn quantity(value: &Value, path: &Place<'_>) -> Result<Value, Unreadable> {
    let written = if value.is_number() { value.to_string() } else { text(value, path)?.to_owned() };
    match Quantity::read(&written) {
        Ok(quantity) => Ok(Value::from(quantity.to_string())),
        Err(error) => Err(Unreadable { path: path.to_string(), problem: error.to_string() }),
    }
}

fn time(value: &Value, path: &Place<'_>) -> Result<Value, Unreadable> {
    let parsed: Result<Timestamp, _> = text(value, path)?.parse();
    match parsed {
        Ok(time) => Ok(Value::from(crate::time::seconds(time))),
        Err(_) => Err(wrong(path, wanted(FieldType::Time), value)),
    }
}

fn wrong(path: &Place<'_>, wanted: &str, found: &Value) -> Unreadable {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Unreadable { path: path.to_string(), problem: format!("must be {wanted}, is {found}") }
}
