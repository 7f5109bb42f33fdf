//! Structural schemas: unknown fields are pruned, defaults filled in, types, enums, required fields and bounds checked.
//!
//! Not checked: CEL rules, patterns, uniqueness in lists. They only refuse what no scenario sends.

mod edit;

pub use edit::{DRAWN, Edit};

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::failure::Cause;

#[derive(Debug, Default)]
pub struct Schema {
    kind: Type,
    properties: BTreeMap<String, Schema>,
    items: Option<Box<Schema>>,
    additional: Option<Box<Schema>>,
    required: Vec<String>,
    allowed: Vec<Value>,
    default: Option<Value>,
    unknown: Unknown,
    nullable: Nullable,
    bounds: Bounds,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Type {
    #[default]
    Any,
    Object,
    Array,
    Text,
    Integer,
    Number,
    Boolean,
    IntegerOrText,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    #[default]
    Pruned,
    Kept,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Nullable {
    Yes,
    #[default]
    No,
}

/// Of numbers the value, of texts and lists the length.
#[derive(Debug, Default)]
struct Bounds {
    least: Option<i64>,
    most: Option<i64>,
}

impl Schema {
    pub fn read(wire: &Value) -> Self {
        let flag = |name: &str| wire.get(name) == Some(&Value::Bool(true));
        let nested = |name: &str| {
            wire.get(name).filter(|inner| inner.is_object()).map(|inner| Box::new(Self::read(inner)))
        };
        let properties = wire.get("properties").and_then(Value::as_object);
        let list = |name: &str| wire.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let number = |names: [&str; 3]| names.iter().find_map(|name| wire.get(*name)).and_then(Value::as_i64);
        Self {
            kind: kind_of(wire),
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, inner)| (name.clone(), Self::read(inner)))
                .collect(),
            items: nested("items"),
            additional: nested("additionalProperties"),
            required: list("required").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            allowed: list("enum"),
            default: wire.get("default").cloned(),
            unknown: if flag("x-kubernetes-preserve-unknown-fields") {
                Unknown::Kept
            } else {
                Unknown::Pruned
            },
            nullable: if flag("nullable") { Nullable::Yes } else { Nullable::No },
            bounds: Bounds {
                least: number(["minimum", "minLength", "minItems"]),
                most: number(["maximum", "maxLength", "maxItems"]),
            },
        }
    }

    /// The schema of one field.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// Drops what the schema of a whole object does not know. Metadata has its own rules.
    pub fn prune_object(&self, object: &mut Value) {
        let Some(map) = object.as_object_mut() else { return };
        map.retain(|name, _| is_header(name) || self.properties.contains_key(name));
        for (name, inner) in map.iter_mut().filter(|(name, _)| !is_header(name)) {
            if let Some(schema) = self.properties.get(name) {
                schema.prune(inner);
            }
        }
    }

    pub fn validate_object(&self, object: &Value, causes: &mut Vec<Cause>) {
        self.validate(object, "", causes);
    }

    /// Drops what the schema does not know.
    pub fn prune(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                if self.unknown == Unknown::Pruned && self.additional.is_none() {
                    map.retain(|name, _| self.properties.contains_key(name));
                }
                for (name, inner) in map {
                    if let Some(schema) = self.properties.get(name).or(self.additional.as_deref()) {
                        schema.prune(inner);
                    }
                }
            }
            Value::Array(list) => {
                if let Some(schema) = &self.items {
                    for inner in list {
                        schema.prune(inner);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Fills in what is missing, also inside of what it filled in.
    pub fn default(&self, value: &mut Value) {
        match value {
            Value::Object(map) => self.default_members(map),
            Value::Array(list) => {
                if let Some(schema) = &self.items {
                    for inner in list {
                        schema.default(inner);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn default_members(&self, map: &mut Map<String, Value>) {
        for (name, schema) in &self.properties {
            let is_missing = match map.get(name) {
                None => true,
                Some(Value::Null) => schema.nullable == Nullable::No,
                Some(_) => false,
            };
            if is_missing {
                // A null that is not wanted counts as nothing.
                let Some(default) = &schema.default else {
                    map.shift_remove(name);
                    continue;
                };
                map.insert(name.clone(), default.clone());
            }
            if let Some(inner) = map.get_mut(name) {
                schema.default(inner);
            }
        }
        if let Some(schema) = &self.additional {
            for inner in map.values_mut() {
                schema.default(inner);
            }
        }
    }

    /// Adds every fault below `path`.
    pub fn validate(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        if value.is_null() && self.nullable == Nullable::Yes {
            return;
        }
        if !self.kind.takes(value) {
            let message =
                format!("Invalid value: {value}: {path} in body must be of type {}", self.kind.word());
            causes.push(Cause::new("FieldValueTypeInvalid", path, message));
            return;
        }
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            causes.push(Cause::new("FieldValueNotSupported", path, format!("Unsupported value: {value}")));
        }
        self.bounds.check(value, path, causes);
        match value {
            Value::Object(map) => self.validate_members(map, path, causes),
            Value::Array(list) => {
                if let Some(schema) = &self.items {
                    for (position, inner) in list.iter().enumerate() {
                        schema.validate(inner, &format!("{path}[{position}]"), causes);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn validate_members(&self, map: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for name in self.required.iter().filter(|name| !map.contains_key(*name)) {
            causes.push(Cause::new("FieldValueRequired", join(name), "Required value"));
        }
        for (name, inner) in map {
            if let Some(schema) = self.properties.get(name).or(self.additional.as_deref()) {
                schema.validate(inner, &join(name), causes);
            }
        }
    }
}

fn is_header(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn kind_of(wire: &Value) -> Type {
    if wire.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return Type::IntegerOrText;
    }
    match wire.get("type").and_then(Value::as_str) {
        Some("object") => Type::Object,
        Some("array") => Type::Array,
        Some("string") => Type::Text,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        Some(_) | None => Type::Any,
    }
}

impl Type {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Text => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::IntegerOrText => value.is_i64() || value.is_u64() || value.is_string(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Object => "object",
            Self::Array => "array",
            Self::Text => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntegerOrText => "integer,string",
        }
    }
}

impl Bounds {
    fn check(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        let (size, too_long) = match value {
            Value::Number(number) => (number.as_i64(), "FieldValueInvalid"),
            Value::String(text) => (Some(count(text.chars().count())), "FieldValueTooLong"),
            Value::Array(list) => (Some(count(list.len())), "FieldValueTooMany"),
            Value::Null | Value::Bool(_) | Value::Object(_) => (None, ""),
        };
        let Some(size) = size else { return };
        if self.least.is_some_and(|least| size < least) {
            causes.push(Cause::new("FieldValueInvalid", path, format!("Invalid value: {value}: too small")));
        }
        if self.most.is_some_and(|most| most < size) {
            causes.push(Cause::new(too_long, path, format!("Invalid value: {value}: too large")));
        }
    }
}
