//! Reading objects, with the path of what is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kind::Kind;

/// Why an object could not be read. Says where and what.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ReadError {
    /// Path of the field, `spec.updateStrategy.paused`; `.` is the whole object.
    pub path: String,
    /// What was found and what was expected.
    pub problem: String,
}

impl ReadError {
    pub(crate) fn whole(problem: &dyn ToString) -> Self {
        Self { path: ".".to_owned(), problem: problem.to_string() }
    }
}

/// Reads an object of a known kind from JSON text.
pub fn read<T: Kind>(json: &[u8]) -> Result<T, ReadError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let object = with_path(&mut deserializer)?;
    deserializer.end().map_err(|error| ReadError::whole(&error))?;
    expect_kind(object)
}

/// Reads an object of a known kind from a JSON value.
pub fn read_value<T: Kind>(json: Value) -> Result<T, ReadError> {
    expect_kind(with_path(json)?)
}

/// Reads any part of an object from a JSON value.
pub fn read_part<T: DeserializeOwned>(json: Value) -> Result<T, ReadError> {
    with_path(json)
}

fn with_path<'de, T: DeserializeOwned, D>(deserializer: D) -> Result<T, ReadError>
where
    D: serde::Deserializer<'de>,
    D::Error: std::fmt::Display,
{
    serde_path_to_error::deserialize(deserializer)
        .map_err(|error| ReadError { path: error.path().to_string(), problem: error.inner().to_string() })
}

/// An object of another kind or version may well fit the type, and would then be read wrongly.
fn expect_kind<T: Kind>(object: T) -> Result<T, ReadError> {
    let (api_version, kind) = object.type_meta();
    let wanted = T::RESOURCE.api_version();
    let members = [("apiVersion", api_version, wanted.as_str()), ("kind", kind, T::RESOURCE.kind())];
    let wrong =
        members.into_iter().find(|(_, found, expected)| found != expected).map(|(path, found, expected)| {
            let problem = format!("expected \"{expected}\", found \"{found}\"");
            ReadError { path: path.to_owned(), problem }
        });
    wrong.map_or(Ok(object), Err)
}
