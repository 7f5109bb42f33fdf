//! The check of a probe in the form that node agents get: as the original writes it, named ports replaced by numbers (PM-7).

use std::sync::Arc;

use serde_json::Value;

use crate::pod::PodView;
use crate::revision::{canonical, gojson};

/// Handlers that have a port.
const PORTS: [&str; 2] = ["/tcpSocket/port", "/httpGet/port"];

/// A check, complete but for the number of a named port.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// In the original's form, so that nodes that it has told already need not be told again.
    form: Value,
    /// The same as text, for all pods alike, if no port has a name.
    text: Option<Arc<str>>,
}

/// A port that the pod does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPort(pub String);

impl Check {
    pub fn read(probe: &Value) -> Result<Self, String> {
        let form = canonical("Probe", probe).map_err(|error| format!("{}: {}", error.path, error.problem))?;
        let has_name = PORTS.iter().any(|path| form.pointer(path).is_some_and(Value::is_string));
        let text = (!has_name).then(|| gojson::in_order(&form).into());
        Ok(Self { form, text })
    }

    /// As text, for one pod.
    pub fn of_pod(&self, pod: &PodView, container: &str) -> Result<Arc<str>, UnknownPort> {
        if let Some(text) = &self.text {
            return Ok(Arc::clone(text));
        }
        let mut form = self.form.clone();
        for path in PORTS {
            if let Some(port) = form.pointer_mut(path)
                && let Some(name) = port.as_str().map(str::to_owned)
            {
                *port = number(pod, container, &name).ok_or(UnknownPort(name))?.into();
            }
        }
        Ok(gojson::in_order(&form).into())
    }

    /// For the provider of a serverless pod, which resolves names itself.
    pub fn as_written(&self) -> &Value {
        &self.form
    }
}

/// The container's port of that name, else the text as a number.
fn number(pod: &PodView, container: &str, name: &str) -> Option<u16> {
    let ports = pod.container(container).map(|one| one.ports.as_slice()).unwrap_or_default();
    let named = ports.iter().find(|(port, _)| **port == *name).map(|(_, number)| *number);
    named.or_else(|| name.parse().ok()).filter(|number| *number != 0)
}
