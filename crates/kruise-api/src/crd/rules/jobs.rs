//! Rules of BroadcastJob (V1, V2, B11) and EphemeralJob (E7).

use schemars::Schema;

use super::rule;

/// Names that become label values of pods.
pub(crate) fn name(schema: &mut Schema) {
    rule(
        schema,
        "self.metadata.name.matches('^[a-zA-Z0-9-]{1,63}$')",
        "metadata.name must be at most 63 letters, digits and dashes, without dots",
    );
}

/// A count, or a percentage with or without its sign.
pub(crate) fn parallelism(schema: &mut Schema) {
    rule(
        schema,
        "type(self) == int ? self >= 0 : self.matches('^[0-9]+%?$')",
        "must be a number, 0 or more, or a percentage such as 20%",
    );
}

/// A job without end has no deadline and no time to live.
pub(crate) fn completion(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.type) && self.type == 'Never' && (has(self.activeDeadlineSeconds) || has(self.ttlSecondsAfterFinished)))",
        "activeDeadlineSeconds and ttlSecondsAfterFinished need type Always",
    );
}
