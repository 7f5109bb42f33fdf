//! An ImagePullJob as caches hold it. One type for all who read jobs: the planner of jobs, workloads that pull ahead, lists.

use std::sync::Arc;

use kruise_api::apps::imagepulljob::ImagePullJob as Wire;
use kruise_api::finalizers::IMAGE_PULL_JOB;
use kruise_api::{Kind, Resource, labels};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::{Nodes, Spec};
use crate::fault::Fault;
use crate::ids::Uid;
use crate::imagelistpulljob::template;
use crate::lookup::{Index, Slim};
use crate::nodeimage::NodeImage;
use crate::object::ObjectRef;
use crate::order::Requirement;
use crate::pod::PodView;
use crate::workload::base::{Head, identified_by_head};

/// Jobs that are not over, by repository and tag: see [`of_tag`].
pub const OF_TAG: Index = Index::Other("tag");
/// Jobs that are not over, by repository.
pub const OF_IMAGE: Index = Index::Other("image");
/// Jobs that are not over and select nodes, by the narrowest thing that can be said of their nodes: see [`of_node`].
pub const OF_NODE: Index = Index::Other("node");
/// Jobs that are not over and select pods, by namespace; under the empty text all of them.
pub const OF_PODS: Index = Index::Other("pods");

#[derive(Debug)]
pub struct ImagePullJob {
    pub head: Arc<Head>,
    /// In wire order: one is removed by position.
    pub finalizers: Arc<[String]>,
    pub spec: Result<Arc<Spec>, Fault>,
    /// As written: what a list finds its jobs by.
    pub image: Arc<str>,
    /// Of the template of the list that it was made for (LJ-4).
    pub revision: Option<Arc<str>>,
}

impl ImagePullJob {
    pub fn read(object: &Value) -> Self {
        let head = Arc::new(Head::of(object));
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let label = object.pointer("/metadata/labels").and_then(|all| all.get(labels::REVISION)?.as_str());
        // Children of old releases have no label; what they were made of tells as much.
        let made_of = || head.controller.as_ref().and_then(|_| template::hash(spec)).map(Arc::from);
        Self {
            finalizers: finalizers.collect(),
            image: spec.get("image").and_then(Value::as_str).unwrap_or_default().into(),
            revision: label.map(Arc::from).or_else(made_of),
            spec: Spec::read(spec).map(Arc::new),
            head,
        }
    }

    pub fn name(&self) -> &str {
        &self.head.name
    }

    pub fn object(&self) -> ObjectRef {
        ObjectRef { resource: Self::RESOURCE, key: self.head.key() }
    }

    pub fn uid(&self) -> Uid {
        self.head.uid.clone()
    }

    pub fn is_deleted(&self) -> bool {
        self.head.deleted.is_some()
    }

    pub fn is_completed(&self) -> bool {
        self.head.status.get("completionTime").is_some_and(Value::is_string)
    }

    /// A number of its status.
    pub fn count(&self, field: &str) -> i64 {
        self.head.status.get(field).and_then(Value::as_i64).unwrap_or(0)
    }

    /// Whether a NodeImage is one of those that it selects. Which nodes run its pods is not known here.
    pub fn selects(&self, node: &NodeImage) -> bool {
        match self.spec.as_ref().map(|spec| &spec.nodes) {
            Ok(Nodes::All | Nodes::OfPods(_)) => true,
            Ok(Nodes::Named(names)) => names.contains(node.name()),
            Ok(Nodes::Labelled(selector)) => selector.matches_with(|key| node.label(key)),
            Err(_) => false,
        }
    }

    /// Where its finalizer stands.
    pub fn finalizer(finalizers: &[String]) -> Option<usize> {
        finalizers.iter().position(|one| one == IMAGE_PULL_JOB)
    }
}

pub fn of_tag(name: &str, tag: &str) -> String {
    format!("{name}:{tag}")
}

/// Under which entries jobs are found that may select this node.
pub fn of_node(node: &NodeImage) -> Vec<String> {
    let labels = node.labels().map(|(key, value)| labelled(key, value));
    [named(node.name()), ANY.to_owned()].into_iter().chain(labels).collect()
}

const ANY: &str = "*";

fn named(name: &str) -> String {
    format!("={name}")
}

fn labelled(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// PJ-16: whether a change of a pod can change the nodes of jobs that select pods.
pub fn is_pod_news(old: Option<&PodView>, new: Option<&PodView>) -> bool {
    match (old, new) {
        (Some(was), Some(is)) => {
            was.node != is.node || was.labels != is.labels || was.is_active() != is.is_active()
        }
        (one, other) => one.or(other).is_some_and(|pod| pod.node.is_some()),
    }
}

impl<'de> Deserialize<'de> for ImagePullJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for ImagePullJob {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.head.uid.as_str());
        if let Some(owner) = &self.head.controller {
            put(Index::Owner, owner.as_str());
        }
        let Ok(spec) = &self.spec else { return };
        if self.is_completed() || self.is_deleted() {
            return;
        }
        put(OF_IMAGE, &spec.image.name);
        put(OF_TAG, &of_tag(&spec.image.name, &spec.image.tag));
        match &spec.nodes {
            Nodes::All => put(OF_NODE, ANY),
            Nodes::Named(names) => names.iter().for_each(|name| put(OF_NODE, &named(name))),
            Nodes::Labelled(selector) => {
                let exact = selector.requirements().iter().find_map(|one| match one {
                    Requirement::In(key, values) if values.len() == 1 => Some(labelled(key, values.first()?)),
                    Requirement::In(..)
                    | Requirement::NotIn(..)
                    | Requirement::Exists(_)
                    | Requirement::DoesNotExist(_) => None,
                });
                put(OF_NODE, exact.as_deref().unwrap_or(ANY));
            }
            Nodes::OfPods(_) => {
                put(OF_PODS, &self.head.namespace);
                put(OF_PODS, "");
            }
        }
    }
}
