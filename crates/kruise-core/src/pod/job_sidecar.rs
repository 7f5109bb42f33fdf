//! What the environment of a container says about ending it with its job.

use std::sync::Arc;

use kruise_api::env;
use serde_json::Value;

/// How a sidecar is ended when the other containers of its pod are done (ST-1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobSidecar {
    pub by: By,
    /// The exit code of the sidecar does not count for the pod.
    pub ignores_exit_code: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum By {
    /// The node agent stops it.
    Request,
    /// Its image is replaced by one that ends at once.
    Image(Arc<str>),
    /// Whichever the node can do.
    Either(Arc<str>),
}

impl JobSidecar {
    /// `None` for a container that is not marked. Only values written out count, in any case of letters.
    pub fn read(container: &Value) -> Option<Self> {
        let value = |name: &str| {
            let all = container.get("env").and_then(Value::as_array)?;
            let variable = all.iter().find(|one| one.get("name").is_some_and(|known| known == name))?;
            variable.get("value").and_then(Value::as_str)
        };
        let is_true = |name: &str| value(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let by_request = is_true(env::TERMINATE_SIDECAR);
        let image = value(env::TERMINATE_SIDECAR_WITH_IMAGE).filter(|image| !image.is_empty());
        let by = match (by_request, image) {
            (true, None) => By::Request,
            (false, Some(image)) => By::Image(image.into()),
            (true, Some(image)) => By::Either(image.into()),
            (false, None) => return None,
        };
        let ignores_exit_code = by_request && is_true(env::TERMINATE_SIDECAR_IGNORE_EXIT_CODE);
        Some(Self { by, ignores_exit_code })
    }

    /// The image that ends it on a virtual node.
    pub fn image(&self) -> Option<&Arc<str>> {
        match &self.by {
            By::Request => None,
            By::Image(image) | By::Either(image) => Some(image),
        }
    }
}
