//! Rules of AdvancedCronJob (V2 … V6).

use schemars::Schema;

use super::rule;

/// The time zone stands in one place only, and is a real one.
pub(crate) fn spec(schema: &mut Schema) {
    rule(
        schema,
        "!(has(self.timeZone) && self.schedule.contains('TZ'))",
        "give the time zone in timeZone or in schedule, not in both",
    );
    rule(
        schema,
        "!has(self.timeZone) || self.timeZone.lowerAscii() != 'local'",
        "timeZone must be a name such as Europe/Berlin; Local is not supported",
    );
}

/// Exactly one of three.
pub(crate) fn one_template(schema: &mut Schema) {
    rule(
        schema,
        "[has(self.jobTemplate), has(self.broadcastJobTemplate), has(self.imageListPullJobTemplate)].filter(given, given).size() == 1",
        "give exactly one of jobTemplate, broadcastJobTemplate and imageListPullJobTemplate",
    );
    for template in ["jobTemplate", "broadcastJobTemplate", "imageListPullJobTemplate"] {
        same_kind(schema, template);
    }
}

/// Exactly one of two. An object with an image list shows none of them here and cannot be written in this version.
pub(crate) fn v1alpha1_one_template(schema: &mut Schema) {
    rule(
        schema,
        "has(self.jobTemplate) != has(self.broadcastJobTemplate)",
        "give exactly one of jobTemplate and broadcastJobTemplate; use v1beta1 for imageListPullJobTemplate",
    );
    for template in ["jobTemplate", "broadcastJobTemplate"] {
        same_kind(schema, template);
    }
}

fn same_kind(schema: &mut Schema, template: &str) {
    rule(
        schema,
        &format!("has(self.{template}) == has(oldSelf.{template})"),
        &format!("{template} cannot be added or removed; delete the object and create it anew"),
    );
}

/// Rules for image lists (V6).
pub(crate) fn image_list(schema: &mut Schema) {
    let list = "has(self.template.imageListPullJobTemplate)";
    rule(
        schema,
        &format!("!({list} && has(self.concurrencyPolicy) && self.concurrencyPolicy == 'Allow')"),
        "concurrencyPolicy must be Replace or Forbid with imageListPullJobTemplate",
    );
    let spec = "self.template.imageListPullJobTemplate.spec";
    let policy = format!("{spec}.completionPolicy");
    let none = format!("!{list} || !has({spec})");
    rule(
        schema,
        &format!(
            "{none} || !(has({policy}.type) && {policy}.type == 'Never') && !has({policy}.ttlSecondsAfterFinished)"
        ),
        "completionPolicy of imageListPullJobTemplate must be Always without ttlSecondsAfterFinished",
    );
    let timeout = format!(
        "(has({spec}.pullPolicy) && has({spec}.pullPolicy.timeoutSeconds) ? {spec}.pullPolicy.timeoutSeconds : 600)"
    );
    rule(
        schema,
        &format!(
            "{none} || !has({policy}.activeDeadlineSeconds) || ({policy}.activeDeadlineSeconds <= 86400 && {policy}.activeDeadlineSeconds >= {timeout})"
        ),
        "activeDeadlineSeconds of imageListPullJobTemplate must be between pullPolicy.timeoutSeconds (600 if not given) and 86400",
    );
}
