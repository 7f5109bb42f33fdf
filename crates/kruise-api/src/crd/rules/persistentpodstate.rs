//! Rules of PersistentPodState (section 6 of its specification).

use schemars::Schema;
use serde_json::{Value, json};

use super::{immutable, rule};

/// What kinds and names of objects are made of. The API server takes no object with other characters in its name, so whoever
/// points to one could only wait for ever.
const NAME: &str = "^[-A-Za-z0-9.]+$";

/// The workload: it stays, and it is one that can exist.
pub(crate) fn target(schema: &mut Schema) {
    immutable(schema);
    for field in ["kind", "name"] {
        if let Some(Value::Object(part)) = schema.pointer_mut(&format!("/properties/{field}")) {
            part.insert("pattern".to_owned(), json!(NAME));
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
