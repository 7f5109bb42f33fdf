//! An ImageListPullJob as caches hold it. One type for all who read lists: the planner of lists, AdvancedCronJobs, jobs of a list.

use std::sync::Arc;

use kruise_api::apps::imagelistpulljob::ImageListPullJob as Wire;
use kruise_api::parts::CompletionPolicyType;
use kruise_api::{Kind, Resource, labels};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::template::{self, Package};
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::workload::base::{Head, identified_by_head};

#[derive(Debug)]
pub struct ImageListPullJob {
    pub head: Arc<Head>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// The hash that its label has.
    pub label: Option<Arc<str>>,
}

/// What the user wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Each once, in order.
    pub images: Vec<Arc<str>>,
    /// The spec without images: what each job gets.
    pub template: Value,
    /// Of the template.
    pub hash: Arc<str>,
    /// Of the template, as releases up to 1.8 made it.
    pub older_hash: Arc<str>,
    pub is_endless: bool,
    pub ttl: Option<i64>,
}

impl Spec {
    pub fn read(spec: &Value) -> Result<Self, Fault> {
        let wire =
            kruise_api::read_part::<kruise_api::apps::imagelistpulljob::ImageListPullJobSpec>(spec.clone())
                .map_err(|error| Fault::of_spec(&error))?;
        let mut images: Vec<Arc<str>> = Vec::new();
        for image in &wire.images {
            if !images.iter().any(|one| **one == **image) {
                images.push(image.as_str().into());
            }
        }
        let mut template = spec.clone();
        if let Some(fields) = template.as_object_mut() {
            fields.shift_remove("images");
        }
        Ok(Self {
            images,
            template,
            hash: template::of(&wire, Package::V1beta1).into(),
            older_hash: template::of(&wire, Package::V1alpha1).into(),
            is_endless: wire.completion_policy.r#type == Some(CompletionPolicyType::Never),
            ttl: wire.completion_policy.ttl_seconds_after_finished.map(i64::from),
        })
    }

    /// Whether a hash is that of the template, of whichever release (LJ-4).
    pub fn is_current(&self, hash: &str) -> bool {
        *self.hash == *hash || *self.older_hash == *hash
    }
}

impl ImageListPullJob {
    pub fn read(object: &Value) -> Self {
        let label = object.pointer("/metadata/labels").and_then(|all| all.get(labels::REVISION)?.as_str());
        Self {
            head: Arc::new(Head::of(object)),
            spec: Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new),
            label: label.map(Arc::from),
        }
    }

    pub fn is_completed(&self) -> bool {
        self.head.status.get("completionTime").is_some_and(Value::is_string)
    }

    /// Whether it still counts its jobs.
    pub fn runs(&self) -> bool {
        !self.is_completed() && self.head.deleted.is_none()
    }
}

impl<'de> Deserialize<'de> for ImageListPullJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for ImageListPullJob {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
        if let Some(owner) = &self.head.controller {
            put(Index::Owner, owner.as_str());
        }
    }
}
