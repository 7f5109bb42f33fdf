//! Label selectors.

use std::collections::BTreeMap;

use kruise_api::kubernetes::operator;
use kruise_api::parts::{LabelSelector, LabelSelectorRequirement};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pod::Texts;

/// A label selector as Kubernetes defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Selector(Vec<Requirement>);

/// One condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

/// The selector is not one; says which part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotASelector(String);

impl Selector {
    pub fn of(wire: &LabelSelector) -> Result<Self, NotASelector> {
        let labels = wire.match_labels.iter().flatten();
        let mut all: Vec<Requirement> =
            labels.map(|(key, one)| Requirement::In(key.clone(), vec![one.clone()])).collect();
        for expression in wire.match_expressions.iter().flatten() {
            all.push(Requirement::of(expression)?);
        }
        Ok(Self(all))
    }

    /// Out of an object that has not been read yet, as admission sees it; an absent selector selects everything.
    pub fn read(value: &Value) -> Result<Self, NotASelector> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let wire = kruise_api::read_part(value.clone()).map_err(|error| NotASelector(error.to_string()))?;
        Self::of(&wire)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them hold for what is selected.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    pub fn matches(&self, labels: &Texts) -> bool {
        self.0.iter().all(|one| one.holds(|key| labels.get(key)))
    }

    /// Whatever labels are kept in.
    pub fn matches_with<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|one| one.holds(&label))
    }

    pub fn matches_map(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|one| one.holds(|key| labels.get(key).map(String::as_str)))
    }

    /// The canonical text, as `kubectl get -l` takes it; sorted by key.
    pub fn text(&self) -> String {
        let mut parts: Vec<(&str, String)> = self.0.iter().map(|one| (one.key(), one.text())).collect();
        parts.sort();
        parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
    }
}

impl Requirement {
    fn of(wire: &LabelSelectorRequirement) -> Result<Self, NotASelector> {
        let (key, values) = (wire.key.clone(), wire.values.clone().unwrap_or_default());
        if key.is_empty() {
            return Err(NotASelector("an expression needs a key".to_owned()));
        }
        match (wire.operator.as_str(), values.is_empty()) {
            (operator::IN, false) => Ok(Self::In(key, values)),
            (operator::NOT_IN, false) => Ok(Self::NotIn(key, values)),
            (operator::IN | operator::NOT_IN, true) => {
                Err(NotASelector(format!("{key}: In and NotIn need values")))
            }
            (operator::EXISTS, true) => Ok(Self::Exists(key)),
            (operator::DOES_NOT_EXIST, true) => Ok(Self::DoesNotExist(key)),
            (operator::EXISTS | operator::DOES_NOT_EXIST, false) => {
                Err(NotASelector(format!("{key}: Exists and DoesNotExist take no values")))
            }
            (other, _) => Err(NotASelector(format!(
                "{key}: unknown operator {other:?}: use In, NotIn, Exists or DoesNotExist"
            ))),
        }
    }

    fn holds<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        match self {
            Self::In(key, values) => value(key).is_some_and(|one| values.iter().any(|wanted| wanted == one)),
            Self::NotIn(key, values) => {
                value(key).is_none_or(|one| values.iter().all(|unwanted| unwanted != one))
            }
            Self::Exists(key) => value(key).is_some(),
            Self::DoesNotExist(key) => value(key).is_none(),
        }
    }

    /// The label that it is about.
    pub fn key(&self) -> &str {
        match self {
            Self::In(key, _) | Self::NotIn(key, _) | Self::Exists(key) | Self::DoesNotExist(key) => key,
        }
    }

    fn text(&self) -> String {
        let list = |values: &[String]| {
            let mut sorted = values.to_vec();
            sorted.sort();
            sorted.join(",")
        };
        match self {
            // A single matchLabels entry prints as an equality.
            Self::In(key, values) if values.len() == 1 => format!("{key}={}", list(values)),
            Self::In(key, values) => format!("{key} in ({})", list(values)),
            Self::NotIn(key, values) => format!("{key} notin ({})", list(values)),
            Self::Exists(key) => key.clone(),
            Self::DoesNotExist(key) => format!("!{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cs_93_label_selector_text_is_canonical() {
        let selector = Selector::read(&json!({
            "matchLabels": {"z": "1", "a": "b"},
            "matchExpressions": [
                {"key": "m", "operator": "In", "values": ["y", "x"]},
                {"key": "n", "operator": "NotIn", "values": ["q"]},
                {"key": "e", "operator": "Exists"},
                {"key": "f", "operator": "DoesNotExist"},
            ],
        }))
        .unwrap();

        assert_eq!(selector.text(), "a=b,e,!f,m in (x,y),n notin (q),z=1");
        let labels: Texts = [("z", "1"), ("a", "b"), ("m", "x"), ("e", "")].into_iter().collect();
        assert!(selector.matches(&labels));
        assert!(!selector.matches(&labels.with("f", "1")));
        assert!(!selector.matches(&labels.with("n", "q")));
    }

    #[test]
    fn cs_102_malformed_selectors_are_refused() {
        for wrong in [
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Near", "values": ["x"]}]}),
            json!({"matchExpressions": [{"operator": "Exists"}]}),
        ] {
            assert!(Selector::read(&wrong).is_err(), "{wrong}");
        }
    }
}
