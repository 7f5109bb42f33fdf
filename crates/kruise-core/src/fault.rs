//! A field of a stored object that cannot be used: nothing is touched until it is corrected, and it is never read as a zero.

use kruise_api::ReadError;
use kruise_api::parts::IntOrString;

use crate::amount::{Amount, Bare};

/// Where the problem is and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Fault {
    pub field: String,
    pub problem: String,
}

impl Fault {
    pub fn new(field: impl Into<String>, problem: &impl ToString) -> Self {
        Self { field: field.into(), problem: problem.to_string() }
    }

    /// Of a spec that does not have the shape of its type at all.
    pub fn of_spec(error: &ReadError) -> Self {
        let path = if error.path == "." { "spec".to_owned() } else { format!("spec.{}", error.path) };
        Self { field: path, problem: error.problem.clone() }
    }
}

/// A number that counts something.
pub fn count(field: &str, value: Option<i32>) -> Result<Option<u32>, Fault> {
    let read = |number: i32| {
        u32::try_from(number).map_err(|_| Fault::new(field, &format!("{number} is not a number >= 0")))
    };
    value.map(read).transpose()
}

/// A number of pods or a percentage.
pub fn amount(field: &str, value: Option<&IntOrString>, bare: Bare) -> Result<Option<Amount>, Fault> {
    let read = |wire| Amount::of_wire(wire, bare).map_err(|error| Fault::new(field, &error));
    value.map(read).transpose()
}
