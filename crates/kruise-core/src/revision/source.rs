//! Where an encoding takes its values from: an object that is only looked at, or one that is used up.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// A JSON value to be encoded anew.
pub trait Source: Sized {
    type Object: Default;

    fn look(&self) -> &Value;
    /// The value as it is.
    fn whole(self) -> Value;
    fn object(self) -> Option<Self::Object>;
    /// A member of an object; asked for once.
    fn member(object: &mut Self::Object, name: &str) -> Option<Self>;
    /// Nothing if it is no list.
    fn items(self) -> impl Iterator<Item = Self>;
    /// Nothing if it is no object.
    fn members(self) -> impl Iterator<Item = (String, Self)>;
}

/// An object that is looked at.
pub struct Seen<'a>(&'a Map<String, Value>);

impl Default for Seen<'_> {
    fn default() -> Self {
        Self(&EMPTY)
    }
}

impl<'a> Source for &'a Value {
    type Object = Seen<'a>;

    fn look(&self) -> &Value {
        self
    }

    fn whole(self) -> Value {
        self.clone()
    }

    fn object(self) -> Option<Seen<'a>> {
        self.as_object().map(Seen)
    }

    fn member(object: &mut Seen<'a>, name: &str) -> Option<Self> {
        object.0.get(name)
    }

    fn items(self) -> impl Iterator<Item = Self> {
        self.as_array().into_iter().flatten()
    }

    fn members(self) -> impl Iterator<Item = (String, Self)> {
        self.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value))
    }
}

impl Source for Value {
    type Object = Map<String, Value>;

    fn look(&self) -> &Value {
        self
    }

    fn whole(self) -> Value {
        self
    }

    fn object(self) -> Option<Map<String, Value>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    fn member(object: &mut Map<String, Value>, name: &str) -> Option<Self> {
        object.get_mut(name).map(Self::take)
    }

    fn items(self) -> impl Iterator<Item = Self> {
        match self {
            Self::Array(items) => items,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Object(_) => Vec::new(),
        }
        .into_iter()
    }

    fn members(self) -> impl Iterator<Item = (String, Self)> {
        self.object().into_iter().flatten()
    }
}
