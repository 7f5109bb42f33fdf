//! Edits by lot: a walk down the schema to some field, and a value for it that fits or one that does not.

use serde_json::{Map, Value, json};

use super::{Schema, Type};
use crate::rng::Rng;

/// Deeper than this nothing is made up.
const DEPTH: usize = 4;
/// Ways that end at a field without values of its own are tried again.
const TRIES: usize = 8;
/// A key and a text that nothing else has.
pub const DRAWN: &str = "drawn";

/// One field, by its names from the top, and what it is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    pub path: Vec<String>,
    pub value: Value,
}

/// Whether the schema takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taste {
    Good,
    Bad,
}

impl Schema {
    /// An edit of an object of this schema; one in four does not fit. `None` if it has no fields to speak of.
    pub fn edit(&self, rng: &mut Rng, left_alone: &[&str]) -> Option<Edit> {
        (0..TRIES).find_map(|_| {
            let taste = if rng.one_in(4) { Taste::Bad } else { Taste::Good };
            self.walk(rng, taste, left_alone)
        })
    }

    fn walk(&self, rng: &mut Rng, taste: Taste, left_alone: &[&str]) -> Option<Edit> {
        let mut path = Vec::new();
        let mut place = self;
        while !place.properties.is_empty() {
            let names = place.properties.keys().filter(|name| !left_alone.contains(&name.as_str()));
            let names: Vec<&String> = names.collect();
            let name = rng.pick(&names)?;
            path.push((*name).clone());
            place = place.properties.get(*name)?;
            // Now and then a whole object at once.
            if place.kind == Type::Object && rng.one_in(6) {
                break;
            }
        }
        let value = match taste {
            Taste::Good => place.value(rng, DEPTH)?,
            Taste::Bad => place.misfit(rng)?,
        };
        Some(Edit { path, value })
    }

    /// Something that fits; `None` where the schema does not say what does.
    fn value(&self, rng: &mut Rng, depth: usize) -> Option<Value> {
        if !self.allowed.is_empty() {
            return rng.pick(&self.allowed).cloned();
        }
        match self.kind {
            Type::Any => None,
            Type::Object => self.object(rng, depth.checked_sub(1)?),
            Type::Array => {
                let items = self.items.as_deref()?;
                let count = usize::try_from(rng.below(3)).unwrap_or(0);
                (0..count).map(|_| items.value(rng, depth.checked_sub(1)?)).collect()
            }
            Type::Text => Some(DRAWN.into()),
            Type::Integer | Type::Number => Some(self.number(rng).into()),
            Type::Boolean => Some(rng.one_in(2).into()),
            Type::IntegerOrText if rng.one_in(2) => Some(self.number(rng).into()),
            Type::IntegerOrText => rng.pick(&["0%", "1%", "34%", "50%", "100%"]).map(|text| (*text).into()),
        }
    }

    /// Small: a world has few pods and little time.
    fn number(&self, rng: &mut Rng) -> i64 {
        let number = i64::try_from(rng.below(6)).unwrap_or(0).max(self.bounds.least.unwrap_or(0));
        self.bounds.most.map_or(number, |most| number.min(most))
    }

    fn object(&self, rng: &mut Rng, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        if let Some(member) = &self.additional {
            map.insert(DRAWN.to_owned(), member.value(rng, depth)?);
        }
        for (name, schema) in &self.properties {
            if self.required.contains(name) {
                map.insert(name.clone(), schema.value(rng, depth)?);
            } else if rng.one_in(3)
                && let Some(value) = schema.value(rng, depth)
            {
                map.insert(name.clone(), value);
            }
        }
        Some(Value::Object(map))
    }

    fn misfit(&self, rng: &mut Rng) -> Option<Value> {
        let wrong = match self.kind {
            Type::Any => return None,
            Type::Object => vec![json!(1), json!([1])],
            Type::Array => vec![json!("x"), json!({"x": 1})],
            Type::Text if self.allowed.is_empty() => vec![json!(1), json!({})],
            Type::Text => vec![json!("Nonsense"), json!(1)],
            Type::Integer | Type::Number => vec![json!(-1), json!("three"), json!(true)],
            Type::Boolean => vec![json!("yes"), json!(1)],
            Type::IntegerOrText => vec![json!("x%"), json!(-1), json!("150%"), json!(true), json!("-5%")],
        };
        rng.pick(&wrong).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::resources;

    /// Every scalar field of the strategy is reached, with values that fit and values that do not.
    #[test]
    fn edits_reach_every_field_and_both_tastes() {
        let kind = resources::find("apps.kruise.io", "v1beta1", "clonesets").unwrap();
        let spec = kind.custom().unwrap().schema.field("spec").unwrap();
        let mut rng = Rng::new(1);
        let (mut paths, mut refused) = (std::collections::BTreeSet::new(), 0);
        for _ in 0..3_000 {
            let edit = spec.edit(&mut rng, &["template"]).unwrap();
            assert_ne!(edit.path[0], "template");
            let mut object = edit.value;
            for name in edit.path.iter().rev() {
                object = json!({name: object});
            }
            let mut causes = Vec::new();
            let whole = json!({"selector": {}, "template": {}});
            json_patch::merge(&mut object, &whole);
            spec.validate(&object, "spec", &mut causes);
            refused += usize::from(!causes.is_empty());
            paths.insert(edit.path.join("."));
        }

        for path in
            ["replicas", "updateStrategy.rollingUpdate.partition", "updateStrategy.type", "minReadySeconds"]
        {
            assert!(paths.contains(path), "{path} is not in {paths:?}");
        }
        assert!((300..1_200).contains(&refused), "{refused} of 3000 do not fit");
    }
}
