//! Rules of BroadcastJob (V1, V2, B11) and EphemeralJob (E7).

use schemars::Schema;

use super::rule;

/// Names that become label values of pods.
pub(crate) fn name(schema: &mut Schema) {
    let text = "self.metadata.name.matches('^[a-zA-Z0-9-]{1,63}$')";
    rule(schema, text, "metadata.name must be at most 63 letters, digits and dashes, without dots");
}

/// A count, or a percentage with or without its sign.
pub(crate) fn parallelism(schema: &mut Schema) {
    let text = "type(self) == int ? self >= 0 : self.matches('^[0-9]+%?$')";
    rule(schema, text, "must be a number, 0 or more, or a percentage such as 20%");
}

/// A job without end has no deadline and no time to live.
pub(crate) fn completion(schema: &mut Schema) {
    let text = "!(has(self.type) && self.type == 'Never' && (has(self.activeDeadlineSeconds) || has(self.ttlSecondsAfterFinished)))";
    rule(schema, text, "activeDeadlineSeconds and ttlSecondsAfterFinished need type Always");
}
