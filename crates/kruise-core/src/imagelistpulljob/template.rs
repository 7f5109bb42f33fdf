//! The hash of a list's template (LJ-1): over what Go's debug printer says about the struct.

use std::fmt::Write as _;

use kruise_api::apps::imagelistpulljob::ImageListPullJobSpec;
use kruise_api::parts::{
    CompletionPolicy, IntOrString, LabelSelectorRequirement, NodeSelector, PullPolicy, SandboxConfig,
    StringMap,
};
use serde_json::{Value, json};

const FNV_OFFSET: u32 = 2_166_136_261;
const FNV_PRIME: u32 = 16_777_619;
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Go package that the printed types are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    V1beta1,
    /// Of releases up to 1.8.
    V1alpha1,
}

impl Package {
    fn name(self) -> &'static str {
        match self {
            Self::V1beta1 => "v1beta1",
            Self::V1alpha1 => "v1alpha1",
        }
    }
}

/// Of the template in the spec of a list or of a job; `None` if it cannot be read.
pub fn hash(spec: &Value) -> Option<String> {
    read(spec).map(|template| of(&template, Package::V1beta1))
}

/// What a list and its jobs have in common. A job has one image, and the number of them does not matter here.
pub fn read(spec: &Value) -> Option<ImageListPullJobSpec> {
    let mut spec = spec.clone();
    let fields = spec.as_object_mut()?;
    fields.shift_remove("image");
    fields.insert("images".to_owned(), json!([]));
    kruise_api::read_part(spec).ok()
}

pub fn of(template: &ImageListPullJobSpec, package: Package) -> String {
    let text = printed(template, package.name());
    let hash = text.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME));
    let letter =
        |digit: u8| ALPHABET.get(usize::from(digit) % ALPHABET.len()).copied().map_or('b', char::from);
    hash.to_string().bytes().map(letter).collect()
}

fn printed(template: &ImageListPullJobSpec, package: &str) -> String {
    let one = template;
    let pod = one.pod_selector.as_ref().map(|pods| {
        format!("{{LabelSelector:{}}}", labels(pods.match_labels.as_ref(), pods.match_expressions.as_deref()))
    });
    let fields = [
        format!("PullSecrets:([]string){}", texts(one.pull_secrets.as_deref())),
        format!(
            "Selector:(*{package}.ImagePullJobNodeSelector){}",
            or_nil(one.selector.as_ref().map(node_selector))
        ),
        format!("PodSelector:(*{package}.ImagePullJobPodSelector){}", or_nil(pod)),
        format!("Parallelism:(*intstr.IntOrString){}", or_nil(one.parallelism.as_ref().map(number_or_text))),
        format!("PullPolicy:(*{package}.PullPolicy){}", or_nil(one.pull_policy.as_ref().map(pull_policy))),
        format!(
            "CompletionPolicy:({package}.CompletionPolicy){}",
            completion(&one.completion_policy, package)
        ),
        format!(
            "SandboxConfig:(*{package}.SandboxConfig){}",
            or_nil(one.sandbox_config.as_ref().map(sandbox))
        ),
        format!(
            "ImagePullPolicy:({package}.ImagePullPolicy){}",
            one.image_pull_policy.as_ref().map(|policy| policy.as_str().to_owned()).unwrap_or_default()
        ),
    ];
    format!("({package}.ImagePullJobTemplate){{{}}}", fields.join(" "))
}

fn or_nil(text: Option<String>) -> String {
    text.unwrap_or_else(|| "<nil>".to_owned())
}

fn texts(list: Option<&[String]>) -> String {
    or_nil(list.map(|list| format!("[{}]", list.join(" "))))
}

fn map(all: Option<&StringMap>) -> String {
    or_nil(all.map(|all| {
        let pairs: Vec<String> = all.iter().map(|(key, value)| format!("{key}:{value}")).collect();
        format!("map[{}]", pairs.join(" "))
    }))
}

fn node_selector(selector: &NodeSelector) -> String {
    let labels = labels(selector.match_labels.as_ref(), selector.match_expressions.as_deref());
    format!("{{Names:([]string){} LabelSelector:{labels}}}", texts(selector.names.as_deref()))
}

fn labels(labels: Option<&StringMap>, expressions: Option<&[LabelSelectorRequirement]>) -> String {
    let one = |expression: &LabelSelectorRequirement| {
        let LabelSelectorRequirement { key, operator, values, .. } = expression;
        let values = texts(values.as_deref());
        format!(
            "{{Key:(string){key} Operator:(v1.LabelSelectorOperator){operator} Values:([]string){values}}}"
        )
    };
    let expressions = expressions.map(|all| {
        let all: Vec<String> = all.iter().map(one).collect();
        format!("[{}]", all.join(" "))
    });
    format!(
        "(v1.LabelSelector){{MatchLabels:(map[string]string){} MatchExpressions:([]v1.LabelSelectorRequirement){}}}",
        map(labels),
        or_nil(expressions)
    )
}

fn number_or_text(value: &IntOrString) -> String {
    let (kind, number, text) = match value {
        IntOrString::Int(number) => (0, *number, ""),
        IntOrString::Text(text) => (1, 0, text.as_str()),
    };
    format!("{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}")
}

fn pull_policy(policy: &PullPolicy) -> String {
    let mut text = String::from("{");
    let number = |value: Option<i32>| or_nil(value.map(|value| value.to_string()));
    // Writing to a String cannot fail.
    let _infallible = write!(
        text,
        "TimeoutSeconds:(*int32){} BackoffLimit:(*int32){}}}",
        number(policy.timeout_seconds),
        number(policy.backoff_limit)
    );
    text
}

fn completion(policy: &CompletionPolicy, package: &str) -> String {
    let kind = policy.r#type.as_ref().map(|kind| kind.as_str().to_owned()).unwrap_or_default();
    let deadline = or_nil(policy.active_deadline_seconds.map(|value| value.to_string()));
    let ttl = or_nil(policy.ttl_seconds_after_finished.map(|value| value.to_string()));
    format!(
        "{{Type:({package}.CompletionPolicyType){kind} ActiveDeadlineSeconds:(*int64){deadline} TTLSecondsAfterFinished:(*int32){ttl}}}"
    )
}

fn sandbox(config: &SandboxConfig) -> String {
    format!(
        "{{Labels:(map[string]string){} Annotations:(map[string]string){}}}",
        map(config.labels.as_ref()),
        map(config.annotations.as_ref())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the specification, and what a release was recorded to write.
    #[test]
    fn lj_1_hash_is_the_one_that_upstream_writes() {
        let plain = json!({"pullPolicy": {"timeoutSeconds": 600, "backoffLimit": 3}, "completionPolicy": {"type": "Always"}});
        assert_eq!(hash(&plain).as_deref(), Some("7697cbbcb9"));
        let mut other = plain.clone();
        other["parallelism"] = json!(1);
        let template = read(&other).unwrap();
        assert_eq!(
            [Package::V1beta1, Package::V1alpha1].map(|package| of(&template, package))[0],
            "fb69b545f"
        );
    }
}
