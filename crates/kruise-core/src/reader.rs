//! Reads the spec of a workload field by field; what cannot be read is a fault with its place, never a zero.

use serde_json::Value;

use crate::amount::{Amount, Bare};
use crate::order::{Priority, Selector};

/// A field that cannot be read: nothing is touched until it is corrected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Fault {
    pub field: String,
    pub problem: String,
}

/// Typed access to the fields of an object; paths are relative, with `/`.
pub struct Reader<'a> {
    pub object: &'a Value,
    /// Where the object stands, for faults.
    pub at: &'static str,
}

impl<'a> Reader<'a> {
    pub fn at(&self, path: &str) -> &'a Value {
        self.object.pointer(&format!("/{path}")).unwrap_or(&Value::Null)
    }

    pub fn fault(&self, path: &str, problem: &impl ToString) -> Fault {
        fault(&format!("{}.{path}", self.at), problem)
    }

    pub fn text(&self, path: &str) -> &'a str {
        self.at(path).as_str().unwrap_or_default()
    }

    pub fn flag(&self, path: &str) -> Option<bool> {
        self.at(path).as_bool()
    }

    pub fn list(&self, path: &str) -> &'a [Value] {
        self.at(path).as_array().map_or(&[], Vec::as_slice)
    }

    pub fn count(&self, path: &str) -> Result<Option<u32>, Fault> {
        let value = self.at(path);
        match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
            _ if value.is_null() => Ok(None),
            Some(count) => Ok(Some(count)),
            None => Err(self.fault(path, &format!("{value} is not a number >= 0"))),
        }
    }

    pub fn amount(&self, path: &str, bare: Bare) -> Result<Option<Amount>, Fault> {
        let value = self.at(path);
        if value.is_null() {
            return Ok(None);
        }
        Amount::read(value, bare).map(Some).map_err(|error| self.fault(path, &error))
    }
}

/// A priority strategy (SM-62); weights win where both are written.
pub fn priority(value: &Value, at: &'static str) -> Result<Option<Priority>, Fault> {
    let read = Reader { object: value, at };
    let (weights, keys) = (read.list("weightPriority"), read.list("orderPriority"));
    if !weights.is_empty() {
        let terms = weights.iter().map(|term| {
            let selector = Selector::read(&term["matchSelector"]).map_err(|e| fault(at, &e))?;
            Ok((Reader { object: term, at }.count("weight")?.unwrap_or(0), selector))
        });
        return terms.collect::<Result<Vec<_>, Fault>>().map(|terms| Some(Priority::Weights(terms)));
    }
    let keys: Vec<String> =
        keys.iter().filter_map(|key| key["orderedKey"].as_str().map(str::to_owned)).collect();
    Ok((!keys.is_empty()).then_some(Priority::Keys(keys)))
}

/// Fields are told with dots.
pub fn fault(field: &str, problem: &impl ToString) -> Fault {
    Fault { field: field.replace('/', "."), problem: problem.to_string() }
}
