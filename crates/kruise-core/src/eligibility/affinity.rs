//! Required node affinity.

use std::collections::BTreeMap;

use kruise_api::kubernetes::operator;
use serde::Deserialize;

/// One way to match a node; a pod matches if one of its terms does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Term {
    match_expressions: Vec<Expression>,
    match_fields: Vec<Expression>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

/// The only field of a node that a term can name.
const NAME_FIELD: &str = "metadata.name";

impl Term {
    /// A term that says nothing matches no node.
    pub fn matches(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        let is_empty = self.match_expressions.is_empty() && self.match_fields.is_empty();
        let by_label = |one: &Expression| one.matches(labels.get(&one.key).map(String::as_str));
        let by_field = |one: &Expression| one.matches((one.key == NAME_FIELD).then_some(name));
        !is_empty && self.match_expressions.iter().all(by_label) && self.match_fields.iter().all(by_field)
    }

    /// The only node that it can match, if it names one.
    pub fn only_node(&self) -> Option<&str> {
        let [field] = self.match_fields.as_slice() else { return None };
        let [node] = field.values.as_slice() else { return None };
        (field.key == NAME_FIELD && field.operator == operator::IN).then_some(node)
    }
}

impl Expression {
    fn matches(&self, value: Option<&str>) -> bool {
        let is_listed = |label: &str| self.values.iter().any(|one| one == label);
        match self.operator.as_str() {
            operator::IN => value.is_some_and(is_listed),
            operator::NOT_IN => !value.is_some_and(is_listed),
            operator::EXISTS => value.is_some(),
            operator::DOES_NOT_EXIST => value.is_none(),
            operator::GT => self.compares(value, |label, bound| label > bound),
            operator::LT => self.compares(value, |label, bound| label < bound),
            _ => false,
        }
    }

    fn compares(&self, value: Option<&str>, test: fn(i64, i64) -> bool) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        let [bound] = self.values.as_slice() else { return false };
        value.and_then(number).zip(number(bound)).is_some_and(|(label, bound)| test(label, bound))
    }
}
