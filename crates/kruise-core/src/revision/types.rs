//! The table of Go types: which fields exist, in which order, and what an empty one does. Data: `gotypes.txt`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("gotypes.txt")));

/// All types, by name.
#[derive(Debug)]
pub struct Table(BTreeMap<&'static str, Vec<Field>>);

/// One field of a Go struct.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: FieldType,
    pub empty: Empty,
    pub merge: Merge,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    String,
    Int,
    Bool,
    Quantity,
    IntOrString,
    Time,
    Raw,
    Struct(&'static str),
    /// The fields of that struct stand in the outer object.
    Inline(&'static str),
    List(Item),
    Map(Item),
}

/// What a list or map holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    String,
    Int,
    Quantity,
    Struct(&'static str),
}

/// What encoding does with an absent or zero value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// Written as the zero value.
    Written,
    /// Absent and zero both vanish; a plain struct is never empty and stays.
    Omitted,
    /// A pointer that is omitted when nil: a present zero stays.
    OmittedIfAbsent,
    /// A pointer that is written as null when nil.
    NullIfAbsent,
}

/// How a strategic merge patch treats a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    Replace,
    /// A list of plain values, merged as a set.
    AsSet,
    ByKey(&'static str),
}

impl Table {
    /// The types of Kubernetes 1.32, which the original links.
    pub fn kubernetes() -> &'static Self {
        &TABLE
    }

    /// Fields of a type in Go order; an unknown type has none.
    pub fn fields(&self, of: &str) -> &[Field] {
        self.0.get(of).map_or(&[], Vec::as_slice)
    }

    fn read(text: &'static str) -> Self {
        let mut types: BTreeMap<&'static str, Vec<Field>> = BTreeMap::new();
        let mut current = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(field) = line.strip_prefix(' ') {
                types.entry(current).or_default().extend(Field::read(field));
            } else {
                current = line;
                types.entry(current).or_default();
            }
        }
        Self(types)
    }
}

impl Field {
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let word = words.next()?;
        let flags: Vec<&'static str> = words.collect();
        let has = |flag: &str| flags.contains(&flag);
        let read = kind_of(word);
        let kind =
            if let (FieldType::Struct(of), true) = (read, has("&")) { FieldType::Inline(of) } else { read };
        let empty = match (has("*"), has("?")) {
            (true, true) => Empty::OmittedIfAbsent,
            (true, false) => Empty::NullIfAbsent,
            (false, true) => Empty::Omitted,
            (false, false) => Empty::Written,
        };
        let merge = match flags.iter().find_map(|flag| flag.strip_prefix('~')) {
            None => Merge::Replace,
            Some("") => Merge::AsSet,
            Some(key) => Merge::ByKey(key),
        };
        Some(Self { name, kind, empty, merge })
    }
}

fn kind_of(word: &'static str) -> FieldType {
    if let Some(item) = word.strip_prefix("[]") {
        return FieldType::List(item_of(item));
    }
    if let Some(item) = word.strip_prefix("map[").and_then(|rest| rest.strip_suffix(']')) {
        return FieldType::Map(item_of(item));
    }
    match word {
        "string" => FieldType::String,
        "int" => FieldType::Int,
        "bool" => FieldType::Bool,
        "quantity" => FieldType::Quantity,
        "intorstring" => FieldType::IntOrString,
        "time" => FieldType::Time,
        "raw" => FieldType::Raw,
        other => FieldType::Struct(other),
    }
}

fn item_of(word: &'static str) -> Item {
    match word {
        "string" => Item::String,
        "int" => Item::Int,
        "quantity" => Item::Quantity,
        other => Item::Struct(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sm_2_every_type_that_a_field_names_is_in_the_table() {
        let table = Table::kubernetes();

        let named: Vec<&str> = table
            .0
            .values()
            .flatten()
            .filter_map(|field| match field.kind {
                FieldType::Struct(of)
                | FieldType::Inline(of)
                | FieldType::List(Item::Struct(of))
                | FieldType::Map(Item::Struct(of)) => Some(of),
                FieldType::String
                | FieldType::Int
                | FieldType::Bool
                | FieldType::Quantity
                | FieldType::IntOrString
                | FieldType::Time
                | FieldType::Raw
                | FieldType::List(_)
                | FieldType::Map(_) => None,
            })
            .collect();

        assert_eq!(table.0.len(), 122);
        assert_eq!(table.0.values().flatten().count(), 542);
        for of in named {
            assert!(table.0.contains_key(of), "{of}");
        }
    }
}
