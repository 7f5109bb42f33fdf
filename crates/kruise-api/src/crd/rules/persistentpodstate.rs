//! Rules of PersistentPodState (section 6 of its specification).

use schemars::Schema;
use serde_json::{Value, json};

use super::{immutable, rule};

/// What kinds and names of objects are made of. The API server takes no object with other characters in its name, so whoever
/// points to one could only wait for ever.
const NAME: &str = "^[-A-Za-z0-9.]+$";
/// No object has a longer name, no kind a longer one, and no group and version are longer: what is longer would only make the
/// selection of the pod webhook wider for everybody.
const LENGTHS: [(&str, u64); 3] = [("apiVersion", 317), ("kind", 63), ("name", 253)];

/// The workload: it stays, and it is one that can exist.
pub(crate) fn target(schema: &mut Schema) {
    immutable(schema);
    for field in ["kind", "name"] {
        if let Some(Value::Object(part)) = schema.pointer_mut(&format!("/properties/{field}")) {
            part.insert("pattern".to_owned(), json!(NAME));
        }
    }
    for (field, most) in LENGTHS {
        if let Some(Value::Object(part)) = schema.pointer_mut(&format!("/properties/{field}")) {
            part.insert("maxLength".to_owned(), json!(most));
        }
    }
}

/// Without a topology there is nothing to steer by.
pub(crate) fn spec(schema: &mut Schema) {
    rule(
        schema,
        "has(self.requiredPersistentTopology) || (has(self.preferredPersistentTopology) && size(self.preferredPersistentTopology) > 0)",
        "give requiredPersistentTopology or preferredPersistentTopology",
    );
}
