//! Taints of nodes, and what a pod tolerates.

use kruise_api::kubernetes::operator::EXISTS;
use serde::Deserialize;

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
    /// One of a newer Kubernetes: not ours to enforce.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Taint {
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub value: String,
    pub effect: Effect,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Toleration {
    /// Empty with `Exists`: every taint.
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub operator: String,
    #[serde(default)]
    pub value: String,
    /// Empty: every effect.
    #[serde(default)]
    pub effect: String,
}

impl Effect {
    pub fn text(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Unknown => "",
        }
    }

    /// Whether it keeps new pods away.
    pub fn repels(self) -> bool {
        match self {
            Self::NoSchedule | Self::NoExecute => true,
            Self::PreferNoSchedule | Self::Unknown => false,
        }
    }
}

impl Taint {
    /// What cordoning a node adds, as far as tolerations see it.
    pub fn unschedulable() -> Self {
        let key = kruise_api::kubernetes::TAINT_UNSCHEDULABLE.to_owned();
        Self { key, value: String::new(), effect: Effect::NoSchedule }
    }
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let is_effect = self.effect.is_empty() || self.effect == taint.effect.text();
        let is_key = self.key.is_empty() || self.key == taint.key;
        let is_value =
            if self.operator == EXISTS { true } else { !self.key.is_empty() && self.value == taint.value };
        is_effect && is_key && is_value
    }
}

impl std::fmt::Display for Taint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.key)?;
        if !self.value.is_empty() {
            write!(out, "={}", self.value)?;
        }
        write!(out, ":{}", self.effect.text())
    }
}
