//! Rules of PersistentPodState (section 6 of its specification).

use schemars::Schema;

use super::rule;

/// Without a topology there is nothing to steer by.
pub(crate) fn spec(schema: &mut Schema) {
    rule(
        schema,
        "has(self.requiredPersistentTopology) || (has(self.preferredPersistentTopology) && size(self.preferredPersistentTopology) > 0)",
        "give requiredPersistentTopology or preferredPersistentTopology",
    );
}
