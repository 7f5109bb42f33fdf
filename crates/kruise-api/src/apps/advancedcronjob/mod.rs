//! AdvancedCronJob: jobs at planned times. Specification: ACJ-1 and following.

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::{
    AdvancedCronJob, AdvancedCronJobSpec, AdvancedCronJobStatus, BroadcastJobTemplate, ConcurrencyPolicy,
    CronJobTemplate, ImageListPullJobTemplate, TemplateKind, TemplateMetadata,
};
