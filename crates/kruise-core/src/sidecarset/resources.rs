//! Resources of a sidecar, computed from those of the pod's own containers (SS-43 … SS-45).

use kruise_api::apps::sidecarset::{ResourceFormulas, ResourcesPolicy, TargetContainersMode};
use regex::Regex;
use serde_json::{Map, Value};

use super::formula::{Formula, NoResult, Variable};
use crate::cluster::quantity::Quantity;
use crate::fault::Fault;
use crate::pod::Resources;

/// The schema's default (2.2).
const EVERY_NAME: &str = ".*";

/// Which containers count, and what follows from them.
#[derive(Debug, Clone)]
pub struct Policy {
    mode: Mode,
    names: Regex,
    limits: Formulas,
    requests: Formulas,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sum,
    Max,
}

#[derive(Debug, Clone, Default)]
struct Formulas {
    cpu: Option<Formula>,
    memory: Option<Formula>,
}

/// A container of the pod that may count.
pub struct Target<'a> {
    pub name: &'a str,
    pub resources: Resources,
}

impl Policy {
    pub fn of(wire: ResourcesPolicy) -> Result<Self, Fault> {
        let mode = match wire.target_containers_mode {
            TargetContainersMode::Sum => Mode::Sum,
            TargetContainersMode::Max => Mode::Max,
            TargetContainersMode::Other(word) => {
                let problem = format!("unknown mode {word:?}: use sum or max");
                return Err(Fault::new("resourcesPolicy.targetContainersMode", &problem));
            }
        };
        let pattern = wire.target_containers_name_regex.unwrap_or_else(|| EVERY_NAME.to_owned());
        let field = "resourcesPolicy.targetContainersNameRegex";
        let names = Regex::new(&pattern)
            .map_err(|_| Fault::new(field, &format!("{pattern:?} is not a regular expression")))?;
        let formulas = |side: &str, texts: Option<ResourceFormulas>| {
            let texts = texts.unwrap_or_default();
            let read = |text: Option<String>, variable: Variable| {
                let text = text.filter(|text| !text.is_empty());
                let at = format!("resourcesPolicy.resourcesExpr.{side}.{}", variable.name());
                let read = text.map(|text| Formula::read(&text, variable)).transpose();
                read.map_err(|error| Fault::new(at, &error))
            };
            Ok(Formulas {
                cpu: read(texts.cpu, Variable::Cpu)?,
                memory: read(texts.memory, Variable::Memory)?,
            })
        };
        let limits = formulas("limits", wire.resources_expr.limits)?;
        let requests = formulas("requests", wire.resources_expr.requests)?;
        Ok(Self { mode, names, limits, requests })
    }

    /// Whether every formula can have a result.
    pub fn check(&self) -> Result<(), NoResult> {
        let all = [&self.limits.cpu, &self.limits.memory, &self.requests.cpu, &self.requests.memory];
        all.into_iter().flatten().try_for_each(Formula::check)
    }

    /// The whole `resources` of the sidecar; the error says why there is none.
    pub fn resources(&self, containers: &[Target<'_>]) -> Result<Value, String> {
        let targets: Vec<&Resources> =
            containers.iter().filter(|one| self.names.is_match(one.name)).map(|one| &one.resources).collect();
        if targets.is_empty() {
            return Err(format!("no container of the pod has a name like {:?}", self.names.as_str()));
        }
        let mut limits = Map::new();
        let mut requests = Map::new();
        for variable in [Variable::Cpu, Variable::Memory] {
            let name = variable.name();
            // SS-44, SS-45: one without a limit is unlimited, and so is the sidecar.
            let of_limits: Option<Vec<Quantity>> =
                targets.iter().map(|one| one.limits.get(name).copied()).collect();
            if let (Some(formula), Some(all)) = (self.limits.of(variable), of_limits) {
                limits.insert(name.to_owned(), self.value(formula, &all)?);
            }
            let of_requests: Vec<Quantity> =
                targets.iter().filter_map(|one| one.requests.get(name).copied()).collect();
            if let Some(formula) = self.requests.of(variable) {
                requests.insert(name.to_owned(), self.value(formula, &of_requests)?);
            }
        }
        let sides = [("limits", limits), ("requests", requests)];
        let written = sides.into_iter().filter(|(_, side)| !side.is_empty());
        Ok(Value::Object(written.map(|(name, side)| (name.to_owned(), Value::Object(side))).collect()))
    }

    fn value(&self, formula: &Formula, all: &[Quantity]) -> Result<Value, String> {
        let total = match self.mode {
            Mode::Sum => all.iter().copied().reduce(Quantity::plus),
            Mode::Max => all.iter().copied().max(),
        };
        let zero = Quantity::read("0").map_err(|error| error.to_string())?;
        let value = formula.value(total.unwrap_or(zero)).map_err(|error| error.to_string())?;
        Ok(Value::from(value.to_string()))
    }
}

impl Formulas {
    fn of(&self, variable: Variable) -> Option<&Formula> {
        match variable {
            Variable::Cpu => self.cpu.as_ref(),
            Variable::Memory => self.memory.as_ref(),
        }
    }
}
