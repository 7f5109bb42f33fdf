//! What a pod asks a node for.

use std::collections::BTreeMap;

use kruise_api::kubernetes::RESTART_ALWAYS;
use serde_json::Value;

use crate::cluster::quantity::Quantity;

pub type Amounts = BTreeMap<String, Quantity>;

/// The requests of the whole pod, as the scheduler adds them up: containers and sidecars run together; init containers run one after the
/// other beside the sidecars before them.
pub fn of_pod(spec: &Value) -> Amounts {
    let list = |field: &str| spec.get(field).and_then(Value::as_array).into_iter().flatten();
    let mut running = Amounts::new();
    for one in list("containers") {
        add(&mut running, &read(one.pointer("/resources/requests")));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for one in list("initContainers") {
        let requests = read(one.pointer("/resources/requests"));
        if one.get("restartPolicy").and_then(Value::as_str) == Some(RESTART_ALWAYS) {
            add(&mut sidecars, &requests);
            raise(&mut peak, &sidecars);
        } else {
            let mut beside = sidecars.clone();
            add(&mut beside, &requests);
            raise(&mut peak, &beside);
        }
    }
    add(&mut running, &sidecars);
    raise(&mut running, &peak);
    // What is said for the pod as a whole counts instead.
    running.extend(read(spec.pointer("/resources/requests")));
    add(&mut running, &read(spec.get("overhead")));
    running
}

/// Quantities by name; what cannot be read is left to the API server to refuse.
pub fn read(value: Option<&Value>) -> Amounts {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    let read = |amount: &Value| match amount {
        Value::String(text) => Quantity::read(text).ok(),
        Value::Number(number) => Quantity::read(&number.to_string()).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    entries.filter_map(|(name, amount)| Some((name.clone(), read(amount)?))).collect()
}

fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).map_or(*amount, |there| there.plus(*amount));
        to.insert(name.clone(), sum);
    }
}

fn raise(to: &mut Amounts, at_least: &Amounts) {
    for (name, amount) in at_least {
        let larger = to.get(name).map_or(*amount, |there| (*there).max(*amount));
        to.insert(name.clone(), larger);
    }
}
