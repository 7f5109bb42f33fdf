//! `spec`, read once.

use std::sync::Arc;

use kruise_api::apps::imagepulljob::ImagePullJobSpec;
use kruise_api::parts::{CompletionPolicy, CompletionPolicyType, IntOrString, LabelSelector, NodeSelector};
use serde_json::Value;

use crate::fault::Fault;
use crate::image::Reference;
use crate::order::Selector;

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub image: Reference,
    /// Names in the namespace of the job, each once.
    pub secrets: Vec<Arc<str>>,
    pub nodes: Nodes,
    /// How many nodes may pull at a time; 0 pauses.
    pub parallelism: usize,
    pub timeout_seconds: Option<i32>,
    pub backoff_limit: Option<i32>,
    pub completion: Completion,
    pub sandbox: Option<Arc<Value>>,
    pub image_pull_policy: Option<Arc<str>>,
}

/// Which nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Nodes {
    All,
    Named(Vec<Arc<str>>),
    Labelled(Selector),
    /// Those that run such pods of the job's namespace.
    OfPods(Selector),
}

/// When it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    Always { deadline_seconds: Option<i64>, ttl_seconds: Option<i64> },
    Never,
}

/// What an absent field means.
pub mod defaults {
    pub const PARALLELISM: usize = 1;
    pub const TIMEOUT_SECONDS: i32 = 600;
    pub const BACKOFF_LIMIT: i32 = 3;
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire = kruise_api::read_part::<ImagePullJobSpec>(spec.clone())
            .map_err(|error| Fault::of_spec(&error))?;
        let image = Reference::read(&wire.image).map_err(|error| Fault::new("spec.image", &error))?;
        let mut secrets: Vec<Arc<str>> = Vec::new();
        for name in wire.pull_secrets.into_iter().flatten() {
            if !secrets.iter().any(|one| **one == *name) {
                secrets.push(name.into());
            }
        }
        let pull = wire.pull_policy.unwrap_or_default();
        Ok(Self {
            image,
            secrets,
            nodes: nodes(wire.selector.as_ref(), wire.pod_selector.as_ref())?,
            parallelism: parallelism(wire.parallelism.as_ref())?,
            timeout_seconds: pull.timeout_seconds,
            backoff_limit: pull.backoff_limit,
            completion: completion(&wire.completion_policy)?,
            sandbox: spec.get("sandboxConfig").filter(|value| !value.is_null()).cloned().map(Arc::new),
            image_pull_policy: wire.image_pull_policy.map(|policy| policy.as_str().into()),
        })
    }
}

fn completion(policy: &CompletionPolicy) -> Result<Completion, Fault> {
    match &policy.r#type {
        Some(CompletionPolicyType::Never) => Ok(Completion::Never),
        Some(CompletionPolicyType::Other(other)) if !other.is_empty() => {
            Err(Fault::new("spec.completionPolicy.type", &format!("{other:?} is neither Always nor Never")))
        }
        Some(CompletionPolicyType::Always | CompletionPolicyType::Other(_)) | None => {
            Ok(Completion::Always {
                deadline_seconds: policy.active_deadline_seconds,
                ttl_seconds: policy.ttl_seconds_after_finished.map(i64::from),
            })
        }
    }
}

fn nodes(selector: Option<&NodeSelector>, pods: Option<&LabelSelector>) -> Result<Nodes, Fault> {
    if let Some(pods) = pods {
        let pods = Selector::of(pods).map_err(|error| Fault::new("spec.podSelector", &error))?;
        return Ok(Nodes::OfPods(pods));
    }
    let Some(selector) = selector else { return Ok(Nodes::All) };
    let names = selector.names.as_deref().unwrap_or_default();
    if !names.is_empty() {
        return Ok(Nodes::Named(names.iter().map(|name| name.as_str().into()).collect()));
    }
    let labels = LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: selector.match_expressions.clone(),
        ..LabelSelector::default()
    };
    let labels = Selector::of(&labels).map_err(|error| Fault::new("spec.selector", &error))?;
    Ok(if labels.is_empty() { Nodes::All } else { Nodes::Labelled(labels) })
}

/// A number, also as text; never a percentage.
fn parallelism(wire: Option<&IntOrString>) -> Result<usize, Fault> {
    let number = match wire {
        None => return Ok(defaults::PARALLELISM),
        Some(IntOrString::Int(number)) => usize::try_from(*number).ok(),
        Some(IntOrString::Text(text)) => text.parse().ok(),
    };
    let said = wire.map(ToString::to_string).unwrap_or_default();
    number.ok_or_else(|| Fault::new("spec.parallelism", &format!("{said} is not a number >= 0")))
}
