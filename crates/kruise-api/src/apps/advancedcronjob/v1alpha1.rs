//! AdvancedCronJob v1alpha1: the hub without image lists.

use schemars::Schema;

use super::v1beta1::{AdvancedCronJobSpec, AdvancedCronJobStatus};
use crate::{
    convert::json::{Object, child},
    crd::{
        older::{at, without},
        rules,
    },
    kind::kind,
    names::APPS_GROUP,
};

kind! {
    /// Creates Jobs or BroadcastJobs at planned times.
    Namespaced AdvancedCronJob(APPS_GROUP, "v1alpha1", "advancedcronjobs") {
        /// What is created, and when.
        #[schemars(transform = spec)]
        spec: AdvancedCronJobSpec,
        status: AdvancedCronJobStatus,
    }
}

const IMAGE_LIST: &str = "imageListPullJobTemplate";

fn spec(schema: &mut Schema) {
    // Its rules speak of image lists too.
    schema.remove(rules::VALIDATIONS);
    rules::advancedcronjob::spec(schema);
    if let Some(template) = at(schema, &["template"]) {
        without(template, &[IMAGE_LIST]);
        template.remove(rules::VALIDATIONS);
        rules::advancedcronjob::v1alpha1_one_template(template);
    }
}

/// Every field of this version is in the hub under the same name.
pub(crate) fn up(_: &mut Object) {}

/// An image list cannot be shown here: it is kept aside, and the object has no template in this version (B19).
pub(crate) fn down(object: &mut Object) {
    if let Some(template) = child(object, "spec").and_then(|spec| child(spec, "template")) {
        template.shift_remove(IMAGE_LIST);
    }
}
